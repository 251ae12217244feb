"""Which edges may know: top-m summaries by cosine above a threshold, and who owns them (DGRAG §III-C ⑥)."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from shared.ports import FloatArray, VectorIndex
from shared.records import EdgeId, SummaryId

FIRST_LOOK = 1024  # summaries; looking at fewer takes as long
WIDER = 16  # how much further down each next look goes
ENOUGH_EDGES = 2  # one that matches alone could be the only one that lies
FURTHER = 0.7  # of the threshold: how far down a second opinion is sought
BEST = 3  # summaries of an edge that speak for it: one alone may be near by chance
PLAUSIBLE = 0.67  # cosine of the best edge's nearest: of 241 questions at five edges 0.49 in the middle, 0.67 for 99 %, 0.70 at most
MANY_WORDS = 0.6  # of the best summary's BM25
CLEARLY = 0.1  # cosine
ENOUGH_HEARD = 8  # edges: who comes after them is not asked
TITLES = 2.0  # of a title that one edge has, and that the question names, beside the words that an edge shares, which are at most 2
AGAIN = 0.5  # of a title that one more edge has
WORDS = 0.3  # of shared words beside the cosine, the best of all summaries having 1


@dataclass(frozen=True, slots=True)
class SummaryMatch:
    """One summary near the question."""

    edge: EdgeId
    summary_id: SummaryId
    score: float  # cosine, [-1, 1]


def index_key(edge: EdgeId, summary_id: str) -> str:
    """The key of a summary or memory in its index; an edge's name holds no slash, so it can be taken apart."""
    return f"{edge}/{summary_id}"


def match(
    questions: FloatArray,
    index: VectorIndex,
    *,
    m: int,
    min_cosine: float,
    slots: int,
    barred: Collection[EdgeId] = (),
    words: Mapping[str, float] | None = None,
    lead: float = 0.0,
    reaches: Callable[[EdgeId], bool] = lambda _: True,
    sizes: Mapping[EdgeId, int] | None = None,
) -> list[SummaryMatch]:
    """The m summaries nearest to each row of ``questions`` (q, d), above the threshold, best first (§IV-B: m = 1 or 5, 0.4).

    Those of ``barred`` edges match nothing, and one edge has at most ``slots`` of the m while others match too: many
    summaries about everything must not push aside the edge that knows (goal S10). Only edges that ``leading`` names match:
    ``words`` is the BM25 of summaries by key, with the question; ``sizes`` tells of edges that may have fewer summaries than BEST.
    """
    best: dict[SummaryMatch, float] = {}
    lead, sizes = 1.0 if lead and m == 1 else lead, sizes or {}
    least = min(min_cosine, FURTHER * min_cosine)
    for question in questions:
        near = Descent(question, index, least, barred)
        led = leading(near, least=least, min_cosine=min_cosine, words=words or {}, lead=lead, reaches=reaches, sizes=sizes)
        for one in _chosen(near, m, min_cosine, slots, {edge: sizes.get(edge, m) for edge in led}):
            key = replace(one, score=0.0)
            best[key] = max(one.score, best.get(key, -1.0))
    return [replace(one, score=score) for one, score in sorted(best.items(), key=lambda item: -item[1])]


class Descent:
    """The summaries nearest to one question: a first look at the best, and further ones down to ``least`` if somebody needs them."""

    def __init__(self, question: FloatArray, index: VectorIndex, least: float, barred: Collection[EdgeId]) -> None:
        self._question, self._index, self._least, self._barred = question, index, least, barred
        self._matches: list[SummaryMatch] = []
        self._looked_at = 0
        self._ended = False

    def until(self, enough: Callable[[Sequence[SummaryMatch]], bool]) -> Sequence[SummaryMatch]:
        """Best first, until they are ``enough`` or there are no more: many of one edge hide no other one."""
        while not self._ended and not (self._matches and enough(self._matches)):
            self._look()
        return self._matches

    def _look(self) -> None:
        self._looked_at = WIDER * self._looked_at or FIRST_LOOK
        found = self._index.top(self._question, self._looked_at, min_score=self._least)
        self._ended = len(found) < self._looked_at
        matches = (_taken_apart(key, score) for key, score in found)
        self._matches = [match for match in matches if match.edge not in self._barred]


def leading(
    descent: Descent,
    *,
    least: float,
    min_cosine: float,
    words: Mapping[str, float],
    lead: float,
    reaches: Callable[[EdgeId], bool],
    sizes: Mapping[EdgeId, int],
) -> frozenset[EdgeId]:
    """The edges that speak for themselves at least ``lead`` times as well as the best one does, of those above the threshold.

    An edge's BEST summaries speak for it, each by its cosine and its words, down to ``least``; one further away counts as that far,
    one that a small edge (``sizes``) does not have does not count. Figures: docs/adr/0011-cross-edge-retrieval.md. The edge of the
    nearest summary leads too where that is CLEARLY the nearest: all of a large one may tell less than a note elsewhere. Where the best
    edge has a summary nearer than summaries are to questions, it may be forged, and shuts nobody out (goal S10): then all lead.
    """
    most_words = max(words.values(), default=1.0)
    scores: defaultdict[EdgeId, list[float]] = defaultdict(list)
    nearest: dict[EdgeId, float] = {}
    for one in descent.until(lambda matches: _heard(matches) >= ENOUGH_HEARD):
        said = words.get(index_key(one.edge, one.summary_id), 0.0) / most_words
        scores[one.edge].append(one.score + WORDS * said)
        nearest.setdefault(one.edge, one.score)
    means = {edge: _mean(scores[edge], least, sizes.get(edge, BEST)) for edge, near in nearest.items() if near >= min_cosine}
    here = [edge for edge in means if reaches(edge)]  # who is away takes nobody's place
    if not lead or not here:
        return frozenset(means)
    first, noted = max(here, key=means.__getitem__), max(here, key=nearest.__getitem__)
    if lead < 1.0 and nearest[first] > PLAUSIBLE:
        return frozenset(means)
    is_clear = lead < 1.0 and nearest[noted] >= nearest[first] + CLEARLY
    return frozenset(edge for edge, mean in means.items() if mean >= lead * means[first] or (is_clear and edge == noted))


def _mean(scores: Sequence[float], least: float, size: int) -> float:
    """Of the BEST scores; of ``size`` summaries those that are not among ``scores`` have ``least``."""
    best = sorted(scores, reverse=True)[:BEST]
    return fmean([*best, *[least] * (min(BEST, size) - len(best))])


@dataclass(frozen=True, slots=True)
class WordMatches:
    """What summaries share with one text: BM25 by key, best first, of its words, and of each of its names."""

    words: Sequence[tuple[str, float]]
    names: Sequence[Sequence[tuple[str, float]]]

    def by_edge(self) -> dict[EdgeId, float]:
        """How much each edge shares: the words of its best summary, and all names, the most of each being 1."""
        words, named = _best_of_edges(self.words), Counter[EdgeId]()
        for name in self.names:
            named.update(_best_of_edges(name))
        most_words, most_named = max(words.values(), default=1.0), max(named.values(), default=1.0)
        return {edge: words.get(edge, 0.0) / most_words + named[edge] / most_named for edge in words.keys() | named.keys()}


@dataclass(frozen=True, slots=True)
class Untold:
    """A name that was read and that no passage is about, and the edges that have a document about it."""

    name: str
    weight: float
    owners: frozenset[EdgeId]


def by_words(
    shared: Sequence[WordMatches],
    vectors: FloatArray,
    index: VectorIndex,
    *,
    min_cosine: float,
    barred: Collection[EdgeId],
    untold: Sequence[Untold] = (),
) -> list[EdgeId]:
    """The edges with a summary above the threshold for one of ``vectors`` (n, d), in the order of ``covering``.

    Names decide where to look for a thing that is named; where nothing is shared, the nearest come first.
    """
    near: dict[EdgeId, float] = {}
    for vector in vectors:
        for one in Descent(vector, index, min_cosine, barred).until(lambda matches: len({one.edge for one in matches}) >= ENOUGH_HEARD):
            near[one.edge] = max(one.score, near.get(one.edge, -1.0))
    said: dict[EdgeId, float] = {}
    for text in shared:
        said |= {edge: max(score, said.get(edge, 0.0)) for edge, score in text.by_edge().items()}
    return covering(sorted(near, key=lambda edge: (-said.get(edge, 0.0), -near[edge], edge)), said, untold)


def covering(ranked: Sequence[EdgeId], said: Mapping[EdgeId, float], untold: Sequence[Untold]) -> list[EdgeId]:
    """The edges in the order in which they are worth asking: for the untold names that they own, and for their words.

    A name counts the less the more edges own it, and the less where one before owns it; not nothing, as that one may lie (goal S10).
    ``ranked``: all, by their words ``said``, which decide where no name does.

    >>> a, b, c = map(EdgeId, "abc")
    >>> names = [Untold("oslo", 1.0, frozenset({b})), Untold("rome", 0.7, frozenset({b, c})), Untold("bonn", 0.3, frozenset({c}))]
    >>> covering([a, b, c], {a: 1.5, b: 1.0, c: 1.0}, names)
    ['b', 'c', 'a']
    """
    place = {edge: number for number, edge in enumerate(ranked)}
    shares = [name.weight / max(1, len(name.owners)) for name in untold]
    alike = defaultdict[tuple[int, ...], deque[EdgeId]](deque)  # edges by the names that they own: of these the first is the best
    for edge in ranked:
        alike[tuple(number for number, name in enumerate(untold) if edge in name.owners)].append(edge)

    def worth(owned: tuple[int, ...]) -> tuple[float, int]:
        first = alike[owned][0]
        return TITLES * sum(shares[number] for number in owned) + said.get(first, 0.0), -place[first]

    order = list[EdgeId]()
    while alike:
        best = max(alike, key=worth)
        order.append(alike[best].popleft())
        for number in best:
            shares[number] *= AGAIN
        if not alike[best]:
            del alike[best]
    return order


def led_by_words(
    near: Sequence[SummaryMatch],
    words: Mapping[str, float],
    *,
    m: int,
    slots: int,
    min_cosine: float,
    reaches: Callable[[EdgeId], bool] = lambda _: True,
) -> list[SummaryMatch]:
    """The m summaries that share most with a question, by their BM25 in ``words``, and behind them those that are ``near``.

    One that shares less than MANY_WORDS of what the best one does shares it by chance. The threshold stands for an unknown cosine.
    Who is away takes nobody's place.

    >>> a, b = EdgeId("a"), EdgeId("b")
    >>> near = [SummaryMatch(b, SummaryId("2"), 0.5)]
    >>> [match.edge for match in led_by_words(near, {"a/1": 9.0, "b/3": 2.0}, m=5, slots=3, min_cosine=0.3)]
    ['a', 'b']
    """
    best_first = sorted(words.items(), key=lambda item: (-item[1], item[0]))
    here = [one for one in (_taken_apart(key, score) for key, score in best_first) if reaches(one.edge)]
    cosines = {(one.edge, one.summary_id): one.score for one in near}
    shared = [
        replace(one, score=cosines.get((one.edge, one.summary_id), min_cosine)) for one in here if one.score >= MANY_WORDS * here[0].score
    ]
    known = {(one.edge, one.summary_id) for one in shared}
    return within_slots([*shared, *(one for one in near if (one.edge, one.summary_id) not in known)], m=m, slots=slots)


def _best_of_edges(found: Sequence[tuple[str, float]]) -> dict[EdgeId, float]:
    best: dict[EdgeId, float] = {}
    for key, score in found:  # best first
        best.setdefault(EdgeId(key.partition("/")[0]), score)
    return best


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
    barred, least = {*barred, *known}, FURTHER * min_cosine
    found = [one for question in questions for one in Descent(question, index, least, barred).until(bool)[:1]]
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


def _chosen(descent: Descent, m: int, min_cosine: float, slots: int, sizes: Mapping[EdgeId, int]) -> list[SummaryMatch]:
    """The m best of the edges that ``sizes`` names: looks further down until no other summary could change them."""

    def of_them(matches: Sequence[SummaryMatch]) -> list[SummaryMatch]:
        return [match for match in matches if match.edge in sizes and match.score >= min_cosine]

    def are_final(matches: Sequence[SummaryMatch]) -> bool:
        taken = Counter(match.edge for match in of_them(matches))
        needed = slots if taken.total() >= m else m
        have_all = all(taken[edge] >= min(needed, size) for edge, size in sizes.items())
        return have_all or sum(min(count, slots) for count in taken.values()) >= m or matches[-1].score < min_cosine

    return within_slots(of_them(descent.until(are_final)), m=m, slots=slots)


def _heard(matches: Sequence[SummaryMatch]) -> int:
    """Edges with all of their BEST summaries among the matches."""
    return sum(count >= BEST for count in Counter(match.edge for match in matches).values())


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
