"""From recorded scores to escalation shares by thresholds, and from recorded matches to hits by m and cosine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from benchmarks.calibration.signals import STEPS, Signals, Thresholds, stopped_by
from benchmarks.records import RoutingRow

REFUSALS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True, slots=True)
class Escalation:
    """Shares of the questions that a gate with these thresholds escalates, in all and by the step that does it."""

    thresholds: Thresholds
    within: float
    out: float
    within_by: dict[str, float]
    out_by: dict[str, float]


@dataclass(frozen=True, slots=True)
class Matching:
    """What the m best summaries above a cosine find (DGRAG §IV-E1)."""

    m: int
    min_cosine: float
    hit: float  # share of questions of whose owners one was matched
    any_mismatch: float  # share of questions for which another edge was matched
    edges: float  # matched for a question, on average
    questions: int


def escalation(rows: Sequence[Signals], limits: Thresholds) -> Escalation:
    """What these thresholds escalate. Raises ValueError without questions of both kinds."""
    shares = {True: _by_step(rows, limits, within=True), False: _by_step(rows, limits, within=False)}
    return Escalation(limits, sum(shares[True].values()), sum(shares[False].values()), shares[True], shares[False])


def grid(
    nearness: Iterable[float], unknown: Iterable[float], sufficiency: Iterable[float], similarity: Iterable[float]
) -> list[Thresholds]:
    """Every combination with every share of refusals of five samples."""
    return [Thresholds(*values) for values in product(nearness, unknown, REFUSALS, sufficiency, similarity)]


def matching(rows: Sequence[RoutingRow], *, cosines: Sequence[float]) -> list[Matching]:
    """Hits and mismatches for each recorded m and each cosine.

    >>> row = RoutingRow("domain", 40, 2, "q", ("a",), edges=("a", "b"), scores=(0.6, 0.3), seconds=0.0)
    >>> [(found.m, found.hit, found.any_mismatch) for found in matching([row], cosines=[0.2, 0.5])]
    [(2, 1.0, 1.0), (2, 1.0, 0.0)]
    """
    ms = sorted({row.m for row in rows})
    return [_matched([row for row in rows if row.m == m], m, cosine) for m in ms for cosine in cosines]


def _by_step(rows: Sequence[Signals], limits: Thresholds, *, within: bool) -> dict[str, float]:
    steps = [stopped_by(row, limits) for row in rows if row.within == within]
    if not steps:
        raise ValueError(f"there is no question asked {'within' if within else 'out of'} its domain")
    counted = Counter(steps)
    return {step: counted[step] / len(steps) for step in STEPS if counted[step]}


def _matched(rows: Sequence[RoutingRow], m: int, cosine: float) -> Matching:
    matched = [(set(row.owners), {edge for edge, score in zip(row.edges, row.scores, strict=True) if score >= cosine}) for row in rows]
    count = len(rows)
    return Matching(
        m,
        cosine,
        hit=sum(bool(edges & owners) for owners, edges in matched) / count,
        any_mismatch=sum(bool(edges - owners) for owners, edges in matched) / count,
        edges=sum(len(edges) for _, edges in matched) / count,
        questions=count,
    )
