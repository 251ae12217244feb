"""KET-RAG as a method: a skeleton of core chunks and a graph of keywords, each searched with its share of the tokens (§5, Alg. 3 and 4)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from edge_node.database.vectors import VectorRows
from edge_node.extraction.model_extraction import ModelExtractor
from edge_node.graph.passages import ChunkDraft
from edge_node.graph.tools import Tools
from edge_node.records import Cost, Needs, Progress, Retrieval
from edge_node.strategies.ketrag.core import CoreReader
from edge_node.strategies.ketrag.index import Graphs, PartsDraft
from edge_node.strategies.ketrag.search import KetSearch
from edge_node.strategies.method import Method, MethodQuery
from edge_node.strategies.write_path import WritePath
from shared.records import Chunk, ChunkId

if TYPE_CHECKING:
    from edge_node.settings import EdgeSettings


class KETRAG(Method):
    """Every variant of the paper reads one index. Without a ``reader`` the skeleton is what spaCy found in the core."""

    def __init__(self, tools: Tools, write_path: WritePath, settings: EdgeSettings) -> None:
        self._tools = tools
        self._write_path = write_path
        self._settings = settings
        self._graphs = Graphs(tools, settings)
        model = ModelExtractor(
            tools.generator,
            write_path.tagger,
            form=settings.extraction_form,
            gleanings=settings.gleanings,
            deadline_s=settings.model_deadline_s,
        )
        self._reader = CoreReader(tools, model, at_once=settings.idle_calls) if settings.ket_core_reader == "model" else None

    @staticmethod
    def needs(settings: EdgeSettings) -> Needs:
        """Words for the gate; the graph for the skeleton, which is the part of it that core chunks tell, and for what the cloud is told."""
        del settings
        return Needs(words=True, mentions=True, graph=True, entity_vectors=True)

    async def open(self) -> None:
        """Read both graphs."""
        await self._graphs.open()
        await self._look()

    async def _look(self) -> None:
        if self._reader is not None:
            await self._reader.look(self._graphs.ranked)

    async def drafts(self, chunks: Sequence[Chunk], rows: VectorRows, progress: Progress) -> Sequence[ChunkDraft]:
        """Sentences and pieces of the chunks, embedded. Raises NotFound where their document was removed meanwhile."""
        del rows
        titles = {chunk.document_id: "" for chunk in chunks}
        for document_id in titles:
            titles[document_id] = (await asyncio.to_thread(self._tools.documents.get, document_id))["title"]
        return [PartsDraft(self._graphs, await self._graphs.seen([(chunk, titles[chunk.document_id]) for chunk in chunks], progress))]

    async def forget(self, chunk_ids: Sequence[ChunkId]) -> None:
        """Hide them at once."""
        await asyncio.to_thread(self._graphs.drop, chunk_ids)

    async def renew(self, progress: Progress) -> None:
        """The KNN graph, PageRank and core of the chunks that are there."""
        await self._graphs.renew(progress)
        await self._look()

    async def improve(self, progress: Progress) -> Cost:
        """Let the model read a few core chunks, and settle what it said. Raises ModelError."""
        if self._reader is None or not self._reader.unread:
            return Cost()
        try:
            return await self._reader.read(progress)
        finally:  # what was read before a failure counts too
            await self._write_path.settle(progress)

    @property
    def stale(self) -> int:
        """Core chunks that the model has not read."""
        return len(self._reader.unread) if self._reader is not None else 0

    async def search(self, asked: MethodQuery) -> Retrieval:
        """As the variant says, in exactly the tokens that there are."""
        search = KetSearch(self._write_path.view, self._write_path.passages, self._graphs, self._tools, self._settings, asked)
        return await asyncio.to_thread(partial(search.run))
