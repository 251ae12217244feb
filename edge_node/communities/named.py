"""Which entities most documents tell of: counts of the graph, as exact as its names are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest

from edge_node.communities.selection import relevance
from shared.records import ChunkId, Entity, document_of

LEAST_DOCUMENTS = 2  # what one document names is no more than this document's


@dataclass(frozen=True, slots=True)
class NamedOften:
    """An entity, the number of documents that tell of it, a chunk that does, and a community that holds it."""

    name: str
    type: str
    documents: int
    chunk_id: ChunkId
    report: str


def named_often(
    entities: Collection[Entity],
    kinds: Collection[str],
    *,
    most: int,
    cosines: Callable[[Sequence[str]], Mapping[str, float]] | None,
    community_of: Callable[[str], str],
) -> list[NamedOften]:
    """The entities of these types that most documents tell of, most first; ties by key.

    ``cosines`` of passages with what is asked about: then those come first that are named often in what is near. ``community_of``: by key.
    """
    telling = {entity.key: len({*map(document_of, entity.chunk_ids)}) for entity in entities if entity.type in kinds}
    told = [entity for entity in entities if telling.get(entity.key, 0) >= LEAST_DOCUMENTS]
    near = cosines(sorted({chunk_id for entity in told for chunk_id in entity.chunk_ids})) if cosines else {}

    def order(entity: Entity) -> tuple[float, str]:
        nearness = max(0.0, relevance(near, entity.chunk_ids)) if cosines else 1.0
        return -telling[entity.key] * nearness, entity.key

    best = nsmallest(most, told, key=order)
    return [
        NamedOften(
            entity.name,
            entity.type,
            telling[entity.key],
            max(entity.chunk_ids, key=lambda chunk_id: near.get(chunk_id, 0.0)),
            community_of(entity.key),
        )
        for entity in best
    ]
