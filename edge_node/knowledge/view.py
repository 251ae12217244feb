"""What questions see of the graph: one moment of it, with its shape and its vectors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from edge_node.graph.knowledge_graph import Adjacency, Graph, GraphChange, Pair, adjacency_of
from edge_node.store.vectors import VectorRows
from shared.index import open_index
from shared.ports import VectorIndex

Told = dict[str, tuple[str, ...]]  # keys of entities by chunk id
VECTOR_TEXT_CHARS = 120  # name, and as much of the description as tells what it is; longer texts only cost time


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
