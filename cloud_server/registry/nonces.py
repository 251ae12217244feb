"""Signed requests that were taken, so that none is taken twice."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Protocol

from cloud_server.database.port import SharedDatabase
from shared.errors import Unauthenticated
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


class NonceStore:
    """A file of its own: a request must not wait until the eraser has written the whole store anew."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, migrations=[SCHEMA, FORGOTTEN])

    def remember(self, key_id: str, nonce: str, *, expires: float, now: float) -> None:
        """As the port says."""
        with self._database.write() as tx:
            (until,) = tx.execute(
                "SELECT max(until, coalesce((SELECT max(expires) FROM nonces WHERE expires < ?), 0)) FROM forgotten", (now,)
            ).fetchone()
            if expires <= until:
                raise _behind()
            if tx.execute("DELETE FROM nonces WHERE expires < ?", (now,)).rowcount:
                tx.execute("UPDATE forgotten SET until = ?", (until,))
            try:
                tx.execute("INSERT INTO nonces VALUES (?, ?, ?)", (key_id, nonce, expires))
            except sqlite3.IntegrityError as error:
                raise _replayed() from error

    def close(self) -> None:
        """Close the file."""
        self._database.close()


class SharedNonces:
    """In the store that several clouds share: one that takes a request has taken it for all.

    What has passed is said by the store's clock: a cloud whose own is ahead would delete what others take yet.
    """

    def __init__(self, database: SharedDatabase) -> None:
        self._database = database
        self._forgot = 0.0

    def remember(self, key_id: str, nonce: str, *, expires: float, now: float) -> None:
        """As the port says; ``now`` only decides how often there is something deleted.

        The lock on ``forgotten`` keeps one cloud from deleting a nonce that another is just taking again.
        """
        with self._database.join() as tx:
            (until,) = tx.execute("SELECT until FROM forgotten FOR SHARE").fetchone() or (0.0,)
            if expires <= until:
                raise _behind()
            taken = tx.execute("INSERT INTO nonces VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (key_id, nonce, expires))
            if not taken.rowcount:
                raise _replayed()
        if self._is_time(now):
            self._forget()

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


def _behind() -> Unauthenticated:
    return Unauthenticated("the cloud's clock has gone back behind this request", code="clock", next_step="sign each request anew")


def _replayed() -> Unauthenticated:
    return Unauthenticated("this request was taken before", code="replayed", next_step="sign each request anew")
