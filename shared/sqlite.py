"""One SQLite file: WAL, synchronous FULL, one writer, a connection for each reading thread."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shared.errors import StoreError


class Database:
    """Opens or creates a store. Raises StoreError for a file of another program or of a newer release.

    ``schema`` is SQL that brings an empty file, or one of an older version, to ``version``. Reads see the last commit and
    never wait for a writer.
    """

    def __init__(self, path: Path, *, schema: str, version: int, page_size: int = 4096) -> None:
        self.path = path
        self._page_size = page_size
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._lock = threading.RLock()  # one writer
        self._use = threading.Condition()  # a connection must not be closed under a thread that uses it
        self._users = 0
        self._closed = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = self._connect()
            self._prepare(schema, version)
        except (sqlite3.DatabaseError, OSError) as error:
            raise StoreError(f"{path} is not a usable store: {error}", next_step="restore a backup, or move the file away") from error

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=30)
        connection.row_factory = sqlite3.Row
        for pragma in (f"page_size={self._page_size}", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}")
        return connection

    def _prepare(self, schema: str, version: int) -> None:
        found = int(self._writer.execute("PRAGMA user_version").fetchone()[0])
        if found > version:
            raise StoreError(
                f"{self.path} has schema {found}, this release reads up to {version}", next_step="install the newer release again"
            )
        if found < version:
            self._writer.executescript(f"BEGIN; {schema} PRAGMA user_version={version}; COMMIT;")

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction; committed (and on disk) when the block ends, rolled back when it raises."""
        with self._in_use(), self._lock:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:  # SQLite may have rolled back by itself, as on a full disk
                    self._writer.execute("ROLLBACK")
                raise

    def rows(self, sql: str, arguments: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """All rows of a query, from the last commit."""
        with self._in_use():
            return self._reader().execute(sql, arguments).fetchall()

    def row(self, sql: str, arguments: Sequence[Any] = ()) -> sqlite3.Row | None:
        """The first row of a query, or None."""
        with self._in_use():
            found: sqlite3.Row | None = self._reader().execute(sql, arguments).fetchone()
            return found

    def stream(self, sql: str, arguments: Sequence[Any] = ()) -> Iterator[sqlite3.Row]:
        """Rows one by one, for tables that should not stand in memory twice."""
        with self._in_use():
            yield from self._reader().execute(sql, arguments)

    def meta(self, key: str, default: str = "") -> str:
        """A value of the meta table."""
        found = self.row("SELECT value FROM meta WHERE key = ?", (key,))
        return str(found["value"]) if found else default

    def set_meta(self, key: str, value: str) -> None:
        """Write a value of the meta table."""
        with self.write() as tx:
            tx.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def close(self) -> None:
        """Wait for what is under way, then close all connections; the last one folds the WAL into the file."""
        with self._use:
            self._closed = True
            self._use.wait_for(lambda: self._users == 0)
        for connection in [*self._readers, self._writer]:
            connection.close()

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        with self._use:
            if self._closed:
                raise StoreError(f"{self.path} is closed")
            self._users += 1
        try:
            yield
        finally:
            with self._use:
                self._users -= 1
                self._use.notify_all()

    def _reader(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
            self._readers.append(connection)
        return connection
