"""Communities on four levels, each within one of the level above (GraphRAG §2.4).

C2 are the parts that DGRAG keeps (``partition``, ``repair``); C0 and C1 join them, by Leiden on their ``quotient`` and again within
each C0; C3 divides them. A community that is not divided is the same one on the next level, so each level covers each entity once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from edge_node.graph.knowledge_graph import Adjacency, Graph, Pair
from edge_node.graph.leiden import Method, graph_of, within
from edge_node.graph.partition import Home, communities, partition
from edge_node.graph.repair import TOLERATED_LOSS, modularity

LEVELS = 4
TOLERATED_GROWTH = 2  # times the parts of the largest C1 of fresh uppers


@dataclass(frozen=True, slots=True)
class Uppers:
    """Which C0 and which C1 each part is in: labels by part id. A C1 is named by both, so none reaches out of its C0."""

    root: dict[str, str]
    middle: dict[str, str]


@dataclass(frozen=True, slots=True)
class Community:
    """Entities that belong together. The ids of parent and children are other than its own; a root's parent is empty."""

    community_id: str
    level: int  # the coarsest that it stands on, 0 to 3
    parent: str
    children: tuple[str, ...]  # ids, sorted
    entities: tuple[str, ...]  # keys, sorted


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """All communities by id, the ids of the roots, sorted, and the finest community of each entity."""

    communities: dict[str, Community]
    roots: tuple[str, ...]
    of_entity: dict[str, str]

    def at(self, level: int) -> tuple[str, ...]:
        """The ids of a level's communities, sorted: each entity is in one of them. What is not divided above stands on it too."""
        return tuple(sorted(found.community_id for found in self.communities.values() if self._stands_on(found, level)))

    def _stands_on(self, community: Community, level: int) -> bool:
        if community.level > level:
            return False
        return not community.children or self.communities[community.children[0]].level > level  # children are of one level


def community_id(entities: Iterable[str]) -> str:
    """Name a community by its members alone: the same set has the same id on any level, at any time.

    >>> community_id(["b", "a"]) == community_id(("a", "b")), len(community_id([]))
    (True, 16)
    """
    return blake2b("\n".join(sorted(entities)).encode(), digest_size=8).hexdigest()


def fresh_uppers(parts: Collection[str], weights: Mapping[Pair, float], *, seed: int, method: Method) -> Uppers:
    """Communities of parts by Leiden, and again within each: a function of the sets and the seed, whatever their order.

    weights: the ``quotient`` of the parts. A label is the ``community_id`` of part ids. Raises KeyError for a weight of no part.

    >>> found = fresh_uppers(["p", "q", "r"], {("p", "q"): 1.0}, seed=7, method="graspologic")
    >>> found.root["p"] == found.root["q"] == community_id(["p", "q"]), found.root["r"] == community_id(["r"])
    (True, True)
    """
    names = sorted(parts)
    graph = graph_of(names, weights)
    root: dict[str, str] = {}
    middle: dict[str, str] = {}
    for rows in map(sorted, communities(graph, len(names), seed, method)):
        group = [names[row] for row in rows]
        root |= dict.fromkeys(group, community_id(group))
        for piece in communities(within(graph, rows), len(rows), seed, method):
            inner = [group[row] for row in piece]
            middle |= dict.fromkeys(inner, community_id(inner))
    return Uppers(root, middle)


def kept_uppers(before: Uppers, fresh: Uppers, parts: Collection[str], weights: Mapping[Pair, float]) -> Uppers:
    """The former labels of all parts that were there, and labels for the new ones; ``fresh`` where that is clearly better.

    A new part goes with the former part that it shares most weight with; one that has no such neighbour gets its fresh labels.
    fresh: ``fresh_uppers`` of these parts and weights; better is what ``repair.worth_replacing`` means by it, or where a C1 has
    grown to more than ``TOLERATED_GROWTH`` times the parts of the largest fresh one. Raises KeyError for a weight of no part.
    """
    near = _adjacency(weights)
    root: dict[str, str] = {}
    middle: dict[str, str] = {}
    for part in parts:
        like = _like(part, before.root, near)
        source, named = (fresh, part) if like is None else (before, like)
        root[part], middle[part] = source.root[named], source.middle[named]
    kept = Uppers(root, middle)
    too_large = _largest_middle(kept) > TOLERATED_GROWTH * _largest_middle(fresh)
    too_loose = modularity(near, kept.root) < (1 - TOLERATED_LOSS) * modularity(near, fresh.root)
    return fresh if too_large or too_loose else kept


def finer(part: Graph, *, max_entities: int, seed: int, method: Method, homes: Mapping[str, Home]) -> list[tuple[str, ...]]:
    """The leaves (C3) of a part: its entities, each once, in groups of at most ``max_entities``, as ``partition`` makes them.

    A function of the part alone, so that a part that is as it was has the same leaves. Raises ValueError for ``max_entities`` < 1.
    """
    weights = {pair: relation.weight for pair, relation in part.relations.items()}
    found = partition(list(part.entities), weights, homes, max_entities=max_entities, seed=seed, method=method)
    return [subgraph.entities for subgraph in found]


def hierarchy_of(uppers: Uppers, leaves: Mapping[str, Sequence[Sequence[str]]]) -> Hierarchy:
    """The communities of all levels. leaves: those of each part (``finer``), by its id; none is empty, together they are the part.

    Any order of the same input gives an equal hierarchy. Raises KeyError for a part without labels.
    """
    members: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)  # by labels from C0 down
    for part, pieces in leaves.items():
        for piece in pieces:
            path: tuple[str, ...] = (uppers.root[part], uppers.middle[part], part, min(piece))
            for level in range(LEVELS):
                members[path[: level + 1]] += piece
    ids = {path: community_id(keys) for path, keys in members.items()}
    children: defaultdict[str, list[str]] = defaultdict(list)
    for path, own in ids.items():
        if ids.get(path[:-1], own) != own:
            children[ids[path[:-1]]].append(own)
    found: dict[str, Community] = {}
    for path in sorted(ids, key=len):
        own, parent = ids[path], ids.get(path[:-1], "")
        if own not in found:  # else it stands on a coarser level too
            found[own] = Community(own, len(path) - 1, parent, tuple(sorted(children[own])), tuple(sorted(members[path])))
    roots = tuple(sorted(own for own, community in found.items() if not community.parent))
    return Hierarchy(found, roots, {key: ids[path] for path, keys in members.items() if len(path) == LEVELS for key in keys})


def _like(part: str, former: Collection[str], near: Adjacency) -> str | None:
    """The former part whose labels a part gets: itself, or its nearest."""
    if part in former:
        return part
    weights = {other: weight for other, weight in near.get(part, {}).items() if other in former}
    return min(weights, key=lambda other: (-weights[other], other), default=None)


def _adjacency(weights: Mapping[Pair, float]) -> Adjacency:
    near: Adjacency = {}
    for (a, b), weight in weights.items():
        near.setdefault(a, {})[b] = weight
        near.setdefault(b, {})[a] = weight
    return near


def _largest_middle(uppers: Uppers) -> int:
    return max(Counter((uppers.root[part], label) for part, label in uppers.middle.items()).values(), default=0)
