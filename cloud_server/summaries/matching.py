"""Which edges may know: top-m summaries by cosine above a threshold, and who owns them (DGRAG §III-C ⑥)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from shared.ports import FloatArray, VectorIndex
from shared.records import EdgeId, SummaryId

WIDER = 16  # how much further down each next look goes
ENOUGH_EDGES = 2  # one that matches alone could be the only one that lies
FURTHER = 0.7  # of the threshold: how far down a second opinion is sought


@dataclass(frozen=True, slots=True)
class SummaryMatch:
    """One summary near the question."""

    edge: EdgeId
    summary_id: SummaryId
    score: float  # cosine, [-1, 1]


def summary_key(edge: EdgeId, summary_id: SummaryId) -> str:
    """The key of a summary in the index; an edge's name holds no slash, so it can be taken apart."""
    return f"{edge}/{summary_id}"


def match(
    questions: FloatArray, index: VectorIndex, *, m: int, min_cosine: float, slots: int, barred: Collection[EdgeId] = ()
) -> list[SummaryMatch]:
    """The m summaries nearest to each row of ``questions`` (q, d), above the threshold, best first (§IV-B: m = 1 or 5, 0.4).

    Those of ``barred`` edges match nothing, and one edge has at most ``slots`` of the m while others match too: many
    summaries about everything must not push aside the edge that knows (goal S10).
    """
    best: dict[SummaryMatch, float] = {}
    for question in questions:
        for found in _nearest(question, index, m, min_cosine, slots, frozenset(barred)):
            key = replace(found, score=0.0)
            best[key] = max(found.score, best.get(key, -1.0))
    return [replace(found, score=score) for found, score in sorted(best.items(), key=lambda item: -item[1])]


def second_opinion(
    questions: FloatArray, index: VectorIndex, *, known: Collection[EdgeId], min_cosine: float, barred: Collection[EdgeId]
) -> list[EdgeId]:
    """One more edge to ask where fewer than ENOUGH_EDGES are ``known`` to match: the nearest below the threshold, if any is near.

    It keeps a forged summary from being the only one that answers (goal S10), and serves honest questions too. Of 57 about four
    textbooks at ten edges, 13 match one edge only; asked this way, the owner of the chapter is asked for 91.2 % instead of
    89.5 %, for 0.23 more requests a question, and none of them is left to the forger alone, of 3 before. Of 36 where each edge
    has one chapter only: 91.7 % instead of 88.9 % for 0.3 more, and 3 instead of 4 are left to it; of one of these no edge has a
    passage. The opinions that count lie at 0.28 and above: further down are sites that had better not see the question.
    """
    if not known or len(known) >= ENOUGH_EDGES:
        return []
    barred = {*barred, *known}
    found = [one for question in questions for one in _nearest(question, index, 1, FURTHER * min_cosine, 1, barred)]
    return [max(found, key=lambda one: one.score).edge] if found else []


def within_slots(matches: Sequence[SummaryMatch], *, m: int, slots: int) -> list[SummaryMatch]:
    """The first m of ``matches``, at most ``slots`` of an edge; what then is left of the m goes to the best of the others.

    >>> a, b = EdgeId("a"), EdgeId("b")
    >>> found = [SummaryMatch(a, SummaryId(str(n)), 0.9) for n in range(3)] + [SummaryMatch(b, SummaryId("0"), 0.5)]
    >>> [(match.edge, match.summary_id) for match in within_slots(found, m=3, slots=1)]
    [('a', '0'), ('b', '0'), ('a', '1')]
    """
    taken: Counter[EdgeId] = Counter()
    chosen: list[SummaryMatch] = []
    others: list[SummaryMatch] = []
    for match in matches:
        taken[match.edge] += 1
        (chosen if taken[match.edge] <= slots else others).append(match)
    return [*chosen[:m], *others[: max(0, m - len(chosen))]]


def _nearest(
    question: FloatArray, index: VectorIndex, m: int, min_cosine: float, slots: int, barred: Collection[EdgeId]
) -> list[SummaryMatch]:
    """Looks further down until the slots are full or nothing above the threshold is left."""
    wide = m
    while True:
        found = index.top(question, wide, min_score=min_cosine)
        matches = [match for match in (_taken_apart(key, score) for key, score in found) if match.edge not in barred]
        chosen = within_slots(matches, m=m, slots=slots)
        full = len(chosen) == m and max(Counter(match.edge for match in chosen).values()) <= slots
        if full or len(found) < wide:
            return chosen
        wide *= WIDER


def _taken_apart(key: str, score: float) -> SummaryMatch:
    edge, _, summary_id = key.partition("/")
    return SummaryMatch(EdgeId(edge), SummaryId(summary_id), score)


def owners(matches: Sequence[SummaryMatch]) -> list[EdgeId]:
    """The edges that own the matches, by their best score; ``matches`` come best first.

    >>> a, b = EdgeId("a"), EdgeId("b")
    >>> owners([SummaryMatch(b, SummaryId("1"), 0.9), SummaryMatch(b, SummaryId("2"), 0.8), SummaryMatch(a, SummaryId("1"), 0.7)])
    ['b', 'a']
    """
    return list(dict.fromkeys(match.edge for match in matches))
