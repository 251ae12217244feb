"""Keeps the cloud's copy of what it may know of memories up to date, as ``Sync`` does of summaries (goals R4, R5, P1)."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Protocol

from edge_node.link.cloud_client import CloudClient
from edge_node.link.sync import LinkState, Release
from edge_node.store.database import Database
from edge_node.store.receipts import MEMORIES_ACKNOWLEDGED, MEMORIES_HELD
from edge_node.store.shared_memories import SharedMemories
from shared.errors import CloudRefused, CloudUnavailable, Withheld
from shared.wire import Enrolled

log = logging.getLogger("dgrag.edge.link")
NOT_TAKEN = frozenset({404, 409, 413, 422})  # what says something of the memories, and not of the edge or its line


class Memories(Release, Protocol):
    """A release that makes what is sent."""

    @property
    def told(self) -> SharedMemories:
        """What the cloud is to know."""

    def renew(self) -> None:
        """Bring that up to date with memories, policy and labels, and note the names that are drawn for it: before a byte leaves."""


class MemorySync:
    """At least once, in order, from one task at a time; the cloud applies each version once.

    A cloud that takes no memories, or not so many, is not asked again until there are others: it still gets all the rest.
    """

    def __init__(self, client: CloudClient, memories: Memories, database: Database, state: LinkState) -> None:
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
        """Note what the cloud says it has; after ``Sync.learn``, which tells a restored store by it."""
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
