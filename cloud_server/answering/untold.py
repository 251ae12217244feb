"""Names that were read and that no passage is about: where there are documents about them, further sites are asked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from cloud_server.answering.ranking import QUALIFIER, Pool
from cloud_server.routing.matching import Untold
from shared.records import EdgeId
from shared.text.marks import plain

NEXT = 0.7  # what a name in the second passage counts beside one in the first; the question's count as the first's
BESIDE = 0.5  # what a name counts that is not in the sentence nearest the question


def reading(question: str, pool: Pool, order: Sequence[int], leads: Sequence[str]) -> list[tuple[str, float]]:
    """The texts whose names count, and how much: the question, the sentences that lead further, and the passages that these are of."""
    weights = [NEXT**place for place in range(len(leads))]
    texts = [pool.passages[row].text for row in order[: len(leads)]]
    sentences = list(zip(leads, weights, strict=True))
    return [(question, 1.0), *sentences, *((text, BESIDE * weight) for text, weight in zip(texts, weights, strict=True))]


def told(pool: Pool) -> frozenset[str]:
    """The names that a passage is about: its title, with and without a qualifier."""
    titles = (title for one in pool.passages for title in (one.title, QUALIFIER.sub("", one.title)))
    return frozenset(map(plain, titles))


def untold(named: Sequence[Mapping[str, frozenset[EdgeId]]], weights: Sequence[float], known: Collection[str] = ()) -> list[Untold]:
    """The names that are not ``known``, each with the most that it counts in a text, and the edges with a document about it.

    >>> a, b = EdgeId("a"), EdgeId("b")
    >>> untold([{"oslo": frozenset({a}), "rain": frozenset({b})}, {"oslo": frozenset({a})}], [0.5, 1.0], {"rain"})
    [Untold(weight=1.0, owners=frozenset({'a'}))]
    """
    found = dict[str, Untold]()
    for names, weight in zip(named, weights, strict=True):
        for name, owners in names.items():
            if name not in known and (name not in found or found[name].weight < weight):
                found[name] = Untold(weight, owners)
    return list(found.values())
