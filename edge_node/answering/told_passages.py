"""The sentences that told memories rest on, as passages for another site's question. What leaves of them the policy says."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from edge_node.documents.store import DocumentStore
from edge_node.egress.memory_outbox import SharedMemories
from shared.records import EdgeId, Evidence, is_withheld


class Tells(Protocol):
    """What a request that names memories is answered from."""

    async def of(self, shared_ids: Sequence[str], withheld: frozenset[str]) -> list[Evidence]:
        """The sentences of these memories, as if the withheld documents were not there."""


class ToldPassages:
    """Implements Tells: an id that the cloud was not told, or not lately, is of nothing."""

    def __init__(self, edge: EdgeId, told: SharedMemories, documents: DocumentStore) -> None:
        self._edge = edge
        self._told = told
        self._documents = documents

    async def of(self, shared_ids: Sequence[str], withheld: frozenset[str]) -> list[Evidence]:
        """In the order of the ids: no question decides anything of it."""
        return await asyncio.to_thread(self._sentences, shared_ids, withheld) if shared_ids else []

    def _sentences(self, shared_ids: Sequence[str], withheld: frozenset[str]) -> list[Evidence]:
        supports = self._told.supports(shared_ids)
        chunks = self._documents.chunks(sorted({support.chunk_id for support in supports})) if supports else {}
        found = list[Evidence]()
        for support in supports:
            if support.chunk_id not in chunks:
                continue
            chunk, document, title = chunks[support.chunk_id]
            text = chunk.text[support.start : support.end]
            if is_withheld(chunk.chunk_id, withheld) or not text.strip():
                continue
            span = chunk.start + support.start, chunk.start + support.start + len(text)
            found.append(Evidence(self._edge, chunk.document_id, document, chunk.chunk_id, span, text, 0.0, title=title))
        return found
