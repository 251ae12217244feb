"""One SQLite file: WAL, synchronous FULL, one connection behind one lock."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from shared.errors import StoreError

SCHEMA_VERSION = 1


class Database:
    """Opens or creates the cloud's store. Raises StoreError for a file of another program or of a newer release."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
            self._prepare(path)
        except (sqlite3.DatabaseError, OSError) as error:
            raise StoreError(f"{path} is not a usable store: {error}", next_step="restore a backup, or move the file away") from error

    def _prepare(self, path: Path) -> None:
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
            self._connection.execute(f"PRAGMA {pragma}")
        found = int(self._connection.execute("PRAGMA user_version").fetchone()[0])
        if found > SCHEMA_VERSION:
            raise StoreError(
                f"{path} has schema {found}, this release reads up to {SCHEMA_VERSION}", next_step="install the newer release again"
            )
        if found == 0:
            schema = files("cloud_server").joinpath("schema.sql").read_text(encoding="utf-8")
            self._connection.executescript(f"BEGIN; {schema} PRAGMA user_version={SCHEMA_VERSION}; COMMIT;")

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction; on disk when the block ends, rolled back when it raises."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def rows(self, sql: str, arguments: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        with self._lock:
            return self._connection.execute(sql, arguments).fetchall()

    def close(self) -> None:
        """Close; the WAL is folded into the file."""
        with self._lock:
            self._connection.close()
