"""The model reads the core chunks, most central first; all others keep what spaCy found (KET-RAG §5.1, Alg. 3 l. 8)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from edge_node.graph.knowledge_graph import TITLE
from edge_node.graph.model_extraction import ModelExtractor
from edge_node.graph.nlp import Extraction
from edge_node.strategies.base import Cost, Progress, Tools
from shared.records import Chunk

log = logging.getLogger("dgrag.edge.core")
AT_ONCE = 8  # chunks in one go: a new document must not wait longer (performance goal F4)


class CoreReader:
    """Each chunk is asked about once; a reply that is of no use leaves what spaCy found."""

    def __init__(self, tools: Tools, model: ModelExtractor) -> None:
        self._documents = tools.documents
        self._mentions = tools.graph.mentions
        self._model = model
        self.unread: tuple[str, ...] = ()

    async def look(self, core: Sequence[str]) -> None:
        """See which chunks of the core, most central first, the model has not read."""
        read = await asyncio.to_thread(self._mentions.readings)
        self.unread = tuple(chunk_id for chunk_id in core if chunk_id not in read)

    async def read(self, progress: Progress) -> Cost:
        """Read a few, each committed by itself. Raises ModelTimeout and ModelUnavailable."""
        cost, chosen = Cost(), self.unread[:AT_ONCE]
        chunks = await asyncio.to_thread(self._documents.chunks, chosen)
        for done, chunk_id in enumerate(chosen):
            progress("read the core", done, len(chosen))
            if chunk_id in chunks:
                cost += await self._ask(chunks[chunk_id][0])
            self.unread = tuple(key for key in self.unread if key != chunk_id)  # another list, where a settle came between
        return cost

    async def _ask(self, chunk: Chunk) -> Cost:
        entities, relations = await asyncio.to_thread(self._mentions.of_chunk, chunk.chunk_id)
        named = tuple(mention for mention in entities if mention.type != TITLE)  # a title is not said by the chunk
        found = await self._model.extract(chunk, Extraction(named, relations))
        if found.failure is not None:
            log.warning("the model did not read a core chunk: %s", found.failure.code)
        known = {mention.key for mention in entities}
        further = [mention for mention in found.extraction.entities if mention.key not in known]
        name = self._model.generator.name
        await asyncio.to_thread(self._mentions.save_reading, chunk.chunk_id, further, found.extraction.relations, model=name)
        return Cost(found.calls, found.tokens_in, found.tokens_out)
