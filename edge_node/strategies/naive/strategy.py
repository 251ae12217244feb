"""Naive RAG: the chunks nearest the question (DGRAG §IV-B, baseline 1)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from edge_node.store.passages import Passages
from edge_node.strategies.base import NOTHING_WITHHELD, Added, Cost, Progress, Retrieval, Tools
from shared.errors import InputError
from shared.records import Chunk, ChunkId, DocumentId

if TYPE_CHECKING:
    from edge_node.settings import EdgeSettings


class Naive:
    """Implements IndexStrategy without a graph; it has no summaries, so no other edge finds it."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._passages = Passages(tools.edge, tools.documents, tools.graph, tools.embedder, tools.index)

    @classmethod
    def from_settings(cls, tools: Tools, settings: EdgeSettings) -> Self:  # noqa: ARG003 - the strategies share one constructor
        """It has no knobs."""
        return cls(tools)

    async def open(self) -> None:
        """Read the chunk vectors."""
        await asyncio.to_thread(self._passages.load)

    async def add(self, chunks: Sequence[Chunk], progress: Progress) -> Added:
        """Embed and commit."""
        rows = await self._passages.embed(chunks, progress)
        await asyncio.to_thread(self._passages.save, chunks, (), (), (), rows)
        progress("embed", len(chunks), len(chunks))
        return Added()

    async def forget(self, chunk_ids: Sequence[ChunkId]) -> None:
        """Hide them."""
        await asyncio.to_thread(self._passages.drop, chunk_ids)

    async def settle(self, progress: Progress) -> None:
        """Nothing is derived; what another strategy derived in this store is forgotten, as nobody keeps it up to date."""
        await asyncio.to_thread(self._tools.graph.drop_derived)
        progress("settle", 1, 1)

    async def refine(self, progress: Progress) -> Cost:  # noqa: ARG002
        """Nothing is written by a model."""
        return Cost()

    async def retrieve(
        self, question: str, *, budget_tokens: int, top_k: int, withheld: frozenset[DocumentId] = NOTHING_WITHHELD
    ) -> Retrieval:
        """The chunks nearest the question."""
        vector = (await self._tools.embedder.embed([question]))[0]
        ranked = await asyncio.to_thread(self._passages.top, vector, top_k, withheld)
        return Retrieval(await asyncio.to_thread(self._passages.read, ranked, budget_tokens=budget_tokens))

    @property
    def stale(self) -> int:
        """No text waits for a model."""
        return 0

    def counts(self) -> dict[str, int]:
        """No graph, so nothing to count."""
        return {"entities": 0, "relations": 0, "subgraphs": 0, "summaries": 0}

    def neighbourhood(self, entity: str, *, hops: int, limit: int) -> dict[str, Any]:  # noqa: ARG002
        """No graph, so nothing near the entity."""
        return {"entities": [], "relations": []}

    def graphml(self) -> str:
        """No graph, so nothing to export."""
        raise InputError("the strategy 'naive' builds no graph", next_step="start the edge with the strategy dgrag")
