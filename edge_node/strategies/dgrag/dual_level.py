"""④ Dual-level retrieval: entity and relation hits, their neighbours, the source chunks they carry (DGRAG §III-C ④)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest

from edge_node.graph.knowledge_graph import Adjacency, Graph

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
