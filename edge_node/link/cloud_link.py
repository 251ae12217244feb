"""Holds the line: enrols, keeps the cloud's summaries up to date, and serves evidence requests that come on the held poll."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from edge_node.link.cloud_client import CloudClient
from edge_node.store.graph import GraphStore
from shared.errors import CloudError, CloudRefused, DgragError
from shared.wire import Enrolled, EvidenceReply, EvidenceRequest

log = logging.getLogger("dgrag.edge.link")
POLL_WAIT_S = 25.0
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
        self._replies: set[asyncio.Task[None]] = set()
        self.state = LinkState()

    @property
    def in_sync(self) -> bool:
        """The cloud has acknowledged our newest summaries."""
        return self.state.connected and self.state.version == self._graph.version()

    async def run(self) -> None:
        """Enrol, sync, poll, for ever."""
        failures = 0
        while True:
            try:
                if not self.state.connected:
                    await self._enrol()
                await self.sync()
                await self._poll_once()
                failures = 0
            except CloudError as error:
                self.state.connected, self.state.error = False, error.message
                if failures == 0:
                    log.warning("the cloud is away: %s", error.message)
                await asyncio.sleep(BACKOFF_S[min(failures, len(BACKOFF_S) - 1)])
                failures += 1

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
                self._learn(known)
                self.state.sent_bytes += sent
                log.info("summaries up to version %d sent (%d bytes)", known.version, sent)

    async def sync_if_connected(self) -> None:
        """Send news at once instead of with the next poll; a cloud that is away gets them when it is back."""
        try:
            await self.sync()
        except CloudError as error:
            self.state.connected, self.state.error = False, error.message

    async def _enrol(self) -> None:
        known = await self._client.enrol()
        self.state.connected, self.state.error = True, ""
        self._learn(known)
        log.info("enrolled at the cloud, which knows version %d", known.version)

    def _learn(self, known: Enrolled) -> None:
        if known.epoch == self._graph.epoch() and known.version > self._graph.version():
            log.warning(
                "the cloud knows version %d of this store, which is at %d: restored from a backup?", known.version, self._graph.version()
            )
            self._graph.renew_epoch()
        self.state.epoch, self.state.version = known.epoch, known.version if known.epoch == self._graph.epoch() else -1

    async def _poll_once(self) -> None:
        polled = await self._client.poll(wait_s=POLL_WAIT_S)
        for request in polled.requests:
            task = asyncio.create_task(self._answer(request))
            self._replies.add(task)
            task.add_done_callback(self._replies.discard)

    async def _answer(self, request: EvidenceRequest) -> None:
        try:
            async with asyncio.timeout(request.deadline_ms / 1000):
                reply = await self._serve(request)
        except TimeoutError:
            reply = EvidenceReply(refused="not found in time")
        except DgragError as error:
            reply = EvidenceReply(refused=error.code)
        try:
            await self._client.reply(request.request_id, reply)
        except CloudError as error:
            log.warning("a reply did not reach the cloud: %s", error.message)
