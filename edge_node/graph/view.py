"""What questions see of the graph: one moment of it, with its shape and its vectors."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from heapq import nsmallest
from typing import Any

from edge_node.database.vectors import VectorRows
from edge_node.extraction.names import normalise
from edge_node.graph.knowledge_graph import Adjacency, Graph, GraphChange, Pair, adjacency_of, to_networkx
from shared.index import open_index
from shared.ports import VectorIndex
from shared.records import ChunkId, Entity, Relation, is_withheld

Told = dict[str, tuple[str, ...]]  # keys of entities by chunk id
VECTOR_TEXT_CHARS = 120  # name, and as much of the description as tells what it is; longer texts only cost time

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Visibility:
    """The documents and single chunks that are withheld, by id, and what is left without them."""

    withheld: frozenset[str]

    def some(self, item: Entity | Relation | None) -> bool:
        """Whether a document that is not withheld tells of it. What is gone from the graph counts, as its index follows soon."""
        return item is None or not self.withheld or any(not is_withheld(chunk_id, self.withheld) for chunk_id in item.chunk_ids)

    def visible(self, chunk_ids: Sequence[ChunkId]) -> Sequence[ChunkId]:
        """Those of documents that are not withheld."""
        return [chunk_id for chunk_id in chunk_ids if not is_withheld(chunk_id, self.withheld)] if self.withheld else chunk_ids

    def chunks(self, support: Mapping[str, float]) -> dict[str, float]:
        """Without the chunks of the withheld documents."""
        return {chunk_id: score for chunk_id, score in support.items() if not is_withheld(chunk_id, self.withheld)}


def neighbourhood(graph: Graph, adjacency: Adjacency, entity: str, *, hops: int, limit: int) -> dict[str, Any]:
    """Entities within ``hops`` of one (by name or key), or all when ``entity`` is empty; highest degree first, at most ``limit``.

    Returns ``{"entities": [entity fields + degree], "relations": [those among them]}``; both empty for an unknown entity.
    """
    if entity:
        key = entity if entity in graph.entities else normalise(entity)
        reached = _within(adjacency, key, hops) if key in graph.entities else {}
    else:
        reached = dict.fromkeys(graph.entities, 0)
    degrees = {key: len(adjacency.get(key, ())) for key in reached}
    keys = sorted(reached, key=lambda key: (reached[key], -degrees[key], key))[:limit]
    shown = set(keys)
    pairs = sorted((key, other) for key in keys for other in adjacency.get(key, ()) if key < other and other in shown)
    return {
        "entities": [asdict(graph.entities[key]) | {"degree": degrees[key]} for key in keys],
        "relations": [asdict(graph.relations[pair]) for pair in pairs],
    }


def named(graph: Graph, adjacency: Adjacency, words: str, *, limit: int) -> list[dict[str, Any]]:
    """Entities whose names hold all these words, or beginnings or parts of words; at most ``limit``, each with its degree.

    The name that is just so comes first, then names that begin so, then those where every word begins one; else by degree.
    """
    asked = " ".join(words.casefold().split())
    parts = asked.split()

    def rank(name: str) -> int:
        begun = all(f" {part}" in f" {name}" for part in parts)
        return 0 if name == asked else 1 if name.startswith(asked) else 2 if begun else 3

    names = ((key, entity.name.casefold()) for key, entity in graph.entities.items())
    ranked = [(rank(name), -len(adjacency.get(key, ())), key) for key, name in names if all(part in name for part in parts)]
    return [asdict(graph.entities[key]) | {"degree": -degree} for _, degree, key in nsmallest(limit, ranked)]


def graphml(graph: Graph) -> str:
    """The whole graph for other programs (Gephi, yEd, networkx), as XML; characters that XML cannot hold are left out."""
    import networkx as nx

    shape = to_networkx(graph)
    clean = nx.relabel_nodes(shape, {key: _printable(key) for key in shape})
    for _, fields in [*clean.nodes(data=True), *((pair, fields) for *pair, fields in clean.edges(data=True))]:
        fields.update({name: _printable(value) for name, value in fields.items() if isinstance(value, str)})
    return "\n".join(nx.generate_graphml(clean))


def _printable(text: str) -> str:
    return _NOT_XML.sub("", text)


def _within(adjacency: Adjacency, start: str, hops: int) -> dict[str, int]:
    """Distance of each entity that is at most ``hops`` away."""
    reached = {start: 0}
    frontier = [start]
    for distance in range(1, hops + 1):
        frontier = [other for key in frontier for other in adjacency.get(key, ()) if other not in reached]
        reached |= dict.fromkeys(frontier, distance)
    return reached


def fact_lines(relations: Iterable[tuple[str, str]], graph: Graph, *, skip_chunks: frozenset[str]) -> list[str]:
    """One line a relation, "A - keywords - B", left out where a shown passage already carries it."""
    lines = []
    for edge in relations:
        relation = graph.relations.get(edge)
        if relation is None or not skip_chunks.isdisjoint(relation.chunk_ids):
            continue
        source, target = graph.entities[relation.source].name, graph.entities[relation.target].name
        lines.append(f"{source} - {', '.join(relation.keywords[:3]) or 'related to'} - {target}")
    return lines


@dataclass(frozen=True, slots=True)
class View:
    """Graph, adjacency and ``told`` are never changed; the rest is, and may be a moment ahead: a hit that the graph lacks is skipped."""

    graph: Graph
    adjacency: Adjacency
    told: Told  # which entities each chunk tells of
    canonical: Mapping[str, str]  # key -> the key of its entity, for aliases only
    entities: VectorIndex
    relations: VectorIndex

    @classmethod
    def of(
        cls, graph: Graph, canonical: Mapping[str, str], entities: VectorRows, relations: VectorRows, *, index: str, dimensions: int
    ) -> View:
        """With indexes of these vectors."""
        opened = []
        for rows in (entities, relations):
            vectors = open_index(index, dimensions)
            vectors.put(rows.keys, rows.vectors)
            opened.append(vectors)
        return cls(graph, adjacency_of(graph), told_by(graph), canonical, *opened)

    @classmethod
    def empty(cls, *, index: str, dimensions: int) -> View:
        """Of no document."""
        return cls(Graph({}, {}), {}, {}, {}, open_index(index, dimensions), open_index(index, dimensions))


def told_by(graph: Graph) -> Told:
    """The entities of each chunk, by key."""
    told: defaultdict[str, list[str]] = defaultdict(list)
    for key in sorted(graph.entities):
        for chunk_id in graph.entities[key].chunk_ids:
            told[chunk_id].append(key)
    return {chunk_id: tuple(keys) for chunk_id, keys in told.items()}


def changed_told(told: Told, graph: Graph, change: GraphChange) -> Told:
    """``told_by`` of the newer graph; ``told`` and ``graph`` are those before the change, and stay as they are."""
    newer = told.copy()
    for key, entity in change.entities.items():
        before = graph.entities.get(key)
        old, new = set(before.chunk_ids if before else ()), set(entity.chunk_ids if entity else ())
        for chunk_id in old - new:
            newer[chunk_id] = tuple(other for other in newer[chunk_id] if other != key)
            if not newer[chunk_id]:
                del newer[chunk_id]
        for chunk_id in new - old:
            newer[chunk_id] = tuple(sorted((*newer.get(chunk_id, ()), key)))
    return newer


def relation_key(pair: Pair) -> str:
    """The key of a relation in the vector tables; a tab stands in no entity key."""
    return "\t".join(pair)


def pair_of(key: str) -> Pair:
    """Inverse of ``relation_key``.

    >>> pair_of(relation_key(("a", "b")))
    ('a', 'b')
    """
    source, _, target = key.partition("\t")
    return source, target


def entity_text(graph: Graph, key: str) -> str | None:
    """What is embedded for an entity: name and description; None if it is not there."""
    entity = graph.entities.get(key)
    return None if entity is None else f"{entity.name}: {entity.description}"[:VECTOR_TEXT_CHARS]


def relation_text(graph: Graph, pair: Pair) -> str | None:
    """What is embedded for a relation: its ends, keywords and description; None if it is not there."""
    relation = graph.relations.get(pair)
    if relation is None:
        return None
    ends = f"{graph.entities[pair[0]].name} {', '.join(relation.keywords[:3])} {graph.entities[pair[1]].name}"
    return f"{ends}: {relation.description}"[:VECTOR_TEXT_CHARS]
