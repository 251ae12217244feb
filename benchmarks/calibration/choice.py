"""The choice: thresholds found on one half of the questions, reported on the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.calibration.roc import Point, Roc, best_within, best_youden, roc
from benchmarks.calibration.sweep import grid
from edge_node.calibration.signals import Escalation, Signals, escalation

WANTED_WITHIN = 0.09  # DGRAG §IV-D: so many within-domain questions are escalated at most
NEARNESS = (-1.0, 0.4, 0.45, 0.5, 0.55)
UNKNOWN = (1.0, 0.3, 0.2, 0.1)
SUFFICIENCY = (0.0, 0.3, 0.4, 0.45, 0.5, 0.55, 0.6)
SIMILARITY = (0.0, 0.45, 0.5, 0.55, 0.6)


@dataclass(frozen=True, slots=True)
class Curve:
    """One score's ROC, with its two marked points."""

    signal: str
    roc: Roc
    youden: Point | None
    wanted: Point | None  # the most out-of-domain questions for at most the wanted share of within-domain ones


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was seen and chosen."""

    curves: tuple[Curve, ...]
    wanted_within: float
    chosen: Escalation  # on the questions that it was chosen on
    checked: Escalation | None  # the same thresholds on the other half; None: too few questions to keep a half back
    chosen_on: int
    checked_on: int


def calibrate(rows: Sequence[Signals], *, wanted_within: float = WANTED_WITHIN) -> Calibration:
    """ROC of each score, and the thresholds that escalate most out of domain and at most ``wanted_within`` of the rest.

    Every other question of each kind is kept back to check the choice. Of equal choices the one that escalates fewer
    within-domain questions wins, then the one with the most steps switched off, then the lowest thresholds.
    Raises ValueError without questions of both kinds.
    """
    first, second = _halves(rows)
    has_both = {row.within for row in second} == {True, False}
    limits = (escalation(first, each) for each in grid(NEARNESS, UNKNOWN, SUFFICIENCY, SIMILARITY))
    chosen = min(limits, key=lambda found: _cost(found, wanted_within))
    checked = escalation(second, chosen.thresholds) if has_both else None
    return Calibration(_curves(rows, wanted_within), wanted_within, chosen, checked, len(first), len(second))


def _halves(rows: Sequence[Signals]) -> tuple[list[Signals], list[Signals]]:
    kinds = [[row for row in rows if row.within], [row for row in rows if not row.within]]
    return [row for kind in kinds for row in kind[::2]], [row for kind in kinds for row in kind[1::2]]


def _cost(found: Escalation, wanted_within: float) -> tuple[float, ...]:
    limits = found.thresholds
    bars = (limits.min_nearness, 1 - limits.max_unknown, 1 - limits.max_refusals, limits.min_sufficiency, limits.min_similarity)
    switched_on = sum(bar > off for bar, off in zip(bars, (-1.0, 0.0, 0.0, 0.0, 0.0), strict=True))
    return (max(found.within - wanted_within, 0.0), -found.out, found.within, switched_on, *bars)


def _curves(rows: Sequence[Signals], wanted_within: float) -> tuple[Curve, ...]:
    curves = []
    for signal in ("nearness", "known words", "answering samples", "sufficiency", "similarity"):
        curve = roc([_score(row, signal) for row in rows if row.within], [_score(row, signal) for row in rows if not row.within])
        curves.append(Curve(signal, curve, best_youden(curve), best_within(curve, wanted_within)))
    return tuple(curves)


def _score(row: Signals, signal: str) -> float:
    """A score of which less means escalate; NaN where it was not measured."""
    known = {
        "nearness": row.nearness,
        "known words": None if row.unknown is None else 1 - row.unknown,
        "answering samples": None if row.refusals is None else 1 - row.refusals,
        "sufficiency": row.sufficiency,
        "similarity": row.similarity,
    }[signal]
    return float("nan") if known is None else known
