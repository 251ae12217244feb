"""Steps of an answer, in the words that people are shown while it is made."""

from __future__ import annotations

WORDS = {  # by the step's name in a trace: what is being done, and what has been done
    "follow-up": ("completing the question from the conversation", "the question was completed from the conversation"),
    "remember": ("looking for the same question among earlier ones", "earlier questions were looked through"),
    "same answer": ("comparing the question with an earlier one", "the question was compared with an earlier one"),
    "span": ("looking for one plain fact", "one plain fact was looked for"),
    "span check": ("checking this fact against its sentence", "the fact was checked against its sentence"),
    "retrieve": ("searching the documents of this site", "the documents of this site were searched"),
    "tables": ("looking whether a table says it", "it was looked whether a table says it"),
    "write query": ("writing a query over the rows of a table", "a query over the rows of a table was written"),
    "run query": ("running the query", "the query was run"),
    "narrow": ("picking the sentences that fit best", "the sentences that fit best were picked"),
    "gate: confidence": ("checking that the passages show the answer", "it was checked that the passages show the answer"),
    "samples": ("writing drafts of the answer", "drafts of the answer were written"),
    "gate: similarity": ("comparing the drafts", "the drafts were compared"),
    "support": ("checking each sentence against its source", "each sentence was checked against its source"),
    "cloud": ("asking other sites", "other sites were asked"),
    "choose": ("choosing what to read", "it was chosen what to read"),
    "map": ("reading what was chosen", "what was chosen was read"),
    "contrast": ("telling what matters from what does not", "what matters was told from what does not"),
    "reduce": ("putting it together", "it was put together"),
}


def doing_step(step: str) -> str:
    """What is being done, by the step's name in a trace; one that has no words of its own is named.

    >>> doing_step("cloud")
    'asking other sites'
    """
    return WORDS.get(step, (step, step))[0]


def told_step(step: str) -> str:
    """What has just been done, by the step's name in a trace; one that has no words of its own is named.

    >>> told_step("cloud"), told_step("cloud: reduce")
    ('other sites were asked', 'cloud: reduce')
    """
    return WORDS.get(step, (step, step))[1]
