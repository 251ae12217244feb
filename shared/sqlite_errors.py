"""What SQLite's errors mean to a person: a full disk, a failing one, a damaged file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from shared.errors import DgragError, DiskFailed, DiskFull, StoreDamaged, StoreError

FULL = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE})  # the shared memory of the WAL is a file that grows too
FAILED = frozenset({sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN})
LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
RAISED = (sqlite3.Error, UnicodeDecodeError)  # what a call of SQLite may raise
DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def store_error(path: Path, error: sqlite3.Error | UnicodeDecodeError) -> DgragError | None:
    """Our error for one of SQLite's that the disk or the file caused; None for what only a mistake of ours causes.

    >>> error = sqlite3.OperationalError("database or disk is full")
    >>> error.sqlite_errorcode = sqlite3.SQLITE_FULL
    >>> store_error(Path("edge.db"), error).code
    'disk_full'
    """
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # raised by Python's module: a text, or a name in SQLite's own words, that is no text any more
        return StoreDamaged(f"{path.name} holds a text that cannot be read") if "decode" in str(error) else None
    if code in FULL:
        return DiskFull(path.parent)
    primary = code & 0xFF
    if primary in FAILED:
        return DiskFailed(path, str(error))
    if primary in LOCKED:
        return StoreError(f"{path.name} is locked by another process", next_step="stop the other process that uses this store")
    if primary in DAMAGED:
        return StoreDamaged(f"{path.name} is damaged: {error}")
    return None
