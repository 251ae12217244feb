"""Keeps the cloud's replicas of this edge's outboxes, and its sight of the ledger's end, up to date (goals R4, P1)."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from edge_node.cloud.client import CloudClient, Holds
from edge_node.database.outbox import Outbox
from edge_node.documents.receipts import ACKNOWLEDGED, MEMORIES_ACKNOWLEDGED, MEMORIES_HELD, TITLES_TOLD
from edge_node.egress.ledger import Ledger
from edge_node.egress.memory_outbox import SharedMemories
from edge_node.graph.store import GraphStore
from shared.errors import CloudRefused, CloudUnavailable, Withheld
from shared.identity import is_signed
from shared.records import SummaryDelta
from shared.wire import Countersigned, Enrolled, MemoryDelta, head_message

log = logging.getLogger("dgrag.edge.link")

NOT_TAKEN = frozenset({404, 409, 413, 422})  # what says something of the memories, and not of the edge or its line
Delta = TypeVar("Delta", SummaryDelta, MemoryDelta)


class Release(Protocol):
    """What the sharing policy says of an outbox: ``egress.sharing.Sharing`` and ``egress.memory_sharing.MemorySharing`` are it."""

    def is_told(self) -> bool:
        """Whether all of its rows were made under the policy in force; otherwise none is sent."""

    def rule(self) -> str:
        """What lets them go, for the ledger."""


class MemoryRelease(Release, Protocol):
    """A release that fills its outbox itself."""

    @property
    def told(self) -> SharedMemories:
        """The outbox."""

    def renew(self) -> None:
        """Bring it up to date with memories, policy and labels, and note the names that are drawn for it: before a byte leaves."""


@dataclass(slots=True)
class Acknowledged:
    """What the cloud is known to hold of one outbox."""

    epoch: str = ""  # "": nothing, or not known
    version: int = -1  # the newest that it has acknowledged; -1: not known


@dataclass(slots=True)
class LinkState:
    """What the edge knows of its line."""

    connected: bool = False
    summaries: Acknowledged = field(default_factory=Acknowledged)
    memories: Acknowledged = field(default_factory=Acknowledged)
    reads_titles: bool = False  # whether the cloud has said that it reads marks of titles
    sent_bytes: int = 0
    error: str = "not connected yet"

    def view(self, url: str) -> dict[str, Any]:
        """For ``GET /v1/status``; ``url``: the cloud's."""
        told = {"url": url, "connected": self.connected, "synced_version": self.summaries.version}
        return told | {"sent_bytes": self.sent_bytes, "error": self.error}


class Replicator(ABC, Generic[Delta]):
    """Sends one outbox: at least once, in order, from one task at a time; the cloud applies each version once."""

    rows: ClassVar[str]  # what the outbox holds, for people
    optional: ClassVar[frozenset[int]]  # statuses by which a cloud says that it does not take these rows: it still gets all the rest

    def __init__(self, outbox: Outbox[Delta], release: Release, state: LinkState, acknowledged: Acknowledged) -> None:
        self._outbox: Outbox[Delta] = outbox
        self._release = release
        self._state = state
        self._acknowledged = acknowledged
        self._refused = -1  # the version that this cloud did not take
        self._one = asyncio.Lock()

    @property
    def done(self) -> bool:
        """The cloud has acknowledged all that it may know, or does not want it."""
        return self._is_settled()

    def stir(self) -> None:
        """There may be news: look again, where looking costs something."""

    async def send(self) -> None:
        """Send what the cloud does not know yet. Raises CloudError."""
        async with self._one:
            await self._prepare()
            while self._state.connected and not self._is_settled():
                if not await self._sent():
                    return

    async def _prepare(self) -> None:
        """Bring the outbox up to date, where nobody else does."""

    def _is_settled(self) -> bool:
        return self._outbox.version() in (self._acknowledged.version, self._refused)

    async def _sent(self) -> bool:
        """Send one delta; False: not now."""
        rule, known = await asyncio.to_thread(self._release.rule), self._acknowledged
        delta = await asyncio.to_thread(self._outbox.delta, epoch=known.epoch, version=max(known.version, 0))
        if not await asyncio.to_thread(self._release.is_told):  # asked after the read: what was read before obeyed no later policy
            return False
        try:
            said, sent = await self._push(delta, rule, partial(self._holds, rule))
        except Withheld:
            return True  # the policy has meanwhile changed: look again
        except CloudRefused as error:
            if error.reason == "resync" and delta.base_version:
                known.epoch = ""  # the cloud knows other rows of ours than we think: send all of them
                return True
            if error.status not in self.optional:
                raise
            log.warning("the cloud does not take version %d of the %s: %s", delta.version, self.rows, error.message)
            self._refused = delta.version
            return False
        if (held := self._held(said)) != (delta.epoch, delta.version):
            raise CloudUnavailable(f"the cloud was sent version {delta.version} of the {self.rows}, and knows {held[1]}")
        await asyncio.to_thread(self.learn, said)
        self._state.sent_bytes += sent
        await asyncio.to_thread(self._outbox.drop_tombstones, version=delta.version)
        log.info("%s up to version %d sent (%d bytes)", self.rows, delta.version, sent)
        return True

    def _holds(self, rule: str) -> bool:
        return self._release.is_told() and self._release.rule() == rule

    @abstractmethod
    async def _push(self, delta: Delta, rule: str, holds: Holds) -> tuple[Enrolled, int]:
        """Send a delta; returns what the cloud knows now, and the bytes sent."""

    @abstractmethod
    def _held(self, known: Enrolled) -> tuple[str, int]:
        """Epoch and version of these rows, as the cloud says."""

    @abstractmethod
    def learn(self, known: Enrolled) -> None:
        """Note what the cloud says that it holds; after ``LedgerReplicator.check``, which tells a restored store by it."""


class SummaryReplicator(Replicator[SummaryDelta]):
    """Sends the summaries. Whoever changes them, the policy or the labels writes them anew."""

    rows, optional = "summaries", frozenset[int]()

    def __init__(self, client: CloudClient, graph: GraphStore, release: Release, state: LinkState) -> None:
        super().__init__(graph, release, state, state.summaries)
        self._client = client

    async def _push(self, delta: SummaryDelta, rule: str, holds: Holds) -> tuple[Enrolled, int]:
        told = delta if self._state.reads_titles else untitled(delta)
        said, sent = await self._client.push(told, rule=rule, holds=holds)
        if self._state.reads_titles and not delta.base_version:
            await asyncio.to_thread(self._outbox.database.set_meta, TITLES_TOLD, said.cloud_key)
        return said, sent

    def _held(self, known: Enrolled) -> tuple[str, int]:
        return known.epoch, known.version

    def learn(self, known: Enrolled) -> None:
        """As the base says."""
        version = known.version if known.epoch == self._outbox.epoch() else -1
        _keep(self._outbox, {ACKNOWLEDGED: version})
        self._acknowledged.epoch, self._acknowledged.version = known.epoch, version
        if self._state.reads_titles and self._outbox.database.meta(TITLES_TOLD, "") != known.cloud_key:
            self._acknowledged.epoch, self._acknowledged.version = "", -1  # it learnt all without them: all is told again


def untitled(delta: SummaryDelta) -> SummaryDelta:
    """The delta for a cloud that is older than marks of titles."""
    return replace(delta, upserts=tuple(replace(summary, titles=b"") for summary in delta.upserts))


class MemoryReplicator(Replicator[MemoryDelta]):
    """Sends the memories that may leave. A cloud that takes none, or not so many, is not asked again until there are others."""

    rows, optional = "memories", NOT_TAKEN

    def __init__(self, client: CloudClient, memories: MemoryRelease, state: LinkState) -> None:
        super().__init__(memories.told, memories, state, state.memories)
        self._client = client
        self._memories = memories
        self._news, self._renewed = 1, 0  # what may have changed, and how much of it has been looked at

    @property
    def done(self) -> bool:
        """As the base says, and nothing new waits for a look."""
        return self._renewed == self._news and self._is_settled() and self._release.is_told()

    def stir(self) -> None:
        """There may be other memories, or another policy."""
        self._news += 1

    async def _prepare(self) -> None:
        news = self._news
        await asyncio.to_thread(self._memories.renew)
        self._renewed = news

    async def _push(self, delta: MemoryDelta, rule: str, holds: Holds) -> tuple[Enrolled, int]:
        return await self._client.push_memories(delta, rule=rule, holds=holds)

    def _held(self, known: Enrolled) -> tuple[str, int]:
        return known.memory_epoch, known.memory_version

    def learn(self, known: Enrolled) -> None:
        """As the base says. A cloud that holds none need not hear of none, and has forgotten all there was."""
        is_ours, holds_none, newest = known.memory_epoch == self._outbox.epoch(), not known.memory_epoch, self._outbox.version()
        self._acknowledged.epoch = known.memory_epoch
        self._acknowledged.version = known.memory_version if is_ours else 0 if holds_none else -1
        self._refused = -1
        _keep(
            self._outbox,
            {
                MEMORIES_ACKNOWLEDGED: newest if holds_none else self._acknowledged.version,
                MEMORIES_HELD: known.memory_version if is_ours else -1,
            },
        )


def _keep(outbox: Outbox[Delta], versions: dict[str, int]) -> None:
    for key, version in versions.items():
        if outbox.database.meta(key) != str(version):
            outbox.database.set_meta(key, str(version))


class LedgerReplicator:
    """Shows the cloud the end of the ledger, and finds by what the cloud has seen that this store was restored from a backup."""

    def __init__(
        self,
        client: CloudClient,
        ledger: Ledger,
        summaries: Outbox[SummaryDelta],
        memories: Outbox[MemoryDelta],
        cloud_key: Callable[[], str],
    ) -> None:
        self._client = client
        self._ledger = ledger
        self._summaries = summaries
        self._memories = memories
        self._cloud_key = cloud_key  # pinned when the edge joined; base64
        self._one = asyncio.Lock()
        self._restored = False  # in this run; once is all that an honest cloud can show us

    def check(self, known: Enrolled) -> None:
        """A cloud that knows more than we do has seen a later store of ours: this one is a restored one.

        Raises CloudUnavailable where it says so again: this run's history is new to it.
        """
        for claimed, version in self._ahead(known):
            if self._restored:
                raise CloudUnavailable(f"the cloud claims to know version {claimed}, and this store is at {version}")
            log.warning("the cloud knows version %d of this store, which is at %d: restored from a backup?", claimed, version)
            self._ledger.restored()
            self._restored = True

    def _ahead(self, known: Enrolled) -> Iterator[tuple[int, int]]:
        """What the cloud knows that this store does not: its version of the summaries, or of the memories, and ours. At most one."""
        epoch = self._summaries.epoch()
        if known.epoch == epoch and known.version > self._summaries.version():
            yield known.version, self._summaries.version()
        elif known.memory_epoch == epoch and known.memory_version > self._memories.version():
            yield known.memory_version, self._memories.version()

    async def compare_heads(self) -> None:
        """A record of this history that the cloud has seen, and that is not here: the store is a restored one. Raises CloudError."""
        seen = await self._client.newest_head()
        if seen is not None and not self._restored and not await asyncio.to_thread(self._ledger.holds, seen.head):
            log.warning("the cloud has seen record %d of this edge's ledger, which is not here: restored from a backup?", seen.head.seq)
            await asyncio.to_thread(self._ledger.restored)
            self._restored = True

    async def send(self) -> None:
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
