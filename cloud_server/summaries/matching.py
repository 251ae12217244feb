"""Which edges may know: top-m summaries by cosine above a threshold, and who owns them (DGRAG §III-C ⑥)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shared.ports import FloatArray, VectorIndex
from shared.records import EdgeId, SummaryId


@dataclass(frozen=True, slots=True)
class SummaryMatch:
    """One summary near the question."""

    edge: EdgeId
    summary_id: SummaryId
    score: float  # cosine, [-1, 1]


def summary_key(edge: EdgeId, summary_id: SummaryId) -> str:
    """The key of a summary in the index; an edge's name holds no slash, so it can be taken apart."""
    return f"{edge}/{summary_id}"


def match(questions: FloatArray, index: VectorIndex, *, m: int, min_cosine: float) -> list[SummaryMatch]:
    """The m summaries nearest to each row of ``questions`` (q, d), above the threshold, best first (§IV-B: m = 1 or 5, 0.4)."""
    best: dict[str, float] = {}
    for question in questions:
        for key, score in index.top(question, m, min_score=min_cosine):
            best[key] = max(score, best.get(key, -1.0))
    found = []
    for key, score in sorted(best.items(), key=lambda item: -item[1]):
        edge, _, summary_id = key.partition("/")
        found.append(SummaryMatch(EdgeId(edge), SummaryId(summary_id), score))
    return found


def owners(matches: Sequence[SummaryMatch], *, k: int) -> list[EdgeId]:
    """The k edges that own the matches, by their best score; ``matches`` come best first.

    >>> a, b = EdgeId("a"), EdgeId("b")
    >>> owners([SummaryMatch(b, SummaryId("1"), 0.9), SummaryMatch(b, SummaryId("2"), 0.8), SummaryMatch(a, SummaryId("1"), 0.7)], k=5)
    ['b', 'a']
    """
    return list(dict.fromkeys(match.edge for match in matches))[:k]
