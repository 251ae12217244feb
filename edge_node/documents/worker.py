"""Takes queued documents through the write path; settles when the queue is empty, and refines when all is quiet."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, Protocol, TypeVar

from edge_node.database.replies import usage
from edge_node.documents.chunking import Cutter
from edge_node.documents.estimate import Rates, model_calls
from edge_node.documents.jobs import Job, JobQueue, reason_of
from edge_node.documents.lane import Lane, UnderWay
from edge_node.documents.originals import is_as_read, shortfalls_of_chunks
from edge_node.documents.progress import Backoff, JobProgress, News, Step
from edge_node.documents.receipts import ReceiptStore
from edge_node.records import Cost, Indexer, Progress, Table
from edge_node.settings import IndexingSettings
from shared.errors import (
    DgragError,
    DiskFailed,
    DiskFull,
    ModelTimeout,
    ModelUnavailable,
    NotFound,
    ReaderUnavailable,
    StoreError,
    UnreadableDocument,
)
from shared.limits import RetryBudget
from shared.records import DocumentId
from shared.telemetry.logs import redacted

MAX_ATTEMPTS = 3  # at one document, while the model is away
REST_S = 0.05  # between two looks whether all is at rest, where no news come
READER_WAIT_S = 1.0  # before a document is read again whose reader broke down
HEARTBEAT_S = 10.0  # between renewals of the leases
RATES = "rates"  # key in meta: what documents have taken here

log = logging.getLogger("dgrag.edge.ingest")
T = TypeVar("T")

P = ParamSpec("P")
THREADS = 4  # documents that come, an estimate, an erasure, and the worker


class OnSettled(Protocol):
    """Hears of each settle, and of each idle hour's work."""

    async def __call__(self, *, withdrawn: bool) -> None:
        """``withdrawn``: documents were deleted, and nobody should go on knowing of them for long."""


class KeepsTables(Protocol):
    """Keeps the tables of documents."""

    def keep(self, document: DocumentId, tables: Sequence[Table]) -> None:
        """In place of those that the document had; questions see them as soon as its chunks are served."""


class StoppingError(Exception):
    """Ends a long step in its thread when its job was stopped; nobody waits for it any more."""


async def failure_of(work: Coroutine[Any, Any, None]) -> BaseException | None:
    """What ``work`` raised, as a value: one document's error, even one that nobody foresaw, must not end the edge."""
    return (await asyncio.gather(work, return_exceptions=True))[0]


async def with_space(work: Callable[[], Awaitable[T]], tell: Callable[[Step], Awaitable[None]]) -> T:
    """What ``work`` returns; while the disk is full or fails it is tried again and again, which is told each time."""
    trouble = Backoff()
    while True:
        try:
            return await work()
        except (DiskFull, DiskFailed) as error:
            wait_s = trouble.next_s()
            log.error("%s; again in %.1f s", error.message, wait_s)
            await tell(Step("waiting for the disk"))
            await asyncio.sleep(wait_s)


class Background:
    """Runs what changes the store, and what it would cost: a question, in the loop's own threads, never waits behind that.

    Threads are started when they are needed first.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="write path")

    async def run(self, work: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """What ``work`` returns, or raises, in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, partial(work, *arguments, **named))

    def close(self) -> None:
        """Drop what waits, and wait for what is under way."""
        self._pool.shutdown(cancel_futures=True)


class Worker:
    """The write path of one edge: several documents are read at once, and all is written as if they came one by one."""

    def __init__(
        self,
        queue: JobQueue,
        receipts: ReceiptStore,
        indexer: Indexer,
        cutter: Cutter,
        settings: IndexingSettings,
        background: Background,
        *,
        retries: RetryBudget,
        on_settled: OnSettled,
        tables: KeepsTables | None = None,
    ) -> None:
        self._queue = queue
        self._receipts = receipts
        self._indexer = indexer
        self._cutter = cutter
        self.settings = settings
        self._background = background
        self._retries = retries
        self._on_settled = on_settled
        self._tables = tables
        self._wake = asyncio.Event()
        self._settling = asyncio.Lock()
        self._lane = Lane()  # what is being added
        self._committed: list[str] = []  # jobs that only miss a settle
        self._wanted, self._settled = 1, 0  # settles: what a crash left between two steps is settled at start
        self._settle_trouble, self._settle_at = Backoff(), 0.0  # not before this time (perf_counter)
        self._model_trouble, self._resume_at = Backoff(), 0.0  # the same, for the next document
        self._reader_trouble = Backoff()
        self._quiet = False  # nothing waits, nothing is under way
        self._stopping = False
        self._resting, self._refining = False, False
        self._busy = False  # between two looks at ``_resting``
        self.rates = Rates()
        self.news = News()
        self.busy_s = 0.0

    # ------------------------------------------------------------ what others ask

    @property
    def idle(self) -> bool:
        """Nothing is under way, and graph and plain summaries are up to date."""
        return self._wanted == self._settled and not self._lane and not self._settling.locked()

    def wake(self) -> None:
        """There may be work."""
        self._quiet = False
        self._wake.set()

    def stop(self, job_ids: tuple[str, ...]) -> None:
        """Go on no further with jobs that have ended in the store; what they have not committed never is."""
        self._lane.stop(job_ids)

    async def rest(self) -> None:
        """Begin nothing any more, and return when nothing is under way."""
        self._resting = True
        self.wake()
        while self._busy or self._lane or self._settling.locked() or self._refining:
            await self.news.next_change(self.news.changes, wait_s=REST_S)

    async def settle(self) -> BaseException | None:
        """Bring graph and plain summaries up to date with the store now; returns what went wrong, which will be tried again."""
        self._wanted += 1
        return await self._settle(self._wanted)

    async def run(self) -> None:
        """Work until cancelled. What not even one document's or one settle's guard could take starts the work anew, after a wait."""
        trouble = Backoff()
        try:
            while True:
                error = await failure_of(self._work())
                log.error("the write path starts again: %s", redacted(error))
                await self.news.tell(Step("waiting to start again"))
                await asyncio.sleep(trouble.next_s())
        finally:
            self._stopping = True

    async def _work(self) -> None:
        self._committed = list(await self._keep(self._queue.recover))
        self.rates = Rates.from_json(await self._background.run(self._queue.database.meta, RATES))
        self._wanted += 1
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._refine_while_quiet(), name="refine")
                tasks.create_task(self._renew_leases(), name="leases")
                await self._try_alone()
                tasks.create_task(self._take_jobs(), name="jobs")
        finally:
            await self._lane.clear()
            error = await failure_of(self._background.run(self._queue.release))
            if error is not None:
                log.warning("what was under way counts as interrupted: %s", redacted(error))

    async def _try_alone(self) -> None:
        """Documents that were under way when the process died: where one of them kills it again, no other is to blame."""
        while job := await self._take(least_crashes=1):
            log.warning("job %s was under way when the edge died, %d times so far; it is tried alone", job.job_id, job.crashes)
            self._lane.begin(job, self._add)
            await self._end(await self._lane.ended())

    async def _take_jobs(self) -> None:
        while True:
            self._wake.clear()
            started = time.perf_counter()
            if self._resting and not self._lane:
                await self._wake.wait()
                continue
            self._busy = True
            try:
                has_worked = await self._work_once(started)
            finally:
                self._busy = False
            if has_worked:
                self.busy_s += time.perf_counter() - started
            else:
                await self._rest(started)

    async def _work_once(self, started: float) -> bool:
        """Begin with as many documents as there may be, and write the first, or settle; False where nothing is due."""
        while self._has_room and not self._resting and started >= self._resume_at and (job := await self._take()):
            self._lane.begin(job, self._add)
        if self._lane:
            await self._end(await self._lane.ended(self._wake if self._has_room else None))
            if len(self._committed) >= self.settings.settle_every and started >= self._settle_at:
                await self._settle(self._wanted)
            return True
        if self._wanted != self._settled and started >= self._settle_at and not self._settling.locked():
            await self._settle(self._wanted)
            return True
        return False

    @property
    def _has_room(self) -> bool:
        return len(self._lane) < self.settings.workers

    async def _take(self, *, least_crashes: int = 0) -> Job | None:
        return await self._keep(self._queue.take_next, (*self._lane.job_ids, *self._committed), least_crashes=least_crashes)

    async def _rest(self, now: float) -> None:
        """Until there is work, or something that failed is due again; ``now``: when the queue was looked at."""
        due_s = await self._background.run(self._queue.due_in_s)
        unsettled, paused = self._wanted != self._settled and not self._settling.locked(), now < self._resume_at
        waits = [self._settle_at - now] * unsettled + [self._resume_at - now] * paused + ([] if due_s is None or paused else [due_s])
        if not self._settling.locked() and not self._wake.is_set():
            self._quiet = not waits
            waiting = "waiting to settle again" if unsettled else "waiting for the model" if waits else ""
            await self.news.tell(Step(waiting))
        try:
            async with asyncio.timeout(max(0.0, min(waits)) if waits else None):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _renew_leases(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            if held := (*self._lane.job_ids, *self._committed):
                error = await failure_of(self._background.run(self._queue.renew, held))
                if error is not None:
                    log.warning("the leases were not renewed: %s", type(error).__name__)

    async def _keep(self, work: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """What ``work`` returns, in the background; while the disk is full it is tried again and again."""
        return await with_space(lambda: self._background.run(work, *arguments, **named), self.news.tell)

    # ------------------------------------------------------------ one document

    async def _end(self, ended: UnderWay | None) -> None:
        """Note what became of a document."""
        if ended is None:
            return
        job, task = ended.job, ended.task
        self.news.jobs.pop(job.job_id, None)
        error = None if task.cancelled() else task.exception()
        self._wanted += 1  # whatever became of it: it may have committed chunks
        if task.cancelled() or isinstance(error, NotFound):
            log.info("job %s was stopped", job.job_id)
        elif error is None:
            self._committed.append(job.job_id)
            self._model_trouble = Backoff()
            if not self._cutter.reads.faults:
                self._reader_trouble = Backoff()
        elif isinstance(error, ReaderUnavailable):
            await self._wait_for_reader(job, error)
        elif isinstance(error, ModelTimeout | ModelUnavailable) and job.attempts - job.crashes < MAX_ATTEMPTS and self._retries.take():
            await self._put_back(job, error)
        elif isinstance(error, UnreadableDocument) and error.reason == "reader_failed" and job.attempts - job.crashes < MAX_ATTEMPTS:
            await self._keep(self._queue.requeue, job.job_id, wait_s=READER_WAIT_S, code=error.reason, reason=error.message)
        else:
            await self._park(job, error)
        if isinstance(error, ModelTimeout | ModelUnavailable):
            await self._put_back_others()

    async def _add(self, job: Job, turn: asyncio.Event) -> None:
        await self.news.tell(Step("read", 0, 1, job.job_id))
        cut = await self._cutter.cut(job.document)
        chunks = cut.chunks
        database, identity = self._queue.database, job.document.document_id
        if self._tables is not None:
            await self._keep(self._tables.keep, job.document.document_id, cut.tables)
        if job.is_reread and await self._background.run(is_as_read, database, chunks):
            former = await self._background.run(shortfalls_of_chunks, database, identity)
            await self._keep(self._queue.record, job.job_id, Cost(), (*cut.shortfalls, *former), cut.parsers)
            return
        calls = model_calls(job.document.document_id, len(chunks), share=self.settings.model_share, each=self.settings.calls_a_passage)
        before = tuple((await self._background.run(usage, self._queue.database)).values())
        progress = self.news.jobs[job.job_id] = JobProgress(self.rates, len(chunks), calls, before, time.perf_counter())
        report, waits = self._progress(job.job_id), partial(progress.wait, turn)
        added = await with_space(lambda: self._indexer.add(chunks, report, waits), self.news.tell)
        progress.report(Step(job_id=job.job_id), time.perf_counter())
        self._learn(progress, added.cost)
        await self._keep(self._queue.record, job.job_id, added.cost, (*cut.shortfalls, *added.shortfalls), cut.parsers)

    def _learn(self, job: JobProgress, cost: Cost) -> None:
        """Note what this document took, for the estimates of the next ones; replies that were remembered took nothing."""
        self.rates = self.rates.with_chunks(job.chunks, job.without_model_s())
        if cost.tokens_out:
            self.rates = self.rates.with_calls(cost.calls, job.by_model_s(), tokens_in=cost.tokens_in, tokens_out=cost.tokens_out)

    async def _put_back(self, job: Job, error: ModelTimeout | ModelUnavailable) -> None:
        """Then no document is taken for a while: with the model away, the next one would fare no better."""
        wait_s = max(self._model_trouble.next_s(), getattr(error, "retry_after_s", 0.0))
        log.warning("job %s waits %.1f s for the model: %s", job.job_id, wait_s, error.code)
        self._resume_at = time.perf_counter() + wait_s
        await self._keep(self._queue.requeue, job.job_id, wait_s=wait_s, code=error.code, reason=error.message)
        self._resume_at = time.perf_counter() + wait_s  # not before the job itself is due: it goes first
        await self.news.tell(Step("waiting for the model", job_id=job.job_id))

    async def _wait_for_reader(self, job: Job, error: ReaderUnavailable) -> None:
        """It is read later, however often that takes, and others meanwhile: many formats need no part that may be missing."""
        wait_s = self._reader_trouble.next_s()
        log.warning("job %s waits %.1f s for the reader: %s", job.job_id, wait_s, error.message)
        await self._keep(self._queue.requeue, job.job_id, wait_s=wait_s, code=error.code, reason=error.message, counts=False)

    async def _put_back_others(self) -> None:
        """What was read ahead waits too, and that was no attempt: it is not to be written before a document that comes first."""
        if others := self._lane.job_ids:
            await self._lane.clear()
            for job_id in others:
                self.news.jobs.pop(job_id, None)
            await self._keep(self._queue.release)

    async def _park(self, job: Job, error: BaseException) -> None:
        reason = reason_of(error)
        where = "" if isinstance(error, DgragError) else f" ({redacted(error)})"
        log.warning("parked %s: %s%s", job.document.document_id, reason.code, where)
        if isinstance(error, ModelTimeout | ModelUnavailable):
            self._resume_at = time.perf_counter() + max(self._model_trouble.next_s(), getattr(error, "retry_after_s", 0.0))
        await self._keep(self._queue.park, job.job_id, reason)

    # ------------------------------------------------------------ all of them

    async def _settle(self, wanted: int) -> BaseException | None:
        async with self._settling:
            if self._settled >= wanted:  # by whoever held the lock
                return None
            wanted = self._wanted
            error = await failure_of(self._settle_and_tell())
            if error is None:
                self._settled, self._settle_trouble, self._settle_at = wanted, Backoff(), 0.0
            else:
                wait_s = self._settle_trouble.next_s()
                self._settle_at = time.perf_counter() + wait_s
                log.error("settling failed; again in %.1f s: %s", wait_s, redacted(error))
        self._wake.set()  # who rests looks again
        return error

    async def _settle_and_tell(self) -> None:
        committed = tuple(self._committed)
        deletions, mark = await self._background.run(self._receipts.unfinished), await self._background.run(self._receipts.unerased)
        await self._indexer.settle(self._progress(""))
        if committed:  # not with each document: a crash may cost the newest estimates, and a commit is an fsync
            await self._background.run(self._queue.database.set_meta, RATES, self.rates.to_json())
        await self._background.run(self._queue.finish, committed)
        self._committed = [job_id for job_id in self._committed if job_id not in committed]
        erased = await self._background.run(self._receipts.erase, mark)
        if deletions:
            await self._background.run(self._receipts.settled, deletions, erased=erased)
        await self._on_settled(withdrawn=bool(deletions))
        if deletions and not erased:
            raise StoreError("what was deleted could not be erased from the store's files yet", next_step="it is tried again by itself")

    async def _refine_while_quiet(self) -> None:
        trouble = Backoff()
        while True:
            await self.news.until(lambda: self._quiet and self._indexer.stale > 0 and not self._resting)
            before = self._indexer.stale
            self._refining = True
            error = await failure_of(self._refine())
            self._refining = False
            if error is None and self._indexer.stale < before:
                trouble = Backoff()
                continue
            wait_s = trouble.next_s()
            log.warning("%d texts wait for the model; again in %.1f s (%s)", self._indexer.stale, wait_s, type(error).__name__)
            await asyncio.sleep(wait_s)

    async def _refine(self) -> None:
        await self._indexer.refine(self._progress(""))
        await self._on_settled(withdrawn=False)
        await self.news.tell(Step())

    def _progress(self, job_id: str) -> Progress:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def report(step: str, done: int, total: int) -> None:
            if self._stopping or (task is not None and task.cancelling()):  # a thread learns of it only here
                raise StoppingError
            now = Step(step, done, total, job_id)
            loop.call_soon_threadsafe(lambda: asyncio.ensure_future(self.news.tell(now)))

        return report
