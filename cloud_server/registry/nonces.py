"""Remembers the requests that were taken, so that none is taken twice: not after a restart either."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from shared.errors import Unauthenticated
from shared.sqlite import Database

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


class NonceStore:
    """A file of its own: a request must not wait until the eraser has written the whole store anew."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, migrations=[SCHEMA, FORGOTTEN])

    def remember(self, key_id: str, nonce: str, *, expires: float, now: float) -> None:
        """Take a request; on disk when this returns.

        Raises Unauthenticated: ``replayed`` for one that was taken before; ``clock`` where that is not known any more, because the
        cloud's clock was ahead of what it says now.
        """
        with self._database.write() as tx:
            (until,) = tx.execute(
                "SELECT max(until, coalesce((SELECT max(expires) FROM nonces WHERE expires < ?), 0)) FROM forgotten", (now,)
            ).fetchone()
            if expires <= until:
                raise Unauthenticated(
                    "the cloud's clock has gone back behind this request", code="clock", next_step="sign each request anew"
                )
            if tx.execute("DELETE FROM nonces WHERE expires < ?", (now,)).rowcount:
                tx.execute("UPDATE forgotten SET until = ?", (until,))
            try:
                tx.execute("INSERT INTO nonces VALUES (?, ?, ?)", (key_id, nonce, expires))
            except sqlite3.IntegrityError as error:
                raise Unauthenticated("this request was taken before", code="replayed", next_step="sign each request anew") from error

    def close(self) -> None:
        """Close the file."""
        self._database.close()
