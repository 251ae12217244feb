"""Which of a few words a model says, where its server lists no probabilities: by the words of its replies. Pure."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

WORD_TOKENS = 16  # enough for "**Answer:** Yes."
_LEAD_IN = re.compile(r"\W*(?:(?:the |my |final )*(?:answer|verdict|choice|option|letter)\W*(?:is\b|would be\b)?)?\W*", re.IGNORECASE)


def word_of(text: str, choices: Sequence[str]) -> str | None:
    """The choice that a reply begins with, else the only one in it; None where it says none or several.

    A single letter must stand alone: "A" is an article, too.

    >>> word_of("**Yes**, the passage says so.", ["yes", "no"]), word_of("A better answer is B.", ["A", "B"])
    ('yes', 'B')
    >>> word_of("It depends.", ["yes", "no"]) is None
    True
    """
    start = text[_end_of_lead_in(text) :]
    for choice in choices:
        if re.match(_pattern(choice), start, _flags(choice)):
            return choice
    found = {choice for choice in choices if re.search(_inner(choice), text, _flags(choice))}
    return found.pop() if len(found) == 1 else None


def distribution(texts: Sequence[str], choices: Sequence[str]) -> dict[str, float] | None:
    """The log-probability of each choice by how many replies say it, as a server lists those of the first token; None where none does.

    >>> {word: round(value, 2) for word, value in distribution(["Yes", "Yes.", "No", "Who?"], ["yes", "no"]).items()}
    {'yes': -0.41, 'no': -1.1}
    """
    counts = Counter(word for text in texts if (word := word_of(text, choices)) is not None)
    total = sum(counts.values())
    return {word: math.log(count / total) for word, count in counts.items()} or None


def begins_a_choice(tokens: Sequence[str], choices: Sequence[str]) -> bool:
    """Whether one of the tokens is the beginning of a choice, so that their distribution tells of the choices.

    >>> begins_a_choice([" Y", "The"], ["yes", "no"]), begins_a_choice(["Okay", "<think>"], ["yes", "no"])
    (True, False)
    """
    starts = [start for token in tokens if (start := token.strip().casefold().rstrip(".):"))]
    return any(choice.casefold().startswith(start) for choice in choices for start in starts)


def _end_of_lead_in(text: str) -> int:
    match = _LEAD_IN.match(text)
    return match.end() if match else 0


def _pattern(choice: str) -> str:
    return rf"{re.escape(choice)}(?=\s*(?:[^\w\s]|\n|\Z))" if len(choice) == 1 else rf"{re.escape(choice)}\b"


def _inner(choice: str) -> str:
    return rf"\b{re.escape(choice)}\b(?=\s*(?:[^\w\s]|\n|\Z))" if len(choice) == 1 else rf"\b{re.escape(choice)}\b"


def _flags(choice: str) -> int:
    return 0 if len(choice) == 1 else re.IGNORECASE
