"""Names that were read, and the sites that have a document about them but sent no passage of it: they are asked for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from types import MappingProxyType

from cloud_server.answering.fan_out import FanOutResult
from cloud_server.answering.ranking import HOPS, QUALIFIER, Pool, ordered
from cloud_server.routing.matching import AGAIN, Untold
from shared.records import EdgeId, Evidence
from shared.text.marks import mark_of, packed, plain, unpacked
from shared.wire import MAX_TITLES_ASKED

NEXT = 0.7  # what a name in the second passage counts beside one in the first; the question's count as the first's
BESIDE = 0.5  # what a name counts that is not in the sentence nearest the question


@dataclass(frozen=True, slots=True)
class Reading:
    """A text whose names count so much. ``told``: they may be told to a site that has a document about them."""

    text: str
    weight: float
    told: bool = True


Named = tuple[Reading, Mapping[str, frozenset[EdgeId]]]  # a text, and the edges with a document about each name in it
Told = Mapping[str, AbstractSet[EdgeId]]  # names, and the edges that sent a passage about each
NOTHING: Told = MappingProxyType({})


def reading(question: str, pool: Pool, order: Sequence[int], leads: Sequence[str]) -> list[Reading]:
    """The question, the sentences that lead further, and the passages that these are of. What is not to be quoted tells no other site."""
    first = [(pool.passages[row], lead, NEXT**place) for place, (row, lead) in enumerate(zip(order, leads, strict=False))]
    sentences = [Reading(lead, weight, one.quotable) for one, lead, weight in first]
    return [Reading(question, 1.0), *sentences, *(Reading(one.text, BESIDE * weight, one.quotable) for one, _, weight in first)]


def first_read(question: str, pool: Pool) -> list[Reading]:
    """The question, and the first sentences that came for it."""
    first = [(pool.passages[row], NEXT**place) for place, row in enumerate(ordered(pool, question)[:HOPS])]
    return [Reading(question, 1.0), *(Reading(one.text, weight, one.quotable) for one, weight in first)]


def told(pool: Pool) -> Told:
    """The names that passages are about, by their titles, with and without a qualifier; of each the edges that sent such a passage."""
    senders = defaultdict[str, set[EdgeId]](set)
    for one in pool.passages:
        for name in names_of(one):
            senders[name].add(one.edge)
    return senders


def untold(named: Iterable[Named], known: Told = NOTHING) -> list[Untold]:
    """The names in texts, each with the most that it counts in one, and the edges with a document about it that have not told it.

    A name that one edge has told counts less at the others, not nothing: whoever titles a passage with it may lie (goal S10).

    >>> a, b = EdgeId("a"), EdgeId("b")
    >>> texts = [Reading("Rain in Oslo", 0.5), Reading("Oslo", 1.0)]
    >>> untold(zip(texts, [{"oslo": frozenset({a}), "rain": frozenset({b})}, {"oslo": frozenset({a, b})}]), {"rain": {b}, "oslo": {b}})
    [Untold(name='oslo', weight=0.5, owners=frozenset({'a'}))]
    """
    found = dict[str, Untold]()
    for text, names in named:
        for name, owners in names.items():
            weight = text.weight * (AGAIN if name in known else 1.0)
            if (silent := owners - known.get(name, frozenset())) and (name not in found or found[name].weight < weight):
                found[name] = Untold(name, weight, silent)
    return list(found.values())


def titles_of(names: Iterable[Untold], edges: Iterable[EdgeId]) -> dict[EdgeId, bytes]:
    """For each edge with documents about some of the names, the marks of those of them that count most.

    >>> a, b = EdgeId("a"), EdgeId("b")
    >>> titles_of([Untold("oslo", 1.0, frozenset({a}))], [a, b]) == {a: packed([mark_of("oslo")])}
    True
    """
    ranked = sorted(names, key=lambda one: (-one.weight, one.name))
    wanted = {edge: [mark_of(one.name) for one in ranked if edge in one.owners] for edge in edges}
    return {edge: packed(marks[:MAX_TITLES_ASKED]) for edge, marks in wanted.items() if marks}


def of_titles(result: FanOutResult, titles: Mapping[EdgeId, bytes]) -> FanOutResult:
    """Without passages of other documents than those that an edge was asked for by the marks of their titles."""
    marks = {edge: set(unpacked(packed)) for edge, packed in titles.items()}
    kept = {
        edge: tuple(one for one in passages if edge not in marks or not marks[edge].isdisjoint(map(mark_of, names_of(one))))
        for edge, passages in result.evidence.items()
    }
    return replace(result, evidence={edge: passages for edge, passages in kept.items() if passages})


def names_of(passage: Evidence) -> set[str]:
    """The names that a passage's title is: with and without a qualifier."""
    return {plain(passage.title), plain(QUALIFIER.sub("", passage.title))}
