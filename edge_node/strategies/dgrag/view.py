"""What questions see of the graph: one moment of it, with its shape and its vectors."""

from __future__ import annotations

from dataclasses import dataclass

from edge_node.graph.knowledge_graph import Adjacency, Graph, Pair, adjacency_of
from edge_node.store.vectors import VectorRows
from shared.index import open_index
from shared.ports import VectorIndex

VECTOR_TEXT_CHARS = 240  # name, and as much of the description as tells what it is; longer texts only cost time


@dataclass(frozen=True, slots=True)
class View:
    """Graph and adjacency are never changed; the indexes are, and may be a moment ahead: a hit that the graph lacks is skipped."""

    graph: Graph
    adjacency: Adjacency
    entities: VectorIndex
    relations: VectorIndex

    @classmethod
    def of(cls, graph: Graph, entities: VectorRows, relations: VectorRows, *, index: str, dimensions: int) -> View:
        """With indexes of these vectors."""
        opened = []
        for rows in (entities, relations):
            vectors = open_index(index, dimensions)
            vectors.put(rows.keys, rows.vectors)
            opened.append(vectors)
        return cls(graph, adjacency_of(graph), *opened)

    @classmethod
    def empty(cls, *, index: str, dimensions: int) -> View:
        """Of no document."""
        return cls(Graph({}, {}), {}, open_index(index, dimensions), open_index(index, dimensions))


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
