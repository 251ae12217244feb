"""The summaries of all edges, searchable: the store holds the truth, the index is rebuilt from it at each start."""

from __future__ import annotations

import asyncio
import logging

import numpy as np

from cloud_server.registry.edges import EdgeRegistry
from cloud_server.summaries.matching import SummaryMatch, match, summary_key
from cloud_server.summaries.store import SummaryStore
from shared.ports import Embedder, FloatArray, VectorIndex
from shared.records import EdgeId, SummaryDelta

log = logging.getLogger("dgrag.cloud.summaries")


class Catalogue:
    """Takes deltas in, finds summaries, forgets edges."""

    def __init__(self, registry: EdgeRegistry, store: SummaryStore, index: VectorIndex, embedder: Embedder) -> None:
        self._registry = registry
        self._store = store
        self._index = index
        self._embedder = embedder
        self._writing = asyncio.Lock()  # the index must see deltas in the order in which the store took them

    def __len__(self) -> int:
        return len(self._index)

    async def open(self) -> None:
        """Fill the index from the store. Texts are embedded again when the embedder is another one than the stored vectors'."""
        rows, damaged = await asyncio.to_thread(self._store.load)
        for edge in damaged:
            log.warning("a stored summary of %s was damaged and is dropped; the edge will be asked for all of its summaries", edge)
        vectors = np.array([row.vector for row in rows], dtype=np.float32)
        if self._store.fingerprint() != self._embedder.fingerprint:
            if rows:
                log.warning("the embedder has changed: embedding %d summaries again", len(rows))
            vectors = await self._embed([row.summary.text for row in rows])
            pairs = [(row.edge, row.summary) for row in rows]
            await asyncio.to_thread(self._store.replace_vectors, self._embedder.fingerprint, pairs, vectors)
        if rows:
            self._index.put([summary_key(row.edge, row.summary.summary_id) for row in rows], vectors)

    async def accept(self, edge: EdgeId, delta: SummaryDelta) -> None:
        """Apply a delta once; a repeated or older one changes nothing. Raises as ``SummaryStore.fits``."""
        async with self._writing:
            if not await asyncio.to_thread(self._store.fits, edge, delta):  # before the embedder works for nothing
                return
            vectors = await self._embed([summary.text for summary in delta.upserts])
            applied, gone = await asyncio.to_thread(self._store.apply, edge, delta, vectors)
            if applied:
                self._index.drop(summary_key(edge, summary_id) for summary_id in gone)
                self._index.put([summary_key(edge, summary.summary_id) for summary in delta.upserts], vectors)

    async def expel(self, edge: EdgeId) -> int:
        """Shut an edge out and forget all its summaries; returns how many. Raises NotFound, Expelled."""
        async with self._writing:
            keys = [summary_key(edge, summary_id) for summary_id in await asyncio.to_thread(self._store.ids, edge)]
            purged = await asyncio.to_thread(self._registry.expel, edge)
            self._index.drop(keys)
            return purged

    async def match(self, questions: FloatArray, *, m: int, min_cosine: float) -> list[SummaryMatch]:
        """As ``matching.match``, off the event loop."""
        return await asyncio.to_thread(match, questions, self._index, m=m, min_cosine=min_cosine)

    async def _embed(self, texts: list[str]) -> FloatArray:
        if not texts:
            return np.empty((0, self._embedder.dimensions), dtype=np.float32)
        return await self._embedder.embed(texts)
