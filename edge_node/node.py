"""An edge: documents in, answers out – the two halves of DGRAG's Figure 1 – and its background work."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np

from edge_node.answering.answerer import Answerer, Ask, SearchResult
from edge_node.answering.chat_titles import written_title
from edge_node.answering.fast_path import FastPath
from edge_node.answering.feedback import FeedbackDesk
from edge_node.answering.follow_up import standalone, stands_alone
from edge_node.answering.for_others import EvidenceForOthers
from edge_node.answering.overview import GlobalAnswerer, GlobalAsk
from edge_node.calibration.service import Calibration
from edge_node.change import EmbedderChange
from edge_node.cloud.link import CloudConnection
from edge_node.cloud.sync import LinkState
from edge_node.database.backup import Backups
from edge_node.documents.changing import bring, misnamed, relabel, rename
from edge_node.documents.chunking import Cutter
from edge_node.documents.estimate import Estimate, Estimator
from edge_node.documents.filters import NOTHING_MATCHES
from edge_node.documents.jobs import JobQueue
from edge_node.documents.originals import (
    OriginalFile,
    Reread,
    Rereading,
    Retention,
    drop_originals,
    original_of,
    outdated_count,
    queue_rereading,
    shortfall_counts,
)
from edge_node.documents.progress import Backoff
from edge_node.documents.read_by import language_counts
from edge_node.documents.readers.pool import Reads
from edge_node.documents.readers.tessdata import recognition_of
from edge_node.documents.receipts import Receipt, ReceiptStore
from edge_node.documents.store import Accepted, DocumentStore, Removed, require_space
from edge_node.documents.worker import Background, Worker, failure_of
from edge_node.egress.ledger import Ledger
from edge_node.egress.policy_editor import PolicyEditor
from edge_node.egress.sharing import Sharing
from edge_node.folders.inside import Inside
from edge_node.folders.keeper import FolderKeeper
from edge_node.graph.store import GraphStore
from edge_node.records import DocumentText, Offered, Retrieval, silent
from edge_node.renewal import Models, Renewal, Searching
from edge_node.settings import EdgeSettings
from edge_node.strategies.index import Index
from shared.admission import SEARCH_GUESS_S, Admission
from shared.errors import (
    Conflict,
    DgragError,
    ModelTimeout,
    NotFound,
    ReaderUnavailable,
    StoreDamaged,
    TooLarge,
    UnreadableDocument,
)
from shared.limits import Breaker, Deadline
from shared.parts import parts_of
from shared.ports import FloatArray
from shared.records import Answer, DocumentId, Route
from shared.reduce import OnText, ignore_text
from shared.telemetry.correlation import Recorder
from shared.telemetry.logs import redacted
from shared.telemetry.metrics import Meter
from shared.telemetry.trace import Trace
from shared.text.document_names import document_name

T = TypeVar("T")
log = logging.getLogger("dgrag.edge")
ORIGINALS_EVERY_S = 60.0  # between two looks whether originals are kept for longer than they may
POLICY_EVERY_S = 1.0  # between two looks at the policy file where nobody asks


def why(error: BaseException) -> str:
    """Why a node's background work ended, in one line without any document's content.

    >>> from shared.errors import InputError
    >>> why(BaseExceptionGroup("", [InputError("the store is damaged", next_step="restore a backup")]))
    'the store is damaged – restore a backup'
    >>> why(ValueError("…"))
    'background work ended: ValueError'
    """
    if isinstance(error, BaseExceptionGroup):
        return why(error.exceptions[0])
    if isinstance(error, DgragError):
        return " – ".join(filter(None, (error.message, error.next_step)))
    return f"background work ended: {type(error).__name__}"


@dataclass(frozen=True, slots=True)
class Admissions:
    """Who may have work done now, and who waits, for each kind of work: the long ones never hold the turns of the short ones."""

    questions: Admission  # the model answers them
    overviews: Admission  # questions about everything, which take minutes
    searches: Admission  # of this site's passages
    searches_elsewhere: Admission  # of all sites' passages; most of such a search waits for other sites
    embeddings: Admission  # texts of programs, some at a time
    pages: Admission  # pictures of documents' pages

    @classmethod
    def by(cls, settings: EdgeSettings) -> Admissions:
        """As many as the settings say."""

        def of(at_once: int) -> Admission:
            return Admission(at_once=at_once, waiting=settings.questions_waiting)

        def of_searches(at_once: int) -> Admission:
            return Admission(at_once=at_once, waiting=settings.searches_waiting, first_guess_s=SEARCH_GUESS_S)

        return cls(
            questions=of(settings.questions_at_once),
            overviews=of(settings.global_questions_at_once),
            searches=of_searches(settings.searches_at_once),
            searches_elsewhere=of_searches(settings.searches_elsewhere_at_once),
            embeddings=of(1),
            pages=of_searches(1),
        )

    def by_kind(self) -> dict[str, Admission]:
        """All of them, as metrics name them."""
        searches = {"search": self.searches, "search_elsewhere": self.searches_elsewhere}
        return {"question": self.questions, "global": self.overviews, "embedding": self.embeddings, "page": self.pages, **searches}

    def of(self, ask: Ask | GlobalAsk) -> Admission:
        """The turns for such a question."""
        return self.overviews if isinstance(ask, GlobalAsk) else self.questions


@dataclass(slots=True)
class EdgeNode:
    """What the routes call. Built by ``edge_node.build``."""

    settings: EdgeSettings
    documents: DocumentStore
    queue: JobQueue
    receipts: ReceiptStore
    graph: GraphStore
    strategy: Index
    cutter: Cutter
    worker: Worker
    answerer: Answerer
    for_others: EvidenceForOthers
    fast_path: FastPath
    feedback: FeedbackDesk
    overview: GlobalAnswerer
    link: CloudConnection | None
    background: Background
    ledger: Ledger
    sharing: Sharing
    policies: PolicyEditor
    backups: Backups
    breaker: Breaker  # of the cloud
    models: Models
    folders: FolderKeeper  # that this edge keeps itself equal to
    recorder: Recorder | None = None  # of spans
    renewal: Renewal | None = None  # of the embedding model
    failed: str = "starting"  # why the node is not ready, and indexes nothing; empty: ready
    admissions: Admissions = field(init=False)
    calibration: Calibration = field(init=False)
    meter: Meter = field(init=False)  # what is asked of this edge, for its page of metrics
    _opened: bool = False  # the caches are built
    _asked: str = ""  # what of the sharing policy the last settle was asked for
    _versions: frozenset[str] = frozenset()  # of the parsers that read now; empty: not known yet
    _media_types: dict[str, str] = field(default_factory=dict)  # by suffix; empty: not known yet
    _told: str = ""  # what of it the summaries obeyed at the last look; empty: not all of it
    _estimator: Estimator = field(init=False)
    _titling: asyncio.Lock = field(default_factory=asyncio.Lock)
    _moving: bool = False  # the index that answers may not write: another embedding model takes over
    _next: Searching | None = None  # with that model

    def __post_init__(self) -> None:
        self.meter = Meter(self.settings.id)
        chosen = self.settings
        self._estimator = Estimator(self.cutter, self._check, self._known, share=chosen.model_share, each=chosen.calls_a_passage)
        self.admissions = Admissions.by(chosen)

    async def run(self) -> None:
        """Open the caches, then index documents and hold the line to the cloud until cancelled."""
        try:
            await self._open()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._check_readers(), name="readers")
                tasks.create_task(self._keep_originals(), name="originals")
                tasks.create_task(self._index(), name="worker")
                tasks.create_task(self._obey(), name="policy")
                tasks.create_task(self.calibration.run(), name="calibration")
                tasks.create_task(self.folders.run(Inside(self)), name="folders")
                tasks.create_task(self.models.watch(), name="model server")
                if self.link is not None:
                    tasks.create_task(self.link.run(), name="link")
        except BaseException as error:
            self.failed = f"nothing is indexed: {why(error)}"
            raise

    async def _check_readers(self) -> None:
        await self.reads.check()
        trouble = Backoff()
        while error := await failure_of(self._note_versions()):
            wait_s = trouble.next_s()
            reason = redacted(error)
            log.warning("which parsers read now is not known; again in %.1f s: %s", wait_s, reason)
            await asyncio.sleep(wait_s)

    async def _note_versions(self) -> None:
        self._versions = await self.reads.versions()

    async def _keep_originals(self) -> None:
        """Drop the files that the settings let stay no longer, and have their bytes overwritten."""
        retention = Retention(self.settings.originals_days, self.settings.originals_bytes)
        while retention.is_limited:
            if error := await failure_of(self._drop_originals(retention)):
                log.warning("originals that are to go are still there; looked at again: %s", redacted(error))
            await asyncio.sleep(ORIGINALS_EVERY_S)

    async def _drop_originals(self, retention: Retention) -> None:
        now = self.documents.clock.now()
        dropped = await self.background.run(drop_originals, self.documents.database, retention, now=now)
        if dropped:
            log.info("the files of %d documents are kept no longer", dropped)
            await self._settle()

    @property
    def reads(self) -> Reads:
        """What turns documents into text."""
        return self.cutter.reads

    async def _obey(self) -> None:
        """Have the summaries made anew soon after the sharing policy or a document's labels have changed."""
        told = ""  # the last trouble that the log has heard of
        while True:
            error = await failure_of(self._obey_once())
            trouble = redacted(error) if error else ""
            if trouble and trouble != told:
                log.warning("whether the summaries obey the sharing policy cannot be seen; looked at again: %s", trouble)
            told = trouble
            await asyncio.sleep(POLICY_EVERY_S)

    async def _obey_once(self) -> None:
        wanted, is_told = await asyncio.to_thread(self.sharing.wanted), await asyncio.to_thread(self.sharing.is_told)
        if not is_told and (wanted != self._asked or self.worker.idle):
            self._asked = wanted  # a settle that fails is repeated by the worker, at its own pace
            await self._settle()
            is_told = await asyncio.to_thread(self.sharing.is_told)
        if is_told and wanted != self._told:
            self.tell_cloud()  # at once: it may be less than before, also where a settle of the queue met the change first
        elif is_told and self.link is not None and not self.link.in_sync:
            self.link.wake(more_to_come=True)  # what was held back while no policy could be read goes now
        self._told = wanted if is_told else ""

    async def _open(self) -> None:
        """Build the caches. What may pass, as a full disk or a model that is away, is waited out; damage is not."""
        trouble = Backoff()
        while (error := await failure_of(self.strategy.open())) is not None:
            if isinstance(error, StoreDamaged):
                raise error
            wait_s = trouble.next_s()
            self.failed = f"nothing is indexed yet, and the start is tried again: {why(error)}"
            log.error("the caches could not be built; again in %.1f s: %s", wait_s, redacted(error))
            await asyncio.sleep(wait_s)
        self._opened, self.failed = True, ""

    async def _name_as_seen(self) -> None:
        """Give documents of earlier releases their names as they are made now, and index them anew under them."""
        for identity, name in await asyncio.to_thread(misnamed, self.documents.database):
            change = self.rename(identity, name) if name else self.remove(identity)
            try:
                await change
            except DgragError as error:
                log.warning("document %s keeps a name that looks like another's until the next start: %s", identity, redacted(error))
            else:
                log.info("document %s %s", identity, "has its name as it is seen" if name else "gave way to a later one of its name")

    async def _index(self) -> None:
        """Index until cancelled. Where another embedding model is to take over, prepare that meanwhile, and go on with it."""
        if error := await failure_of(self._name_as_seen()):
            log.error("names of an earlier release stay as they are until the next start: %s", redacted(error))
        if (renewal := self.renewal) is not None:
            if (change := renewal.change) is not None:
                await self._prepare(change)
                await self._persist(lambda: self._move(change, renewal.searching), change)
            else:
                await self._persist(lambda: self.strategy.whole(silent), None)
            await renewal.embedder.end()
            self.renewal = None
        await self.worker.run()

    async def _prepare(self, change: EmbedderChange) -> None:
        """Let the present index work while the vectors are made; where its own model is away, it only answers."""
        self._moving = change.view.words_only
        if self._moving:
            await self.strategy.retire()
            return await self._persist(change.prepare, change)
        work = asyncio.create_task(self.worker.run(), name="documents")
        try:
            await self._persist(change.prepare, change)
            self._moving = True  # no settle begins any more
            await self.worker.rest()
        finally:
            work.cancel()
            await asyncio.wait([work])

    async def _move(self, change: EmbedderChange, searching: Callable[[], Searching]) -> None:
        """Make the store that of the new model, and an index over it; answer with it when it is whole. May be repeated."""
        await self.strategy.retire()
        await change.embed_passages()
        await asyncio.to_thread(change.take_over, self.documents.database)
        new = self._next = searching()
        await new.strategy.open()
        await new.strategy.whole(change.progress)
        self._take(new)
        self._next, self._moving = None, False

    async def _persist(self, work: Callable[[], Coroutine[Any, Any, None]], change: EmbedderChange | None) -> None:
        """Do it, again and again where it fails; the change tells why."""
        trouble = Backoff()
        while (error := await failure_of(work())) is not None:
            wait_s = trouble.next_s()
            log.error("the change of the embedding model waits; again in %.1f s: %s", wait_s, redacted(error))
            if change is not None:
                change.view.error = why(error)
            await asyncio.sleep(wait_s)

    def _take(self, new: Searching) -> None:
        """Answer and index with the new model from now on; questions under way end with the former one."""
        self.strategy, self.worker, self.fast_path = new.strategy, new.worker, new.fast_path
        self.answerer, self.for_others = new.answerer, new.for_others
        self.feedback, self.overview, self.models = new.feedback, new.overview, new.models
        if self.link is not None:
            self.link.serve_by(new.for_others.evidence, new.overview.points)
        log.info("the embedding model %s has taken over", new.models.embedder.fingerprint)

    async def _settle(self) -> BaseException | None:
        """Settle where that may be; the index of a new embedding model settles by itself when it takes over."""
        return None if self._moving else await self.worker.settle()

    def close(self) -> None:
        """Close the store once nothing uses it any more."""
        self.documents.database.close()
        self.background.close()
        self.cutter.reads.close()
        if self.recorder is not None:
            self.recorder.close()

    async def accept(self, offered: Offered) -> Accepted:
        """Commit a document for indexing; when this returns, it is on disk. Raises TooLarge, InputError, DiskFull."""
        commit = partial(
            self.documents.accept,
            offered.name,
            offered.raw,
            reader=offered.reader,
            title=offered.title,
            labels=offered.labels,
            created_at=offered.created_at,
            source=offered.source,
            adopt=offered.adopt,
        )
        return await self._committed(offered, commit)

    async def bring(self, offered: Offered, *, replace: bool) -> Accepted | Literal["here", "kept"]:
        """Commit a document of another edge, as ``changing.bring``. Raises as ``accept``."""
        now = self.documents.clock.now()
        return await self._committed(offered, partial(bring, self.documents.database, offered, replace=replace, now=now))

    async def _committed(self, offered: Offered, commit: Callable[[], T]) -> T:
        self._check(offered)
        await self.background.run(require_space, self.settings.state_dir, floor=self.settings.min_free_bytes)
        done = await self.background.run(commit)
        if isinstance(done, Accepted):
            self.worker.stop(done.ended_jobs)
            self.worker.wake()
        return done

    async def ask(self, ask: Ask | GlobalAsk, trace: Trace, on_text: OnText = ignore_text, on_asked: OnText = ignore_text) -> Answer:
        """The answer, when its turn has come; one from memory needs none. It can be judged by its id then.

        A question that goes on with what was said ``earlier`` is made one of its own first, and ``on_asked`` gets it. Of one to a question
        about everything ``on_text`` gets the sentences as they are written, where the asker may read all.

        Raises Overloaded, ModelTimeout (the wait counts), Conflict where a document came meanwhile that the asker may not read, and as
        ``Answerer.answer`` and ``GlobalAnswerer.answer``. The meter counts either.
        """
        with self.meter.counting_failures():
            since = self.feedback.arrivals
            deadline = Deadline(self.settings.global_deadline_s if isinstance(ask, GlobalAsk) else self.settings.answer_deadline_s)
            try:
                async with asyncio.timeout(deadline.seconds):
                    alone = await self._alone(ask, trace, deadline, on_asked)
                    answer = await self._answer(alone, trace, deadline, on_text)
            except TimeoutError as error:
                raise ModelTimeout(deadline_s=deadline.seconds) from error
            seconds = deadline.seconds - deadline.left_s()
            if alone.question != ask.question:
                answer = replace(answer, asked=alone.question)
            await self.feedback.given(alone.question, answer, since=since, of_all=ask.filters is None)
        self.meter.answered(answer, seconds)
        return answer

    async def _alone(self, ask: Ask | GlobalAsk, trace: Trace, deadline: Deadline, on_asked: OnText) -> Ask | GlobalAsk:
        """The same, with a question that can be understood without what was said earlier.

        One with a word of an answer, which may be of a document that does not leave, leaves only after a yes.
        """
        if not ask.earlier or stands_alone(ask.question):
            return ask
        async with self.admissions.of(ask).turn(ask.asker):
            told = await standalone(self.models.generator, ask.question, ask.earlier, trace, deadline_s=deadline.left_s())
        on_asked(told.question)
        return replace(ask, question=told.question, escalation=ask.escalation if told.is_typed else ask.escalation or "ask")

    async def _answer(self, ask: Ask | GlobalAsk, trace: Trace, deadline: Deadline, on_text: OnText) -> Answer:
        if ask.labels is None:
            return await self._made(ask, trace, deadline, on_text)
        return await self.read_by(ask.labels, lambda _: self._made(ask, trace, deadline, ignore_text))  # told once it may be

    async def read_by(self, labels: frozenset[str] | None, work: Callable[[frozenset[str]], Awaitable[T]]) -> T:
        """What ``work`` makes without the documents that a reader with these labels may not read; None: it may read all.

        Raises Conflict where such documents have come, or got their labels, meanwhile, and as ``work``.
        """
        before = await asyncio.to_thread(self.sharing.beyond, labels)
        made = await work(before)
        new = (await asyncio.to_thread(self.sharing.beyond, labels)) - before
        is_too_late = await asyncio.to_thread(self.documents.served, new)
        if is_too_late:
            raise Conflict("documents that you may not read have come, or got their labels, meanwhile", next_step="ask again")
        return made

    async def _made(self, ask: Ask | GlobalAsk, trace: Trace, deadline: Deadline, on_text: OnText) -> Answer:
        if ask.filters is not None and await asyncio.to_thread(self.sharing.matches_nothing, ask.labels, ask.filters):
            route: Route = "global" if isinstance(ask, GlobalAsk) else "local"
            return Answer(secrets.token_hex(8), NOTHING_MATCHES, (), route, reason=NOTHING_MATCHES, answered=False, trace=trace.steps())
        turns = self.admissions.of(ask)
        if isinstance(ask, GlobalAsk):
            async with turns.turn(ask.asker):
                return await self.overview.answer(ask, trace, deadline, on_text)
        look = await self.answerer.remembered(ask, trace)
        async with turns.turn(ask.asker) if look.answer is None else contextlib.nullcontext():
            return await self.answerer.answer(ask, trace, look)

    def check_turn(self, ask: Ask | GlobalAsk) -> None:
        """For an answer whose head goes out before its turn comes: raises Overloaded, which is counted, when ``ask`` would."""
        with self.meter.counting_failures():
            self.admissions.of(ask).check(ask.asker)

    async def title(self, topic: str) -> str:
        """A title for a conversation that began so, by the model; "" where it fails, or writes one already: nobody waits for that."""
        if self._titling.locked():
            return ""
        async with self._titling:
            return await written_title(self.models.generator, topic)

    async def search(self, ask: Ask, *, budget_tokens: int | None = None, top_k: int | None = None) -> Retrieval:
        """Passages of this site, as ``Answerer.find_here``, in turn. Raises Overloaded, ModelTimeout (the wait counts)."""
        async with self._in_time(), self.admissions.searches.turn(ask.asker):
            return await self.answerer.find_here(ask, budget_tokens=budget_tokens, top_k=top_k)

    async def search_everywhere(self, ask: Ask, *, budget_tokens: int | None = None, top_k: int | None = None) -> SearchResult:
        """Passages of all sites, as ``Answerer.find``, in turn. Raises as ``search``, and as ``Answerer.find``."""
        async with self._in_time(), self.admissions.searches_elsewhere.turn(ask.asker):
            return await self.answerer.find(ask, Trace(), budget_tokens=budget_tokens, top_k=top_k)

    async def embed(self, texts: Sequence[str], *, asker: str) -> FloatArray:
        """Unit vectors (n, d) of texts, by the model that this edge searches with.

        Some texts at a time, in turn with those of other askers. Raises Overloaded, ModelTimeout, ModelReplyError.
        """
        turns, rows, turn = self.admissions.embeddings, list[FloatArray](), self.admissions.embeddings.turn
        async with self._in_time():
            for part in parts_of(texts):
                async with turn(asker, cost=part.cost):
                    rows.append(await self.models.embedder.embed(part.texts))
                turn = turns.next_turn
        return np.concatenate(rows)

    @contextlib.asynccontextmanager
    async def _in_time(self) -> AsyncIterator[None]:
        """Raises ModelTimeout for what takes longer than an answer may."""
        limit_s = self.settings.answer_deadline_s
        try:
            async with asyncio.timeout(limit_s):
                yield
        except TimeoutError as error:
            raise ModelTimeout(deadline_s=limit_s) from error

    async def estimate(self, offered: Sequence[Offered]) -> Estimate:
        """What indexing these documents would cost. Nothing is stored or spent."""
        return await self._estimator.of(offered, self.worker.rates)

    async def label(self, identity: str, labels: Sequence[str], *, source: str | None = None) -> DocumentId:
        """Give a document other labels, by either of its ids; what may not leave under them is withdrawn. Raises NotFound, Conflict."""
        found = DocumentId((await asyncio.to_thread(self.document, identity))["document_id"])
        await self.background.run(relabel, self.documents.database, found, labels, source=source)
        return found

    async def rename(self, identity: DocumentId, name: str, *, source: str | None = None) -> Accepted:
        """Let a document have another name, and index it anew. Raises NotFound, Conflict where it is damaged, and as ``accept``."""
        if self._moving:  # nothing is indexed then: the document would be missing until it is done
            raise Conflict("another embedding model takes over", next_step="try again when it has")
        self._check(Offered(identity, name, b"", name))
        await self.background.run(require_space, self.settings.state_dir, floor=self.settings.min_free_bytes)
        now = self.documents.clock.now()
        accepted, removed = await self.background.run(rename, self.documents.database, identity, name, now=now, source=source)
        self.worker.stop(accepted.ended_jobs)
        self.worker.wake()
        if removed is not None:
            await self._removed(removed)
        return accepted

    async def remove(self, identity: DocumentId, *, source: str | None = None) -> dict[str, Any]:
        """Delete a document with its share of graph, summaries and model replies; returns the receipt. Raises NotFound, Conflict.

        One that was deleted already, so a request whose answer was lost may be repeated, has the receipt of then in its present state.
        A settle or an erasure that fails is made up for later: then the receipt has a ``reason``, and its present state is asked for
        with ``receipt``.
        """
        try:
            removed = await self.background.run(self.documents.remove, identity, source=source)
        except NotFound:
            if earlier := await asyncio.to_thread(self.receipts_of, identity):
                return earlier[0] if earlier[0]["erased"] else earlier[0] | {"reason": "the deletion is still being finished"}
            raise
        return await self._removed(removed)

    async def _removed(self, removed: Removed) -> dict[str, Any]:
        self.worker.stop(removed.ended_jobs)
        for index in (self.strategy, *([self._next.strategy] if self._next else ())):
            await index.forget(removed.chunks)
        error = await self._settle() if self._opened else None  # on empty caches it would undo the graph; the first one will do
        receipt = await asyncio.to_thread(self.receipt, removed.receipt_id)
        moving = "another embedding model takes over: the deletion is finished when it has" if self._moving else ""
        reason = (self.failed or moving) if error is None else why(error)
        return receipt | {"reason": reason} if reason else receipt

    def document(self, identity: str) -> dict[str, Any]:
        """One document's view, by its id or by the one that other sites know. Raises NotFound."""
        try:
            return self.documents.get(identity)
        except NotFound:
            if (opened := self.sharing.outside_ids.opened(identity)) is None:
                raise
            return self.documents.get(opened)

    def document_text(self, identity: str, *, start: int, end: int) -> DocumentText:
        """Characters [start, end) of a document's text, by either of its ids. Raises NotFound, and Conflict where there is no text."""
        view = self.document(identity)
        if not view["served"]:
            why = f"parked: {view['reason']}" if view["status"] == "parked" else f"{view['status']}: it is not indexed yet"
            step = view["next_step"] or "ask again when its job has ended"
            raise Conflict(f"there is no text of {view['name'][:80]!r}, which is {why}", next_step=step)
        text, length = self.documents.text(DocumentId(view["document_id"]), start=start, end=end)
        return DocumentText(view["document_id"], view["name"], view["title"], start, start + len(text), length, text)

    async def original(self, identity: str) -> OriginalFile:
        """The file of a document as it came, by either of its ids. Raises as ``original_of``."""
        if not self._media_types:
            with contextlib.suppress(ReaderUnavailable, UnreadableDocument):
                self._media_types = await self.reads.media_types()
        view = await asyncio.to_thread(self.document, identity)
        document_id = DocumentId(view["document_id"])
        database = self.documents.database
        return await asyncio.to_thread(original_of, database, document_id, self._media_types)

    async def page_image(self, file: OriginalFile, page: int, *, mark: str, width: int, asker: str) -> bytes:
        """A page of a document as PNG, in turn. Raises NotFound, UnreadableDocument, ReaderUnavailable, Overloaded."""
        async with self._in_time(), self.admissions.pages.turn(asker):
            try:
                return await self.reads.page_image(file.reader, file.raw, page, mark=mark, width=width)
            except UnreadableDocument as error:
                if error.reason == "no_page":
                    raise NotFound("page", str(page), next_step=error.next_step) from error
                raise error.renamed(file.name) from error

    async def reread(self, chosen: Rereading) -> Reread:
        """Queue documents to be read again from their files. Raises as ``queue_rereading``."""
        versions, now = await self.reads.versions(), self.documents.clock.now()
        queued = await self.background.run(queue_rereading, self.documents.database, chosen, versions, now=now)
        self.worker.wake()
        return queued

    def receipt(self, receipt_id: str) -> dict[str, Any]:
        """What was deleted, and whether every trace of it is gone, here and in the cloud. Raises NotFound."""
        return self._receipt_view(self.receipts.get(receipt_id))

    def receipts_of(self, document_id: str) -> list[dict[str, Any]]:
        """The receipts of one document, newest first."""
        return [self._receipt_view(receipt) for receipt in self.receipts.of_document(document_id)]

    def _receipt_view(self, receipt: Receipt) -> dict[str, Any]:
        confirmed = self.receipts.is_confirmed(receipt)
        cloud = "none" if self.link is None and confirmed is None else "confirmed" if confirmed else "pending"
        return {name: value for name, value in asdict(receipt).items() if name not in {"version", "memories"}} | {"cloud": cloud}

    def tell_cloud(self) -> None:
        """What the cloud may know has changed: let it learn that soon."""
        if self.link is not None:
            self.link.wake()

    async def cancel(self, job_id: str) -> None:
        """Stop a job and park its document. Raises NotFound, and Conflict where it has ended."""
        await self.background.run(self.queue.cancel, job_id)
        self.worker.stop((job_id,))

    async def retry(self, job_id: str) -> str:
        """Queue a job's document again; returns the new job. Raises NotFound, and Conflict where nothing is missing."""
        new = await self.background.run(self.queue.retry, job_id)
        self.worker.wake()
        return new

    def _check(self, offered: Offered) -> None:
        if len(offered.raw) > self.settings.max_document_bytes:
            raise TooLarge(f"document {offered.name[:80]!r}", limit=self.settings.max_document_bytes)
        document_name(offered.name)

    async def _known(self, identities: Sequence[DocumentId]) -> Collection[DocumentId]:
        return await self.background.run(self.documents.known, identities)

    async def memory_status(self) -> dict[str, Any]:
        """Memories by kind, with which score each kind answers, and how many of the questions since the start they answered."""
        chosen, asked = self.settings, {"looked": self.fast_path.looked, "answered": self.fast_path.answered}
        switches = {"fast": chosen.memory_fast, "learn": chosen.memory_learn, "thresholds": chosen.memory_threshold}
        return await self.strategy.memories.counts() | asked | switches

    def status(self) -> dict[str, Any]:
        """Counts, cost and progress.

        ``settled``: nothing waits but what cannot be read here now, and what the cloud should know it knows (or it is away).
        """
        counts, now, link = self.documents.counts(), self.worker.news.now, self.link
        waiting = self.documents.waiting_for_reader()
        quiet = counts["queued"] == waiting and counts["running"] == 0 and self.worker.idle
        state = link.state if link else LinkState(error="this edge has no cloud")
        change = asdict(self.renewal.change.view) if self.renewal and self.renewal.change else None
        return {
            "edge": self.settings.id,
            "strategy": self.settings.strategy_said,
            "documents": counts,
            **self.documents.totals(),
            **self.strategy.counts(),
            "languages": [asdict(one) for one in language_counts(self.documents.database)],
            "ocr": recognition_of(self.settings.ocr_languages, self.settings.state_dir).view(),
            "readers": {"faults": [fault.message for fault in self.reads.faults], "waiting": waiting},
            "shortfalls": shortfall_counts(self.documents.database),
            "outdated": outdated_count(self.documents.database, self._versions),
            "stale": self.strategy.stale,
            "busy_s": round(self.worker.busy_s, 1),
            "progress": {"step": now.step, "done": now.done, "total": now.total},
            "failed": self.failed,
            "embedding": {"model": self.models.embedder.fingerprint, "off": list(self.models.untuned), "change": change},
            "calibration": self.calibration.view(),
            "model": self.models.view(),
            "policy": self.sharing.view(),
            "folders": [state.as_body() for state in self.folders.states()],
            "cloud": state.view(self.settings.cloud_url),
            "settled": not self.failed and quiet and (link is None or not link.state.connected or link.in_sync),
        }
