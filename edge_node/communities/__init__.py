"""GraphRAG's communities: hierarchy, claims and reports, and what is read of them for a question."""
