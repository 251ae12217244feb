"""What a cloud holds in memory follows the store: its own deltas and those that other clouds took go one way (ADR 37)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from cloud_server.database.changes import UNREAD
from cloud_server.routing.matching import index_key
from cloud_server.routing.replica import Replica, Replicated, Shelf
from shared.errors import StoreError
from shared.ports import FloatArray
from shared.records import EdgeId

if TYPE_CHECKING:
    from cloud_server.database.notices import Notices

RENEWED_EVERY_S = 2.0  # also when no notice came: one may be lost

log = logging.getLogger("dgrag.cloud.renewal")

Body = TypeVar("Body")


@dataclass(frozen=True, slots=True)
class Renewed(Generic[Body]):
    """What makes an index that held the rows of an edge hold those that are matched now. Keys are those of ``matching.index_key``."""

    edge: EdgeId
    gone: tuple[str, ...]  # matched no more
    fresh: Mapping[str, Replicated[Body]]  # new, or told anew …
    again: tuple[str, ...]  # … which these are
    vectors: FloatArray  # (n, d) of all rows that are matched, by id


class News(Generic[Body]):
    """Says edge by edge what of a replica has changed since it was read last; at first that is everything."""

    def __init__(self, store: Replica[Body, Any]) -> None:
        self._store = store
        self._last = UNREAD  # the last change that is in the indexes, with all before it
        self._matched: dict[EdgeId, tuple[str, ...]] = {}  # the keys that are in the indexes

    def read(self) -> Iterator[Renewed[Body]]:
        """What was not read to its end is said again. Rows that another cloud embedded by another embedder are left out.

        Others may write meanwhile: what of it is not said now is said the next time. A store that does not know the last change any
        more is another one, restored or failed over to: then everything is said anew.
        """
        changed = self._store.changed(after=self._last)
        if not changed.is_known and self._last != UNREAD:
            log.warning("the store of %s went back to an earlier state: all is read anew", self._store.columns.table)
        seen = self._last.seq if changed.is_known else UNREAD.seq
        for edge in changed.edges if changed.is_known else sorted({*self._store.edges(), *self._matched}):
            renewed, matched = self._renewed(edge, after=seen)
            yield renewed
            self._matched[edge] = matched
            if not matched:
                del self._matched[edge]
        self._last = changed.last

    def _renewed(self, edge: EdgeId, *, after: int) -> tuple[Renewed[Body], tuple[str, ...]]:
        rows = self._store.load(edge, after=after)
        shelf = self._store.shelf(edge) if after > UNREAD.seq else self._shelf_of(rows)
        before = {key: key for key in self._matched.get(edge, ())}  # one text for a key, here and in the indexes
        keys = (index_key(edge, row_id) for row_id in shelf.ids)
        now = {key: before.get(key, key) for key, why in zip(keys, shelf.held_back, strict=True) if not why}
        told = {index_key(edge, self._store.key_of(row.body)): row for row in rows if not row.held_back}
        fresh = {now[key]: row for key, row in told.items() if key in now}
        vectors = shelf.vectors[[row for row, why in enumerate(shelf.held_back) if not why]]
        if rows and not self._store.is_embedded_alike():
            log.warning("%s of %s are of another cloud's other embedder, and matched by none here", self._store.columns.table, edge)
            fresh, vectors = {}, vectors[:0]
        gone = tuple(key for key in before if key not in now)
        again = tuple(key for key in fresh if key in before)
        return Renewed(edge, gone, fresh, again, vectors), tuple(now.values())

    def _shelf_of(self, rows: Sequence[Replicated[Body]]) -> Shelf:
        ids = tuple(self._store.key_of(row.body) for row in rows)
        vectors = np.stack([row.vector for row in rows]) if rows else np.empty((0, 0), dtype=np.float32)
        return Shelf(ids, tuple(row.held_back for row in rows), vectors)


class Follower(Protocol):
    """Holds in memory what the store holds."""

    async def renew(self) -> None:
        """Bring it up to date."""


class Renewal:
    """Renews what a cloud holds, soon after each notice, and now and then without one. It belongs to the event loop's thread."""

    def __init__(self, followers: Sequence[Follower], notices: Notices | None, *, every_s: float = RENEWED_EVERY_S) -> None:
        self._followers = followers
        self._every_s = every_s
        self._due = asyncio.Event()
        if notices is not None:
            notices.on("changed", lambda _: self._due.set())
            notices.on_gap(self._due.set)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._every_s):
                    await self._due.wait()
            self._due.clear()
            for follower in self._followers:
                try:
                    await follower.renew()
                except StoreError as error:
                    log.warning("what this cloud holds is not renewed: %s", error.code)
