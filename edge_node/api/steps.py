"""Steps of an answer, in the words that people are shown while it is made."""

from __future__ import annotations

DONE = {
    "follow-up": "the question was completed from the conversation",
    "remember": "memories were looked into",
    "same answer": "a learned answer was compared",
    "span": "a fact was looked for in the nearest sentences",
    "span check": "the fact was checked",
    "retrieve": "passages were found at home",
    "narrow": "their best sentences were chosen",
    "gate: confidence": "the gate has asked whether they suffice",
    "samples": "several answers were written",
    "gate: similarity": "the gate has compared them",
    "gate: selection": "the gate has chosen one",
    "cloud": "other sites were asked",
    "map": "reports were read",
}


def told_step(step: str) -> str:
    """What has just been done, by the step's name in a trace; one that has no words of its own is named.

    >>> told_step("cloud"), told_step("cloud: reduce")
    ('other sites were asked', 'cloud: reduce')
    """
    return DONE.get(step, step)
