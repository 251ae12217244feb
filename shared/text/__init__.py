"""Text rules without a model: sentences, names, refusals, quotations, citations, prompts."""
