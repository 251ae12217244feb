"""Which entities most documents tell of: counts of the graph, as exact as its names are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from math import fsum

from shared.records import ChunkId, Entity, document_of

MOST_CHUNKS = 6  # of an entity: one of them has to hold its name as it is told
LEAST_DOCUMENTS = 2  # what one document names is no more than this document's


@dataclass(frozen=True, slots=True)
class NamedOften:
    """An entity, the number of documents that tell of it, chunks of different ones that do, and a community that holds it."""

    name: str
    type: str
    documents: int
    chunk_ids: tuple[ChunkId, ...]  # the nearest first
    report: str


def named_often(
    entities: Collection[Entity],
    kinds: Collection[str],
    *,
    most: int,
    cosines: Callable[[Sequence[str]], Mapping[str, float]] | None,
    community_of: Callable[[str], str],
) -> list[NamedOften]:
    """The entities of these types that most documents tell of, most first; ties by key. What is written small is no name.

    ``cosines`` of passages with what is asked about: then a document counts by how much nearer its passages that name the entity are than
    passages on average, so that those come first that are named where the question is near. ``community_of``: by key.
    """
    named = [entity for entity in entities if entity.type in kinds and entity.name != entity.name.lower()]
    documents = {entity.key: {document_of(chunk_id) for chunk_id in entity.chunk_ids} for entity in named}
    told = [entity for entity in named if len(documents[entity.key]) >= LEAST_DOCUMENTS]
    near = cosines(sorted({chunk_id for entity in told for chunk_id in entity.chunk_ids})) if cosines else {}
    usual = fsum(near.values()) / len(near) if near else 0.0

    def order(entity: Entity) -> tuple[float, str]:
        if not near:
            return -len(documents[entity.key]), entity.key
        best = dict[str, float]()
        for chunk_id in entity.chunk_ids:
            document = document_of(chunk_id)
            best[document] = max(best.get(document, 0.0), near.get(chunk_id, 0.0) - usual)
        return -fsum(best.values()), entity.key

    return [
        NamedOften(
            entity.name,
            entity.type,
            len(documents[entity.key]),
            _of_each_document(sorted(entity.chunk_ids, key=lambda chunk_id: -near.get(chunk_id, 0.0))),
            community_of(entity.key),
        )
        for entity in nsmallest(most, told, key=order)
    ]


def _of_each_document(chunk_ids: Sequence[ChunkId]) -> tuple[ChunkId, ...]:
    first = dict[str, ChunkId]()
    for chunk_id in chunk_ids:
        first.setdefault(document_of(chunk_id), chunk_id)
    return tuple(first.values())[:MOST_CHUNKS]
