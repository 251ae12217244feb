"""Takes queued documents one by one through the write path; renews graph and summaries when the queue is empty."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from edge_node.ingest.chunks import split
from edge_node.ingest.readers import read
from edge_node.store.documents import DocumentStore, StoredDocument
from edge_node.strategies.base import Cost, IndexStrategy, Progress
from shared.errors import DgragError, ModelTimeout, ModelUnavailable, UnreadableDocument
from shared.ports import Tokenizer
from shared.records import Chunk, Document, DocumentId

log = logging.getLogger("dgrag.edge.ingest")
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 30.0  # between attempts at what has failed
UNFINISHED_RETRY_S = 60.0  # after a settle that went on without the model
MAX_ATTEMPTS = 3  # at one document, while the model is away


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


@dataclass(slots=True)
class Backoff:
    """Waits that double from FIRST_WAIT_S to LONGEST_WAIT_S; a new one starts when something goes well again."""

    failures: int = 0

    def next_s(self) -> float:
        """Count a failure; how long to wait now.

        >>> backoff = Backoff()
        >>> [backoff.next_s() for _ in range(8)]
        [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
        """
        wait_s = min(FIRST_WAIT_S * 2.0 ** min(self.failures, 16), LONGEST_WAIT_S)
        self.failures += 1
        return wait_s


def remaining_s(elapsed_s: float, done: int, total: int) -> float | None:
    """Seconds until ``total`` at the pace so far; None while that is unknown.

    >>> remaining_s(6.0, 2, 5), remaining_s(6.0, 0, 5)
    (9.0, None)
    """
    return round(elapsed_s * (total - done) / done, 1) if done else None


class StoppingError(Exception):
    """Ends a long step in its thread when the worker has been cancelled; nobody waits for it any more."""


async def failure_of(work: Coroutine[Any, Any, None]) -> BaseException | None:
    """What ``work`` raised, as a value: one document's error, even one that nobody foresaw, must not end the edge."""
    return (await asyncio.gather(work, return_exceptions=True))[0]


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
        self._attempts: Counter[DocumentId] = Counter()  # at documents that wait for the model
        self._model_trouble = Backoff()
        self._settle_trouble = Backoff()
        self._settle_at = 0.0  # not before this time (perf_counter)
        self._dirty = True  # what a crash left between two steps is settled at start
        self._stopping = False
        self._step_since = time.perf_counter()
        self.now = Step()
        self.busy_s = 0.0

    @property
    def idle(self) -> bool:
        """Nothing is under way, and graph and summaries are up to date."""
        return not self._dirty and not self.now.step

    @property
    def eta_s(self) -> float | None:
        """Seconds until the present step ends, at its pace so far."""
        return remaining_s(time.perf_counter() - self._step_since, self.now.done, self.now.total)

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
        """Work until cancelled. What not even one document's or one settle's guard could take starts the work anew, after a wait."""
        trouble = Backoff()
        try:
            while True:
                error = await failure_of(self._work())
                log.error("the write path starts again", exc_info=error)
                await self._announce(Step("waiting to start again"))
                await asyncio.sleep(trouble.next_s())
        finally:
            self._stopping = True

    async def _work(self) -> None:
        self._awaiting_settle = []
        await asyncio.to_thread(self._documents.requeue_interrupted)
        while True:
            self._wake.clear()
            stored = await asyncio.to_thread(self._documents.take_next)
            started = time.perf_counter()
            due = started >= self._settle_at
            if stored is not None:
                await self._index(stored)
                if due and len(self._awaiting_settle) >= self._settle_every:
                    await self._settle()
            elif self._dirty and due:
                await self._settle()
            else:
                await self._rest()
                continue
            self.busy_s += time.perf_counter() - started

    async def _rest(self) -> None:
        """Until there is work, or a settle that failed, or that left the model something to do, is due again."""
        failed, unfinished = self._dirty, self._strategy.unfinished
        await self._announce(Step("waiting to settle again") if failed else Step())
        wait_s = max(0.0, self._settle_at - time.perf_counter()) if failed else UNFINISHED_RETRY_S
        try:
            async with asyncio.timeout(wait_s if failed or unfinished else None):
                await self._wake.wait()
        except TimeoutError:
            if unfinished and not failed:
                await self._settle()

    async def _index(self, stored: StoredDocument) -> None:
        self._dirty = True
        identity = stored.document_id
        error = await failure_of(self._add(stored))
        if error is None:
            self._awaiting_settle.append(identity)
            self._model_trouble = Backoff()
        elif isinstance(error, ModelTimeout | ModelUnavailable):
            self._attempts[identity] += 1
            if self._attempts[identity] < MAX_ATTEMPTS:
                await self._wait_for_model(stored, error)
                return
        del self._attempts[identity]
        if error is not None:
            await self._park(identity, error)

    async def _add(self, stored: StoredDocument) -> None:
        await self._announce(Step("read", 0, 1, stored.job_id))
        chunks = await asyncio.to_thread(self._chunks, stored)
        await self._charge(stored.job_id, await self._strategy.add(chunks, self._progress(stored.job_id)))

    def _chunks(self, stored: StoredDocument) -> list[Chunk]:
        text = read(stored.reader, stored.raw)
        document = Document(stored.document_id, stored.name, stored.title or text.title, text.text, stored.labels)
        chunks = split(document, self._tokenizer, size=self._chunking.size, overlap=self._chunking.overlap)
        if not chunks:
            raise UnreadableDocument(stored.name, "empty", "there is no text in it", next_step="check the file")
        return chunks

    async def _wait_for_model(self, stored: StoredDocument, error: DgragError) -> None:
        """Then the same document is tried again: with the model away, the next one would fare no better."""
        wait_s = self._model_trouble.next_s()
        log.warning("%s waits %.1f s for the model: %s", stored.document_id, wait_s, error.message)
        await asyncio.to_thread(self._documents.requeue, stored.document_id)
        await self._announce(Step("waiting for the model", job_id=stored.job_id))
        await asyncio.sleep(wait_s)

    async def _park(self, identity: DocumentId, error: BaseException) -> None:
        if isinstance(error, DgragError):
            log.warning("parked %s: %s", identity, error.code)
            code, reason = getattr(error, "reason", "") or error.code, error.message
            next_step = error.next_step or "mend the document and send it again"
        else:
            log.error("parked %s: an unexpected error", identity, exc_info=error)
            code, reason = "internal", f"an error inside the edge ({type(error).__name__})"
            next_step = "send it again; if it fails again, report it with the edge's log"
        await asyncio.to_thread(self._documents.park, identity, code=code, reason=reason, next_step=next_step)

    async def _settle(self) -> None:
        waiting, self._awaiting_settle, self._dirty = self._awaiting_settle, [], False
        error = await failure_of(self._settle_and_tell(waiting))
        if error is None:
            self._settle_trouble, self._settle_at = Backoff(), 0.0
            return
        wait_s = self._settle_trouble.next_s()
        log.error("settling failed; again in %.1f s", wait_s, exc_info=error)
        self._awaiting_settle, self._dirty, self._settle_at = waiting, True, time.perf_counter() + wait_s

    async def _settle_and_tell(self, waiting: list[DocumentId]) -> None:
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
            if self._stopping:  # cancelled: a thread learns of it only here
                raise StoppingError
            now = Step(step, done, total, job_id)
            loop.call_soon_threadsafe(lambda: asyncio.ensure_future(self._announce(now)))

        return report

    async def _announce(self, step: Step) -> None:
        async with self._changed:
            if (step.step, step.job_id) != (self.now.step, self.now.job_id):
                self._step_since = time.perf_counter()
            self.now = step
            self._changed.notify_all()
