"""Holds the line: joins or greets, keeps the cloud up to date, and serves the requests that come on the held poll."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from edge_node.cloud.client import CloudClient
from edge_node.cloud.sync import LedgerReplicator, LinkState, MemoryReplicator, SummaryReplicator
from edge_node.egress.sharing import Served
from shared.errors import CloudError, CloudRefused, DgragError, DiskFailed, DiskFull, Expelled, StoreError, Withheld
from shared.limits import Deadline
from shared.records import BROKEN, BUSY, DENIED, OUT_OF_TIME
from shared.telemetry.correlation import Recorder, working
from shared.telemetry.logs import redacted
from shared.wire import Enrolled, EvidenceReply, EvidenceRequest, Task

log = logging.getLogger("dgrag.edge.link")
POLL_WAIT_S = 25.0
# Seconds without a sync for each second of the last one. While a long queue is read every settle is news, of mostly the same summaries,
# and what the cloud makes of them is made again at the next one.
REST, REST_WHILE_READING = 2.0, 10.0
MOST_REST_S = 30.0
HEAD_EVERY_S = 60.0  # the end of the ledger is shown to the cloud at most so often, when nothing is synced
FAREWELL_S = 1.0  # a stop waits so long for replies to end, and then for the cloud to see the ledger's end
EXPELLED_WAIT_S = 300.0  # between attempts while the cloud's operator shuts this edge out
AT_ONCE = 4  # evidence requests: each may load model and disk
MAX_WAITING = 32  # further ones; what comes on top is refused at once
AT_ONCE_REPORTS = 1  # requests for points of reports, which take minutes: they never keep evidence waiting
MAX_WAITING_REPORTS = 4
MOST_REPLIES = AT_ONCE + MAX_WAITING + AT_ONCE_REPORTS + MAX_WAITING_REPORTS
MIN_REPLY_S = 1.0  # a reply is sent even when the asker's time is over: what the cloud does not hear of, it waits for
BACKOFF_S = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # waits between attempts to reach an absent cloud; the last one repeats
STRANGERS = frozenset(
    {"no_credentials", "unknown_key", "wrong_audience"}
)  # what a cloud says to an edge that it has never seen, or forgotten


Serve = Callable[[EvidenceRequest], Awaitable[Served]]
Now = Callable[[], float]  # seconds of a clock that is never set
Join = Callable[[], Awaitable[None]]  # raises CloudError, in words, where an invitation is needed


@dataclass(slots=True)
class _Desk:
    """Serves one task: so many requests ``at_once``, and ``most`` with those that wait; one requester has half of these places at most."""

    serve: Serve
    at_once: int
    most: int
    taken: Counter[str] = field(default_factory=Counter)  # places, by requester
    slots: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self.slots = asyncio.Semaphore(self.at_once)

    def take(self, requester: str) -> bool:
        """Take a place for a requester; False: the desk is full, or the requester's share of it is."""
        is_free = self.taken.total() < self.most and self.taken[requester] < max(1, self.most // 2)
        self.taken[requester] += is_free
        return is_free

    def leave(self, requester: str) -> None:
        """Give the place back."""
        self.taken[requester] -= 1
        self.taken += Counter()  # forgets whoever has no place


class CloudConnection:
    """Runs until cancelled; a cloud that is away only makes it wait."""

    def __init__(
        self,
        client: CloudClient,
        replicators: Sequence[SummaryReplicator | MemoryReplicator],
        ledger: LedgerReplicator,
        serve: Serve,
        join: Join,
        state: LinkState,
        *,
        points: Serve,
        recorder: Recorder | None = None,
        now: Now = time.monotonic,
    ) -> None:
        """``serve`` gives evidence, ``points`` what this site's reports say to a question about everything."""
        self._recorder = recorder
        self._now = now
        self._client = client
        self._replicators = replicators
        self._ledger = ledger
        self._join = join
        self._news = asyncio.Event()
        self._more_to_come = True  # of all that was news since the last look
        self._failures = 0  # in a row, with no line between them that held for as long as the longest wait
        self._desks: dict[Task, _Desk] = {
            "evidence": _Desk(serve, AT_ONCE, AT_ONCE + MAX_WAITING),
            "reports": _Desk(points, AT_ONCE_REPORTS, AT_ONCE_REPORTS + MAX_WAITING_REPORTS),
        }
        self._replies: set[asyncio.Task[None]] = set()
        self.state = state

    def serve_by(self, serve: Serve, points: Serve) -> None:
        """Let others give evidence and points from now on."""
        self._desks["evidence"].serve, self._desks["reports"].serve = serve, points

    @property
    def in_sync(self) -> bool:
        """The cloud has acknowledged our newest summaries, and memories."""
        return self.state.connected and all(replicator.done for replicator in self._replicators)

    def wake(self, *, more_to_come: bool = False) -> None:
        """There may be new summaries or memories: send them soon; a cloud that is away gets them when it is back.

        ``more_to_come``: documents are still read and nothing was withdrawn, so these summaries may wait for some more.
        """
        for replicator in self._replicators:
            replicator.stir()
        self._more_to_come &= more_to_come
        self._news.set()

    async def run(self) -> None:
        """Connect; sync and poll until the line breaks; again, for ever. A stop shows the cloud the ledger's end, if it is there."""
        try:
            while True:
                try:
                    await self._connect()
                    await self._hold()
                except (CloudError, DiskFull, DiskFailed) as error:
                    wait_s = self._note(error)
                    await asyncio.sleep(wait_s)
        except asyncio.CancelledError:
            await self._drop_replies()
            await self._farewell()
            raise

    async def _connect(self) -> None:
        known = await self._greet()
        await asyncio.to_thread(self._ledger.check, known)
        await self._ledger.compare_heads()
        self.state.reads_titles = known.titles
        for replicator in self._replicators:  # a restored store has another epoch from here on
            await asyncio.to_thread(replicator.learn, known)
        self.state.connected, self.state.error = True, ""  # not before it is known what the cloud knows: this could be in sync by chance
        log.info("connected to the cloud, which knows version %d", known.version)

    async def _drop_replies(self) -> None:
        """End what is under way: what takes minutes would outlive the store, and nothing is sent after the ledger's end was shown."""
        for reply in self._replies:
            reply.cancel()
        if self._replies:
            await asyncio.wait(self._replies, timeout=FAREWELL_S)

    async def _farewell(self) -> None:
        if not self.state.connected:
            return
        try:
            async with asyncio.timeout(FAREWELL_S):
                await self._ledger.send()
        except (CloudError, StoreError, TimeoutError) as error:
            log.warning("the cloud has not seen the end of the ledger: %s", redacted(error))

    async def _greet(self) -> Enrolled:
        try:
            return await self._client.greet()
        except CloudRefused as error:
            if error.reason not in STRANGERS:
                raise
        await self._join()
        return await self._client.greet()

    def _note(self, error: CloudError | DiskFull | DiskFailed) -> float:
        """Remember why there is no line; returns how long to wait before the next attempt."""
        expelled = isinstance(error, CloudRefused) and error.reason == Expelled.code
        wait_s = EXPELLED_WAIT_S if expelled else BACKOFF_S[min(self._failures, len(BACKOFF_S) - 1)]
        self.state.connected = False
        self.state.error = f"{error.message}; trying again every {EXPELLED_WAIT_S / 60:.0f} minutes" if expelled else error.message
        if self._failures == 0 or expelled:
            log.warning("the cloud is away: %s", self.state.error)
        self._failures += 1
        return wait_s

    async def _hold(self) -> None:
        """Sync whenever there is news, poll, and show the ledger's end, all at once, until one of them fails. Raises CloudError."""
        tasks = [asyncio.create_task(work()) for work in (self._tell, self._poll, self._show)]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _tell(self) -> None:
        while True:
            self._news.clear()  # before the look at the versions: news that comes during it is looked at again
            self._more_to_come = True
            began = self._now()
            for replicator in self._replicators:
                await replicator.send()
            ended = self._now()
            await self._ledger.send()
            await self._news.wait()
            await self._rest(ended - began, ended)

    async def _rest(self, took_s: float, ended: float) -> None:
        """Let some time pass after a sync: more while documents are read, less as soon as all are."""
        while (left_s := rest_s(took_s, more_to_come=self._more_to_come) - (self._now() - ended)) > 0:
            self._news.clear()
            try:
                async with asyncio.timeout(left_s):
                    await self._news.wait()
            except TimeoutError:
                return

    async def _show(self) -> None:
        while True:
            await asyncio.sleep(HEAD_EVERY_S)
            await self._ledger.send()

    async def _poll(self) -> None:
        held = Deadline(BACKOFF_S[-1])
        while True:
            await self._poll_once()
            if held.left_s() <= 0:
                self._failures = 0
            while len(self._replies) > MOST_REPLIES:  # a cloud that floods us waits until it has heard that we are busy
                await asyncio.wait(self._replies, return_when=asyncio.FIRST_COMPLETED)

    async def _poll_once(self) -> None:
        polled = await self._client.poll(wait_s=POLL_WAIT_S)
        for reply in self._replies:
            if reply.get_name() in polled.withdrawn:
                reply.cancel()
        for request in polled.requests:
            desk, left = self._desks[request.task], Deadline(request.deadline_ms / 1000)
            busy = not desk.take(request.requester)
            work = self._reply(request, Served(EvidenceReply(refused=BUSY), ""), left) if busy else self._answer(request, desk, left)
            task = asyncio.create_task(work, name=request.request_id)
            self._replies.add(task)
            task.add_done_callback(self._replies.discard)

    async def _answer(self, request: EvidenceRequest, desk: _Desk, left: Deadline) -> None:
        with working(request.traceparent, self._recorder, name=f"serve {request.task}"):
            await self._reply(request, await self._serve(request, desk, left), left)

    async def _serve(self, request: EvidenceRequest, desk: _Desk, left: Deadline) -> Served:
        try:
            async with asyncio.timeout(left.left_s()), desk.slots:
                waited = request.model_copy(update={"deadline_ms": int(left.left_s() * 1000)})
                (outcome,) = await asyncio.gather(desk.serve(waited), return_exceptions=True)
        except TimeoutError:
            outcome = TimeoutError()
        finally:
            desk.leave(request.requester)
        return _served(outcome)

    async def _reply(self, request: EvidenceRequest, served: Served, left: Deadline) -> None:
        try:
            await self._client.reply(
                request.request_id,
                served.reply,
                requester=request.requester,
                purpose=request.purpose or "",
                rule=served.rule,
                holds=served.holds,
                deadline_s=max(MIN_REPLY_S, left.left_s()),
            )
        except Withheld:
            await self._reply(request, Served(EvidenceReply(refused=DENIED), "the sharing policy has changed meanwhile"), left)
        except CloudError as error:
            log.warning("a reply did not reach the cloud: %s", error.message)


def rest_s(took_s: float, *, more_to_come: bool) -> float:
    """Seconds between the end of a sync, which took so many, and the next one.

    >>> rest_s(2.0, more_to_come=False), rest_s(2.0, more_to_come=True), rest_s(600.0, more_to_come=False)
    (4.0, 20.0, 30.0)
    """
    return min((REST_WHILE_READING if more_to_come else REST) * took_s, MOST_REST_S)


def _served(outcome: Served | BaseException) -> Served:
    """The cloud always gets a reply: what it does not hear of, it waits for."""
    match outcome:
        case Served():
            return outcome
        case TimeoutError():
            return Served(EvidenceReply(refused=OUT_OF_TIME), "")
        case DgragError():
            return Served(EvidenceReply(refused=outcome.code), "")
        case _:
            log.error("a request of the cloud failed: %s", redacted(outcome))
            return Served(EvidenceReply(refused=BROKEN), "")
