"""What became of questions that came again in other words, among others: how many a memory answered, and how many rightly. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from deploy.evaluation.intervals import wilson

COVERS = (1.0, 0.8, 0.6)  # of a question's words, that a memory or its sentences must have: guard 4
LEARNED = "learned"


@dataclass(frozen=True, slots=True)
class Came:
    """One question of the second round."""

    cover: float
    origin: str  # id of the question that it asks again; "": none, it is another one
    question_id: str
    hit: bool  # a memory answered
    kind: str  # of the nearest memory
    told: str  # its question
    accurate: bool  # an accepted answer stands in what was said
    why_not: str
    seconds: float
    verbatim: bool = False  # it is asked again word for word


def is_right(one: Came, questions: Mapping[str, str]) -> bool:
    """Whether a hit is one: what was learned must come of the question that is asked again; what documents tell must be an accepted answer.

    ``questions``: by id, as they were asked at first.

    >>> is_right(Came(1.0, "", "b", True, "learned", "Who built it?", True, "", 0.01), {"a": "Who built it?"})
    False
    """
    return one.told == questions.get(one.origin) if one.kind == LEARNED else one.accurate


def figures(rows: Sequence[Came], questions: Mapping[str, str]) -> list[dict[str, Any]]:
    """By cover: how many came again and were answered, in other words and word for word, precision of all hits, wall time."""
    return [_at(cover, [row for row in rows if row.cover == cover], questions) for cover in dict.fromkeys(row.cover for row in rows)]


def _at(cover: float, rows: Sequence[Came], questions: Mapping[str, str]) -> dict[str, Any]:
    again, others = [row for row in rows if row.origin and not row.verbatim], [row for row in rows if not row.origin]
    repeated = [row for row in rows if row.verbatim]
    hits = [row for row in rows if row.hit]
    right = [row for row in hits if is_right(row, questions)]
    return {
        "cover": cover,
        "asked_again": len(again),
        "of_questions": len({row.origin for row in again}),
        "coverage": asdict(wilson([float(row.hit) for row in again], of=_asked(again))) if again else None,
        "precision": asdict(wilson([float(row in right) for row in hits], of=_asked(hits))) if hits else None,
        "word_for_word": asdict(wilson([float(row.hit) for row in repeated], of=_asked(repeated))) if repeated else None,
        "others": len(others),
        "hits_on_others": sum(row.hit for row in others),
        "false_on_others": sum(row.hit and row not in right for row in others),
        "false_again": sum(row.hit and row not in right for row in again),
        "kinds": dict(Counter(row.kind for row in hits)),
        "hit_ms": _ms([row.seconds for row in hits]),
        "why_not": dict(Counter(row.why_not for row in again if not row.hit).most_common()),
    }


def _asked(rows: Sequence[Came]) -> list[str]:
    """The question behind each row: its ways succeed and fail together, so they are one observation."""
    return [row.origin or row.question_id for row in rows]


def _ms(seconds: Sequence[float]) -> dict[str, float] | None:
    """The median and the 95th percentile; None where nothing was measured."""
    if not seconds:
        return None
    return {"p50": round(float(np.median(seconds)) * 1000, 1), "p95": round(float(np.quantile(seconds, 0.95)) * 1000, 1)}
