"""How good a context is, from as many characters of its text as every other system's, so that all are judged alike."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

CHARS_A_TOKEN = 4  # of a budget: each system counts tokens its own way, and JSON has more of them by one's count than by another's
KNOWN_BY_CHARS = 80  # of its letters and digits: with so many of a passage's first ones in a context, the passage is there
_ESCAPED = re.compile(r'\\[nrt"]|""')  # peers print their contexts as JSON or CSV
_OTHER = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Score:
    """Of one context: whether an accepted answer occurs in it, the share of the gold passages that it shows, and its characters."""

    covered: bool | None  # None: no answer is known
    gold: float | None  # None: no gold passages are known
    chars: int


def score(context: str, *, answers: Sequence[str], gold: Sequence[str], most_chars: int) -> Score:
    """Judge the first ``most_chars`` of a context (coverage: KET-RAG §5); ``gold``: the texts of the passages that are needed."""
    shown = context[:most_chars]
    plain = letters(shown)
    words = f" {worded(shown)} "
    covered = any(f" {worded(answer)} " in words for answer in answers) if answers else None
    found = [letters(text)[:KNOWN_BY_CHARS] in plain for text in gold]
    return Score(covered, sum(found) / len(found) if found else None, len(shown))


def letters(text: str) -> str:
    r"""Letters and digits only, in lower case.

    >>> letters('Say "No",\nAnn.'), letters('Say \\"No\\",\\nAnn.')
    ('saynoann', 'saynoann')
    """
    return worded(text).replace(" ", "")


def worded(text: str) -> str:
    """Words in lower case with one blank between them."""
    return _OTHER.sub(" ", _ESCAPED.sub(" ", text)).strip().lower()


def means(scores: Sequence[Score]) -> Mapping[str, float | int]:
    """Coverage and gold recall as shares of those that can be judged, and the mean size of a context.

    >>> means([Score(True, 0.5, 90), Score(None, 1.0, 110)])
    {'coverage': 1.0, 'gold_recall': 0.75, 'context_chars': 100}
    """
    covered = [score.covered for score in scores if score.covered is not None]
    gold = [score.gold for score in scores if score.gold is not None]
    return {
        "coverage": round(sum(covered) / max(1, len(covered)), 4),
        "gold_recall": round(sum(gold) / max(1, len(gold)), 4),
        "context_chars": sum(score.chars for score in scores) // max(1, len(scores)),
    }
