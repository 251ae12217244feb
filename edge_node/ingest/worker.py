"""Takes queued documents one by one through the write path; renews graph and summaries when the queue is empty."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from edge_node.ingest.chunks import split
from edge_node.ingest.readers import read
from edge_node.store.documents import DocumentStore, StoredDocument
from edge_node.strategies.base import Cost, IndexStrategy, Progress
from shared.errors import DgragError, StoreError, UnreadableDocument
from shared.ports import Tokenizer
from shared.records import Chunk, Document, DocumentId

log = logging.getLogger("dgrag.edge.ingest")


@dataclass(frozen=True, slots=True)
class Step:
    """What the worker is doing: ``done`` of ``total`` in a named step."""

    step: str = ""
    done: int = 0
    total: int = 0
    job_id: str = ""


@dataclass(frozen=True, slots=True)
class Chunking:
    """Size and overlap in tokens."""

    size: int
    overlap: int


class Worker:
    """The write path of one edge; one document at a time."""

    def __init__(
        self,
        documents: DocumentStore,
        strategy: IndexStrategy,
        tokenizer: Tokenizer,
        chunking: Chunking,
        *,
        settle_every: int,
        on_settled: Callable[[], Awaitable[None]],
    ) -> None:
        self._documents = documents
        self._strategy = strategy
        self._tokenizer = tokenizer
        self._chunking = chunking
        self._settle_every = settle_every
        self._on_settled = on_settled
        self._wake = asyncio.Event()
        self._changed = asyncio.Condition()
        self._awaiting_settle: list[DocumentId] = []
        self._dirty = True  # what a crash left between two steps is settled at start
        self.now = Step()
        self.busy_s = 0.0

    @property
    def idle(self) -> bool:
        """Nothing is under way, and graph and summaries are up to date."""
        return not self._dirty and not self.now.step

    def wake(self, *, dirty: bool = False) -> None:
        """There is work: a new document, or (dirty) one that was removed."""
        self._dirty = self._dirty or dirty
        self._wake.set()

    async def next_change(self, seen: Step, *, wait_s: float) -> Step:
        """Wait until the present step differs from ``seen``, at most ``wait_s`` seconds."""
        try:
            async with asyncio.timeout(wait_s), self._changed:
                await self._changed.wait_for(lambda: self.now != seen)
        except TimeoutError:
            pass
        return self.now

    async def run(self) -> None:
        """Work until cancelled."""
        await asyncio.to_thread(self._documents.requeue_interrupted)
        while True:
            self._wake.clear()
            stored = await self._take()
            started = time.perf_counter()
            if stored is not None:
                await self._index(stored)
                if len(self._awaiting_settle) >= self._settle_every:
                    await self._settle()
            elif self._dirty:
                await self._settle()
            else:
                await self._announce(Step())
                await self._wake.wait()
                continue
            self.busy_s += time.perf_counter() - started

    async def _take(self) -> StoredDocument | None:
        try:
            return await asyncio.to_thread(self._documents.take_next)
        except StoreError as error:
            log.error("a queued document cannot be read: %s", error.message)
            return None

    async def _index(self, stored: StoredDocument) -> None:
        self._dirty = True
        try:
            await self._announce(Step("read", 0, 1, stored.job_id))
            chunks = await asyncio.to_thread(self._chunks, stored)
            await self._charge(stored.job_id, await self._strategy.add(chunks, self._progress(stored.job_id)))
            self._awaiting_settle.append(stored.document_id)
        except DgragError as error:
            log.warning("parked %s: %s", stored.document_id, error.code)
            reason = getattr(error, "reason", "")
            await asyncio.to_thread(
                self._documents.park,
                stored.document_id,
                code=reason or error.code,
                reason=error.message,
                next_step=error.next_step or "mend the document and send it again",
            )

    def _chunks(self, stored: StoredDocument) -> list[Chunk]:
        text = read(stored.reader, stored.raw)
        document = Document(stored.document_id, stored.name, stored.title or text.title, text.text, stored.labels)
        chunks = split(document, self._tokenizer, size=self._chunking.size, overlap=self._chunking.overlap)
        if not chunks:
            raise UnreadableDocument(stored.name, "empty", "there is no text in it", next_step="check the file")
        return chunks

    async def _settle(self) -> None:
        waiting, self._awaiting_settle, self._dirty = self._awaiting_settle, [], False
        await self._strategy.settle(self._progress(""))
        await asyncio.to_thread(self._documents.mark_indexed, waiting)
        await self._on_settled()

    async def _charge(self, job_id: str, cost: Cost) -> None:
        if cost.calls:
            await asyncio.to_thread(
                self._documents.add_job_cost, job_id, calls=cost.calls, tokens_in=cost.tokens_in, tokens_out=cost.tokens_out
            )

    def _progress(self, job_id: str) -> Progress:
        loop = asyncio.get_running_loop()

        def report(step: str, done: int, total: int) -> None:
            now = Step(step, done, total, job_id)
            loop.call_soon_threadsafe(lambda: asyncio.ensure_future(self._announce(now)))

        return report

    async def _announce(self, step: Step) -> None:
        async with self._changed:
            self.now = step
            self._changed.notify_all()
