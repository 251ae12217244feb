"""Which thresholds are tried, and from recorded matches to hits by m and cosine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from benchmarks.records import RoutingRow
from edge_node.calibration.signals import Thresholds

REFUSALS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True, slots=True)
class Matching:
    """What the m best summaries above a cosine find (DGRAG §IV-E1)."""

    m: int
    min_cosine: float
    hit: float  # share of questions of whose owners one was matched
    any_mismatch: float  # share of questions for which another edge was matched
    edges: float  # matched for a question, on average
    questions: int


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
