"""How near the parts of a graph are to each other: the graph whose nodes are parts, which the communities above them are made of."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import fsum

from edge_node.graph.knowledge_graph import Pair
from shared.records import Relation

MOST_PARTS = 32  # of one chunk that are tied to each other; pairs grow with the square


def quotient(
    home: Mapping[str, str], relations: Mapping[Pair, Relation], told: Mapping[str, Sequence[str]], *, tie: float
) -> dict[Pair, float]:
    """Return the weight between parts that are near, by (part, part), the lesser first (GraphRAG §2.4: normalised counts).

    home: part by entity; told: entities by chunk. A relation between two parts gives them its share of the mean relation's
    weight. A chunk that tells of n > 1 parts gives each pair of them tie / (n - 1), so that no part has more than ``tie`` of it:
    ours, as relations alone leave most parts without a neighbour. Of the parts of one chunk the ``MOST_PARTS`` with most
    entities in it count. Entities without a home are passed over. Any order of the same input gives the same weights.

    >>> relation = Relation("a", "b", "", (), 3.0, ("1",))
    >>> quotient({"a": "p", "b": "q", "c": "r"}, {("a", "b"): relation}, {"1": ("a", "b", "c")}, tie=0.5)
    {('p', 'q'): 1.25, ('p', 'r'): 0.25, ('q', 'r'): 0.25}
    """
    weights: defaultdict[Pair, float] = defaultdict(float)
    mean = fsum(relation.weight for relation in relations.values()) / max(1, len(relations))
    for source, target in sorted(relations):  # in order, as the last bit of a sum depends on it
        if source in home and target in home and home[source] != home[target]:
            weights[_pair(home[source], home[target])] += relations[source, target].weight / mean
    if tie > 0:
        for chunk_id in sorted(told):
            parts = _parts_of(told[chunk_id], home)
            for pair in combinations(parts, 2):
                weights[pair] += tie / (len(parts) - 1)
    return dict(weights)


def _parts_of(keys: Iterable[str], home: Mapping[str, str]) -> list[str]:
    counts = Counter(home[key] for key in keys if key in home)
    return sorted(sorted(counts, key=lambda part: (-counts[part], part))[:MOST_PARTS])


def _pair(a: str, b: str) -> Pair:
    return (a, b) if a < b else (b, a)
