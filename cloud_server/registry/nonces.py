"""Signed requests that were taken, so that none is taken twice."""

from __future__ import annotations

import sqlite3
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from cloud_server.database.port import SharedDatabase
from shared.errors import StoreError, Unauthenticated
from shared.sqlite import Database


class Nonces(Protocol):
    """What was taken, until its time has passed."""

    def remember(self, key_id: str, nonce: str, *, expires: float, now: float) -> None:
        """Take a request; on disk when this returns.

        Raises Unauthenticated: ``replayed`` for one that was taken before; ``clock`` where that is not known any more, because the
        cloud's clock was ahead of what it says now.
        """

    def close(self) -> None:
        """Close the store."""


FORGET_EVERY_S = 10.0
SCHEMA = """
CREATE TABLE IF NOT EXISTS nonces (
    key_id  TEXT NOT NULL,
    nonce   TEXT NOT NULL,
    expires REAL NOT NULL,  -- seconds since the epoch: from then on the request's time is refused anyway
    PRIMARY KEY (key_id, nonce)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS nonces_expires ON nonces (expires);
"""
FORGOTTEN = """
CREATE TABLE forgotten (until REAL NOT NULL);  -- the latest of the times that were deleted: a clock that goes back does not bring them back
INSERT INTO forgotten VALUES (0);
"""
PASSED = "SELECT max(expires) FROM nonces WHERE expires < extract(epoch FROM clock_timestamp())"  # PostgreSQL's clock, one for all

TAKE = """INSERT INTO nonces SELECT * FROM unnest(?::text[], ?::text[], ?::double precision[]) AS those (key_id, nonce, expires)
    ORDER BY key_id, nonce ON CONFLICT DO NOTHING RETURNING key_id, nonce"""


@dataclass(slots=True, eq=False)
class _Waiting:
    """A request that waits to be written."""

    key_id: str
    nonce: str
    expires: float
    now: float
    is_done: bool = False
    refused: Exception | None = None  # why it cannot be taken


class _Nonces(ABC):
    """What comes while one thread waits for the disk is written by the next one, in one transaction."""

    fails_together: ClassVar[bool]  # where it cannot be written: do all hear of it, or does each of the others try for itself?

    def __init__(self) -> None:
        self._waiting = deque[_Waiting]()
        self._turn = threading.Lock()

    @abstractmethod
    def _taken(self, those: Sequence[_Waiting]) -> list[Unauthenticated | None]:
        """Write these down, in one transaction; why one of them cannot be taken, in their order."""

    def remember(self, key_id: str, nonce: str, *, expires: float, now: float) -> None:
        """As the port says."""
        mine = _Waiting(key_id, nonce, expires, now)
        self._waiting.append(mine)
        with self._turn:
            if not mine.is_done:
                self._write(mine)
        if mine.refused:
            raise mine.refused

    def _write(self, mine: _Waiting) -> None:
        """Write down all that wait."""
        those = [self._waiting[place] for place in range(len(self._waiting))]  # others are added meanwhile
        told: Sequence[Exception | None]
        try:
            told = self._taken(those)
        except (StoreError, sqlite3.Error) as error:
            those = those if self.fails_together else [mine]
            told = [error] * len(those)
        for one, why in zip(those, told, strict=True):
            one.refused, one.is_done = why, True
            self._waiting.remove(one)


class NonceStore(_Nonces):
    """A file of its own: a request must not wait until the eraser has written the whole store anew."""

    fails_together = False

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._database = Database(path, migrations=[SCHEMA, FORGOTTEN])

    def _taken(self, those: Sequence[_Waiting]) -> list[Unauthenticated | None]:
        with self._database.write() as tx:
            return [_taken(tx, one) for one in those]

    def close(self) -> None:
        """Close the file."""
        self._database.close()


class SharedNonces(_Nonces):
    """In the store that several clouds share: one that takes a request has taken it for all.

    What has passed is said by the store's clock: a cloud whose own is ahead would delete what others take yet.
    """

    fails_together = True  # a line that broke may have carried them: written again they would be taken for replays

    def __init__(self, database: SharedDatabase) -> None:
        super().__init__()
        self._database = database
        self._forgot = 0.0

    def remember(self, key_id: str, nonce: str, *, expires: float, now: float) -> None:
        """As the port says; ``now`` only decides how often something is deleted."""
        super().remember(key_id, nonce, expires=expires, now=now)
        if self._is_time(now):
            self._forget()

    def _taken(self, those: Sequence[_Waiting]) -> list[Unauthenticated | None]:
        """One statement for all, as each waits for the interpreter; rows in one order at all clouds, so that no two wait for each other.

        The lock on ``forgotten`` keeps one cloud from deleting a nonce that another is just taking again.
        """
        with self._database.join() as tx:
            (until,) = tx.execute("SELECT until FROM forgotten FOR SHARE").fetchone() or (0.0,)
            timely = [one for one in those if one.expires > until]
            columns = [[getattr(one, name) for one in timely] for name in ("key_id", "nonce", "expires")]
            taken = {tuple(row) for row in tx.execute(TAKE, columns).fetchall()}
        outcomes = list[Unauthenticated | None]()
        for one in those:
            pair = one.key_id, one.nonce
            outcomes.append(_behind() if one.expires <= until else None if pair in taken else _replayed())
            taken.discard(pair)  # of two that came together the first is taken
        return outcomes

    def _forget(self) -> None:
        """Delete what is refused for its time anyway."""
        with self._database.join() as tx:
            tx.execute("SELECT until FROM forgotten FOR UPDATE")
            (until,) = tx.execute(PASSED).fetchone() or (None,)
            if until is not None:
                tx.execute("UPDATE forgotten SET until = greatest(until, ?)", (until,))
                tx.execute("DELETE FROM nonces WHERE expires <= ?", (until,))

    def _is_time(self, now: float) -> bool:
        """Now and then: the lock of ``_forget`` holds all requests up for a moment."""
        if 0 <= now - self._forgot < FORGET_EVERY_S:
            return False
        self._forgot = now
        return True

    def close(self) -> None:
        """The store is the cloud's own to close."""


def _taken(tx: sqlite3.Connection, one: _Waiting) -> Unauthenticated | None:
    """Write a request down, or say why it cannot be taken; what has passed is deleted."""
    (until,) = tx.execute(
        "SELECT max(until, coalesce((SELECT max(expires) FROM nonces WHERE expires < ?), 0)) FROM forgotten", (one.now,)
    ).fetchone()
    if one.expires <= until:
        return _behind()
    if tx.execute("DELETE FROM nonces WHERE expires < ?", (one.now,)).rowcount:
        tx.execute("UPDATE forgotten SET until = ?", (until,))
    taken = tx.execute("INSERT INTO nonces VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (one.key_id, one.nonce, one.expires))
    return None if taken.rowcount else _replayed()


def _behind() -> Unauthenticated:
    return Unauthenticated("the cloud's clock has gone back behind this request", code="clock", next_step="sign each request anew")


def _replayed() -> Unauthenticated:
    return Unauthenticated("this request was taken before", code="replayed", next_step="sign each request anew")
