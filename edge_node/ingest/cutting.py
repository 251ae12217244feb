"""A document's bytes to its chunks."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from edge_node.ingest.chunks import split
from edge_node.ingest.readers.pool import Reads
from shared.errors import UnreadableDocument
from shared.ports import Tokenizer
from shared.records import Chunk, Document, DocumentId


@dataclass(frozen=True, slots=True)
class Offered:
    """A document as a client has it; ``reader``: the name whose suffix chooses the reader."""

    document_id: DocumentId
    name: str
    raw: bytes
    reader: str
    title: str = ""
    labels: tuple[str, ...] | None = None  # None: as they are


@dataclass(frozen=True, slots=True)
class Cutter:
    """Reads documents and cuts them into chunks of at most ``size`` tokens, which share about ``overlap``."""

    reads: Reads
    tokenizer: Tokenizer
    size: int
    overlap: int

    async def cut(self, offered: Offered) -> list[Chunk]:
        """At least one chunk. Raises UnreadableDocument. Cancelled, it stops the reader."""
        text = await self.reads.read(offered.reader, offered.raw)
        document = Document(offered.document_id, offered.name, offered.title or text.title, text.text, offered.labels or ())
        chunks = await asyncio.to_thread(split, document, self.tokenizer, size=self.size, overlap=self.overlap)
        if not chunks:
            raise UnreadableDocument(offered.name, "empty", "there is no text in it", next_step="check the file")
        return chunks
