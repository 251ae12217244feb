"""④ Dual-level retrieval: entity and relation hits, their neighbours, the source chunks they carry (DGRAG §III-C ④)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest

from edge_node.graph.knowledge_graph import Adjacency, Graph
from shared.records import ChunkId, DocumentId, Entity, Relation, document_of

NEIGHBOURS = 5  # one-hop relations per hit entity, strongest first


@dataclass(frozen=True, slots=True)
class Keywords:
    """Low level: things named in the question. High level: its themes (LightRAG §3.2)."""

    low: tuple[str, ...]
    high: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hits:
    """Keys of entities and relations, best first, with cosine."""

    entities: tuple[tuple[str, float], ...]
    relations: tuple[tuple[tuple[str, str], float], ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a question may see where some documents are withheld from who asks."""

    withheld: frozenset[DocumentId]

    def some(self, item: Entity | Relation | None) -> bool:
        """Whether a document that is not withheld tells of it. What is gone from the graph counts, as its index follows soon."""
        return item is None or not self.withheld or any(document_of(chunk_id) not in self.withheld for chunk_id in item.chunk_ids)

    def visible(self, chunk_ids: Sequence[ChunkId]) -> Sequence[ChunkId]:
        """Those of documents that are not withheld."""
        return [chunk_id for chunk_id in chunk_ids if document_of(chunk_id) not in self.withheld] if self.withheld else chunk_ids

    def chunks(self, support: Mapping[str, float]) -> dict[str, float]:
        """Without the chunks of the withheld documents."""
        return {chunk_id: score for chunk_id, score in support.items() if document_of(chunk_id) not in self.withheld}


def pair(source: str, target: str) -> tuple[str, str]:
    """The key of an undirected relation."""
    return (source, target) if source < target else (target, source)


def neighbours(hits: Hits, adjacency: Adjacency, *, per_entity: int = NEIGHBOURS) -> list[tuple[tuple[str, str], float]]:
    """One-hop relations of the hit entities: those joining two hits first, then by weight; score = the entity's cosine.

    Relations that are hits themselves are left out.
    """
    seeds = {key for key, _ in hits.entities}
    known = {key for key, _ in hits.relations}
    found: dict[tuple[str, str], float] = {}
    for key, score in hits.entities:
        if key not in adjacency:
            continue
        edges = sorted(adjacency[key].items(), key=lambda item: (item[0] not in seeds, -item[1], item[0]))
        for other, _ in edges[:per_entity]:
            edge = pair(key, other)
            if edge not in known:
                found[edge] = max(score, found.get(edge, -1.0))
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))


def chunk_support(hits: Hits, near: Iterable[tuple[tuple[str, str], float]], graph: Graph) -> dict[str, float]:
    """How strongly each chunk is carried: the sum of the cosines of the hit entities and relations found in it.

    An entity's vote is shared among its chunks' square root, so that a name that is everywhere does not decide.
    """
    support: dict[str, float] = {}

    def vote(chunk_ids: Sequence[str], score: float) -> None:
        for chunk_id in chunk_ids:
            support[chunk_id] = support.get(chunk_id, 0.0) + score / len(chunk_ids) ** 0.5

    for key, score in hits.entities:
        if key in graph.entities:
            vote(graph.entities[key].chunk_ids, score)
    for edge, score in [*hits.relations, *near]:
        if edge in graph.relations:
            vote(graph.relations[edge].chunk_ids, score)
    return support


def rank_by(scores: Mapping[str, float], k: int) -> list[str]:
    """The k keys of highest score, ties by name."""
    return nsmallest(k, scores, key=lambda key: (-scores[key], key))


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
