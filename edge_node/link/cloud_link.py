"""Holds the line: enrols, keeps the cloud's summaries up to date, and serves evidence requests that come on the held poll."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from edge_node.link.cloud_client import CloudClient
from edge_node.store.graph import GraphStore
from edge_node.store.receipts import ACKNOWLEDGED
from shared.errors import CloudError, CloudRefused, DgragError, DiskFailed, DiskFull, Expelled
from shared.redacted import redacted
from shared.wire import Enrolled, EvidenceReply, EvidenceRequest

log = logging.getLogger("dgrag.edge.link")
POLL_WAIT_S = 25.0
EXPELLED_WAIT_S = 300.0  # between attempts while the cloud's operator shuts this edge out
AT_ONCE = 4  # evidence requests: each may load model and disk
MAX_WAITING = 32  # further ones; what comes on top is refused at once
BACKOFF_S = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # waits between attempts to reach an absent cloud; the last one repeats

Serve = Callable[[EvidenceRequest], Awaitable[EvidenceReply]]


@dataclass(slots=True)
class LinkState:
    """What the edge knows of its line."""

    connected: bool = False
    epoch: str = ""
    version: int = -1  # newest version of our summaries that the cloud has acknowledged; -1: unknown
    sent_bytes: int = 0
    error: str = "not connected yet"


class CloudLink:
    """Runs until cancelled; a cloud that is away only makes it wait."""

    def __init__(self, client: CloudClient, graph: GraphStore, serve: Serve) -> None:
        self._client = client
        self._graph = graph
        self._serve = serve
        self._sync_lock = asyncio.Lock()
        self._news = asyncio.Event()
        self._failures = 0  # in a row
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._taken = 0  # evidence requests that run or wait for a slot
        self._replies: set[asyncio.Task[None]] = set()
        self.state = LinkState()

    @property
    def in_sync(self) -> bool:
        """The cloud has acknowledged our newest summaries."""
        return self.state.connected and self.state.version == self._graph.version()

    def wake(self) -> None:
        """There may be new summaries: send them soon; a cloud that is away gets them when it is back."""
        self._news.set()

    async def run(self) -> None:
        """Enrol; sync and poll until the line breaks; again, for ever."""
        while True:
            try:
                await self._enrol()
                await self._hold()
            except (CloudError, DiskFull, DiskFailed) as error:
                wait_s = self._note(error)
                await asyncio.sleep(wait_s)

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
        """Sync whenever there is news, and poll, both at once, until one of them fails. Raises CloudError."""
        tasks = [asyncio.create_task(self._tell()), asyncio.create_task(self._poll())]
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
            await self.sync()
            await self._news.wait()

    async def _poll(self) -> None:
        while True:
            await self._poll_once()
            self._failures = 0

    async def sync(self) -> None:
        """Send what the cloud does not know yet. Raises CloudError."""
        async with self._sync_lock:
            while self.state.connected and self.state.version != self._graph.version():
                delta = await asyncio.to_thread(self._graph.delta, epoch=self.state.epoch, version=max(self.state.version, 0))
                try:
                    known, sent = await self._client.push(delta)
                except CloudRefused as error:
                    if error.reason != "resync" or delta.base_version == 0:
                        raise
                    self.state.epoch = ""  # the cloud knows other summaries of ours than we think: send all of them
                    continue
                await asyncio.to_thread(self._learn, known)
                self.state.sent_bytes += sent
                await asyncio.to_thread(self._graph.drop_tombstones, version=self.state.version)
                log.info("summaries up to version %d sent (%d bytes)", known.version, sent)

    async def _enrol(self) -> None:
        known = await self._client.enrol()
        await asyncio.to_thread(self._learn, known)
        self.state.connected, self.state.error = True, ""  # not before it is known what the cloud knows: this could be in sync by chance
        log.info("enrolled at the cloud, which knows version %d", known.version)

    def _learn(self, known: Enrolled) -> None:
        if known.epoch == self._graph.epoch() and known.version > self._graph.version():
            log.warning(
                "the cloud knows version %d of this store, which is at %d: restored from a backup?", known.version, self._graph.version()
            )
            self._graph.renew_epoch()
        version = known.version if known.epoch == self._graph.epoch() else -1
        if self._graph.database.meta(ACKNOWLEDGED) != str(version):
            self._graph.database.set_meta(ACKNOWLEDGED, str(version))
        self.state.epoch, self.state.version = known.epoch, version

    async def _poll_once(self) -> None:
        polled = await self._client.poll(wait_s=POLL_WAIT_S)
        for request in polled.requests:
            busy = self._taken >= AT_ONCE + MAX_WAITING
            self._taken += not busy
            task = asyncio.create_task(self._reply(request, EvidenceReply(refused="busy")) if busy else self._answer(request))
            self._replies.add(task)
            task.add_done_callback(self._replies.discard)

    async def _answer(self, request: EvidenceRequest) -> None:
        try:
            async with asyncio.timeout(request.deadline_ms / 1000), self._slots:
                (outcome,) = await asyncio.gather(self._serve(request), return_exceptions=True)
        except TimeoutError:
            outcome = TimeoutError()
        finally:
            self._taken -= 1
        await self._reply(request, _reply_of(outcome))

    async def _reply(self, request: EvidenceRequest, reply: EvidenceReply) -> None:
        try:
            await self._client.reply(request.request_id, reply)
        except CloudError as error:
            log.warning("a reply did not reach the cloud: %s", error.message)


def _reply_of(outcome: EvidenceReply | BaseException) -> EvidenceReply:
    """The cloud always gets a reply: what it does not hear of, it waits for."""
    match outcome:
        case EvidenceReply():
            return outcome
        case TimeoutError():
            return EvidenceReply(refused="not found in time")
        case DgragError():
            return EvidenceReply(refused=outcome.code)
        case _:
            log.error("an evidence request failed: %s", redacted(outcome))
            return EvidenceReply(refused="internal")
