"""Which chunks get the model: the budget share β of KET-RAG (§IV), spent where the most names are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

from shared.records import Chunk, ChunkId


def choose_for_model(chunks: Sequence[Chunk], share: float, entity_counts: Mapping[ChunkId, int]) -> frozenset[ChunkId]:
    """Return the ⌈share · n⌉ chunks with the most candidate entities, ties by ordinal, then by id.

    Raises ValueError unless 0 <= share <= 1.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share is {share}, expected 0 to 1")
    ranked = sorted(chunks, key=lambda chunk: (-entity_counts.get(chunk.chunk_id, 0), chunk.ordinal, chunk.chunk_id))
    wanted = ceil(round(share * len(chunks), 9))  # 0.1 * 30 is 3.0000000000000004
    return frozenset(chunk.chunk_id for chunk in ranked[:wanted])
