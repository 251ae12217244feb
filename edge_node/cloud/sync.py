"""Keeps the cloud's copy of the summaries, and its sight of the ledger's end, up to date (goals R4, P1)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Protocol

from edge_node.cloud.client import CloudClient
from edge_node.database.schema import Database
from edge_node.documents.receipts import ACKNOWLEDGED, MEMORIES_ACKNOWLEDGED, MEMORIES_HELD, MEMORIES_VERSION
from edge_node.egress.ledger import Ledger
from edge_node.egress.memory_outbox import SharedMemories
from edge_node.graph.store import GraphStore
from shared.errors import CloudRefused, CloudUnavailable, Withheld
from shared.identity import is_signed
from shared.wire import Countersigned, Enrolled, head_message

log = logging.getLogger("dgrag.edge.link")

NOT_TAKEN = frozenset({404, 409, 413, 422})  # what says something of the memories, and not of the edge or its line


class Release(Protocol):
    """What the sharing policy says of stored summaries, or memories: ``egress.sharing.Sharing`` and ``MemorySharing`` are it."""

    def is_told(self) -> bool:
        """Whether all of them were made under the policy in force; otherwise none is sent."""

    def rule(self) -> str:
        """What lets them go, for the ledger."""


@dataclass(slots=True)
class LinkState:
    """What the edge knows of its line."""

    connected: bool = False
    epoch: str = ""
    version: int = -1  # newest version of our summaries that the cloud has acknowledged; -1: unknown
    memory_epoch: str = ""  # of our memories that the cloud holds; "": it holds none
    memory_version: int = -1  # as version, of those
    sent_bytes: int = 0
    error: str = "not connected yet"


class SummaryReplicator:
    """At least once, in order, from one task at a time; the cloud applies each version once."""

    def __init__(
        self, client: CloudClient, graph: GraphStore, ledger: Ledger, release: Release, state: LinkState, cloud_key: Callable[[], str]
    ) -> None:
        self._client = client
        self._graph = graph
        self._ledger = ledger
        self._release = release
        self._state = state
        self._cloud_key = cloud_key  # pinned when the edge joined; base64
        self._one = asyncio.Lock()
        self._restored = False  # in this run; once is all that an honest cloud can show us

    @property
    def done(self) -> bool:
        """The cloud has acknowledged our newest summaries."""
        return self._state.version == self._graph.version()

    async def send(self) -> None:
        """Send what the cloud does not know yet. Raises CloudError."""
        async with self._one:
            while self._state.connected and not self.done:
                rule = await asyncio.to_thread(self._release.rule)
                delta = await asyncio.to_thread(self._graph.delta, epoch=self._state.epoch, version=max(self._state.version, 0))
                if not await asyncio.to_thread(self._release.is_told):  # asked after the read: what was read before obeyed no later policy
                    return
                if rule != await asyncio.to_thread(self._release.rule):  # which has meanwhile changed, and everything obeys the new one
                    continue
                try:
                    known, sent = await self._client.push(delta, rule=rule, holds=partial(self._holds, rule))
                except Withheld:
                    continue
                except CloudRefused as error:
                    if error.reason != "resync" or delta.base_version == 0:
                        raise
                    self._state.epoch = ""  # the cloud knows other summaries of ours than we think: send all of them
                    continue
                if (known.epoch, known.version) != (delta.epoch, delta.version):
                    raise CloudUnavailable(f"the cloud was sent version {delta.version} of the summaries, and knows {known.version}")
                await asyncio.to_thread(self._note, known)
                self._state.sent_bytes += sent
                await asyncio.to_thread(self._graph.drop_tombstones, version=self._state.version)
                log.info("summaries up to version %d sent (%d bytes)", known.version, sent)

    def _holds(self, rule: str) -> bool:
        return self._release.is_told() and self._release.rule() == rule

    def learn(self, known: Enrolled) -> None:
        """Note what the cloud says it has. One that knows more than we do has seen a later store of ours: this one is a restored one.

        Raises CloudUnavailable where it says so again: this run's history is new to it.
        """
        for claimed, version in self._ahead(known):
            if self._restored:
                raise CloudUnavailable(f"the cloud claims to know version {claimed}, and this store is at {version}")
            log.warning("the cloud knows version %d of this store, which is at %d: restored from a backup?", claimed, version)
            self._ledger.restored()
            self._restored = True
        self._note(known)

    def _ahead(self, known: Enrolled) -> Iterator[tuple[int, int]]:
        """What the cloud knows that this store does not: its version of the summaries, or of the memories, and ours. At most one."""
        epoch, memories = self._graph.epoch(), int(self._graph.database.meta(MEMORIES_VERSION, "0"))
        if known.epoch == epoch and known.version > self._graph.version():
            yield known.version, self._graph.version()
        elif known.memory_epoch == epoch and known.memory_version > memories:
            yield known.memory_version, memories

    def _note(self, known: Enrolled) -> None:
        version = known.version if known.epoch == self._graph.epoch() else -1
        if self._graph.database.meta(ACKNOWLEDGED) != str(version):
            self._graph.database.set_meta(ACKNOWLEDGED, str(version))
        self._state.epoch, self._state.version = known.epoch, version

    async def compare_heads(self) -> None:
        """A record of this history that the cloud has seen, and that is not here: the store is a restored one. Raises CloudError."""
        seen = await self._client.newest_head()
        if seen is not None and not self._restored and not await asyncio.to_thread(self._ledger.holds, seen.head):
            log.warning("the cloud has seen record %d of this edge's ledger, which is not here: restored from a backup?", seen.head.seq)
            await asyncio.to_thread(self._ledger.restored)
            self._restored = True

    async def show_head(self) -> None:
        """Have the end of the ledger countersigned, if there is anything new. Raises CloudError."""
        async with self._one:
            if (head := await asyncio.to_thread(self._ledger.unseen)) is None:
                return
            try:
                seen = await self._client.head(head)
            except CloudRefused as error:
                often = error.status == HTTPStatus.TOO_MANY_REQUESTS  # a later head says more
                log.log(
                    logging.DEBUG if often else logging.ERROR,
                    "the cloud does not countersign record %d of the ledger: %s",
                    head.seq,
                    error.message,
                )
                return
            if seen.head != head:
                raise CloudUnavailable("the cloud has countersigned another record than the one it was shown")
            self._check(seen)
            await asyncio.to_thread(self._ledger.countersigned, seen)

    def _check(self, seen: Countersigned) -> None:
        message = head_message(self._client.edge, seen.head, seen.at)
        if not is_signed(message, signature=seen.signature, public_key=self._cloud_key()):
            raise CloudUnavailable("the cloud's signature under the ledger's head is not that of the cloud that this edge joined")


class MemoryReleaseSource(Release, Protocol):
    """A release that makes what is sent."""

    @property
    def told(self) -> SharedMemories:
        """What the cloud is to know."""

    def renew(self) -> None:
        """Bring that up to date with memories, policy and labels, and note the names that are drawn for it: before a byte leaves."""


class MemoryReplicator:
    """At least once, in order, from one task at a time; the cloud applies each version once.

    A cloud that takes no memories, or not so many, is not asked again until there are others: it still gets all the rest.
    """

    def __init__(self, client: CloudClient, memories: MemoryReleaseSource, database: Database, state: LinkState) -> None:
        self._client = client
        self._memories = memories
        self._told = memories.told
        self._database = database
        self._state = state
        self._refused = -1  # the version that this cloud did not take
        self._news, self._renewed = 1, 0  # what may have changed, and how much of it has been looked at
        self._one = asyncio.Lock()

    @property
    def done(self) -> bool:
        """The cloud has acknowledged all that it may know, or does not want it."""
        up_to_date = self._told.version() in (self._state.memory_version, self._refused)
        return self._renewed == self._news and up_to_date and self._memories.is_told()

    def stir(self) -> None:
        """There may be other memories, or another policy."""
        self._news += 1

    async def send(self) -> None:
        """Send what the cloud does not know yet. Raises CloudError."""
        async with self._one:
            news = self._news
            await asyncio.to_thread(self._memories.renew)
            self._renewed = news
            while self._state.connected and self._told.version() not in (self._state.memory_version, self._refused):
                if not await self._sent():
                    return

    async def _sent(self) -> bool:
        """Send one delta; False: not now."""
        rule, version = await asyncio.to_thread(self._memories.rule), max(self._state.memory_version, 0)
        delta = await asyncio.to_thread(self._told.delta, epoch=self._state.memory_epoch, version=version)
        if not await asyncio.to_thread(self._memories.is_told):  # asked after the read: what was read before obeyed no later policy
            return False
        try:
            known, sent = await self._client.push_memories(delta, rule=rule, holds=partial(self._holds, rule))
        except Withheld:
            return False  # the policy has changed: who looks at it soon stirs
        except CloudRefused as error:
            if error.status not in NOT_TAKEN:
                raise
            if error.reason == "resync" and delta.base_version:
                self._state.memory_epoch = ""  # the cloud knows other memories of ours than we think: send all of them
                return True
            log.warning("the cloud does not take version %d of the memories: %s", delta.version, error.message)
            self._refused = delta.version
            return False
        if (known.memory_epoch, known.memory_version) != (delta.epoch, delta.version):
            raise CloudUnavailable(f"the cloud was sent version {delta.version} of the memories, and knows {known.memory_version}")
        await asyncio.to_thread(self.learn, known)
        self._state.sent_bytes += sent
        await asyncio.to_thread(self._told.drop_tombstones, version=delta.version)
        log.info("memories up to version %d sent (%d bytes)", delta.version, sent)
        return True

    def _holds(self, rule: str) -> bool:
        return self._memories.is_told() and self._memories.rule() == rule

    def learn(self, known: Enrolled) -> None:
        """Note what the cloud says it has; after ``SummaryReplicator.learn``, which tells a restored store by it."""
        state, newest = self._state, self._told.version()
        is_ours = known.memory_epoch == self._told.epoch()
        holds_none = not known.memory_epoch
        state.memory_epoch = known.memory_epoch
        state.memory_version = known.memory_version if is_ours else 0 if holds_none else -1
        self._refused = -1
        acknowledged = newest if holds_none else state.memory_version  # who holds nothing has forgotten all there was
        for key, version in ((MEMORIES_ACKNOWLEDGED, acknowledged), (MEMORIES_HELD, known.memory_version if is_ours else -1)):
            if self._database.meta(key) != str(version):
                self._database.set_meta(key, str(version))
