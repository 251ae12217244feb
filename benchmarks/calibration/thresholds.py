"""The least score at which a kind of memory may answer: chosen on one half of the questions, reported on the other. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.calibration.looked import Looked
from deploy.evaluation.intervals import Estimate, wilson

KINDS = ("template", "model", "learned")
SURE, HITS = 0.8, 20  # the lower bound of precision that is wanted, of at least so many hits


@dataclass(frozen=True, slots=True)
class Half:
    """What a threshold did on one half of the questions."""

    questions: int
    hits: int
    precision: Estimate | None  # of the hits, with Wilson's interval; None: there are none


@dataclass(frozen=True, slots=True)
class Threshold:
    """A kind's threshold; None: it never answers. ``checked`` is None then, too."""

    kind: str
    least: float | None
    chosen: Half  # where there is none: at the lowest score
    checked: Half | None


def thresholds(rows: Sequence[Looked]) -> list[Threshold]:
    """The lowest score of each kind whose precision is surely high, from the even questions; the odd ones check it. [] without any."""
    if not rows:
        return []
    places = {question: place for place, question in enumerate(dict.fromkeys(row.question_id for row in rows))}
    even, odd = ([row for row in rows if places[row.question_id] % 2 == half] for half in (0, 1))
    return [_threshold(kind, even, odd) for kind in KINDS]


def render(found: Sequence[Threshold]) -> str:
    """Lines for a terminal, and the setting that they lead to; a kind that would have answered nothing stays as it is."""
    lines = [
        f"{one.kind}: {_least(one)}; chosen on {_half(one.chosen)}" + (f"; checked on {_half(one.checked)}" if one.checked else "")
        for one in found
    ]
    setting = ",".join(f"{one.kind}={2 if one.least is None else one.least:g}" for one in found if one.chosen.hits)
    return "\n".join([*lines, *([f"DGRAG_EDGE_MEMORY_THRESHOLD={setting}"] if setting else [])])


def _least(one: Threshold) -> str:
    if not one.chosen.hits:
        return "nothing to choose by, it stays as it is"
    return "never" if one.least is None else f"{one.least:.4f}"


def _threshold(kind: str, even: Sequence[Looked], odd: Sequence[Looked]) -> Threshold:
    scores = sorted({row.score for row in even if row.kind == kind and row.passes})
    sure = (least for least in scores if _is_sure(_half_at(kind, least, even)))
    least = next(sure, None)
    if least is None:
        return Threshold(kind, None, _half_at(kind, -1.0, even), None)
    return Threshold(kind, least, _half_at(kind, least, even), _half_at(kind, least, odd))


def _half_at(kind: str, least: float, rows: Sequence[Looked]) -> Half:
    hits = [row for row in rows if row.kind == kind and row.passes and row.score >= least]
    precision = wilson([float(row.right) for row in hits], of=[row.question_id for row in hits]) if hits else None
    return Half(len({row.question_id for row in rows}), len(hits), precision)


def _is_sure(half: Half) -> bool:
    return half.hits >= HITS and half.precision is not None and half.precision.low >= SURE


def _half(half: Half) -> str:
    """As said to people.

    >>> _half(Half(50, 0, None))
    '50 questions, 0 hits'
    """
    said = f"{half.questions} questions, {half.hits} hits"
    if half.precision is None:
        return said
    return f"{said}, precision {half.precision.mean:.3f} ({half.precision.low:.3f}–{half.precision.high:.3f})"
