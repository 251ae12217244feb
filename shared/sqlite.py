"""One SQLite file: WAL, synchronous FULL, one writer, a connection for each reading thread; migrations, checksums and clear errors."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol
from zlib import crc32

from shared.errors import DgragError, DiskFailed, DiskFull, StoreDamaged, StoreError

MAX_WAL_BYTES = 64 * 2**20
BUSY_MS = 30_000
ERASE_TRIES = 10
ERASE_WAIT_MS = 100  # for reads under way, at each try
ERASE_PAUSE_S = 0.4  # between two tries: writers go on

FULL = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE})  # the shared memory of the WAL is a file that grows too
FAILED = frozenset({sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN})
LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
RAISED = (sqlite3.Error, UnicodeDecodeError)  # what a call of SQLite may raise
DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})

Functions = Mapping[str, Callable[[bytes], str]]  # what migrations may call in SQL, by name
NO_FUNCTIONS: Functions = {}

Field = str | bytes | int | float | None
_BETWEEN = b"\x1f"


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


def migrations_of(package: str, folder: str = "migrations") -> tuple[str, ...]:
    """The SQL texts of a package's folder, in the order of their numbers."""
    texts = [entry for entry in files(package).joinpath(folder).iterdir() if entry.name.endswith(".sql")]
    return tuple(entry.read_text(encoding="utf-8") for entry in sorted(texts, key=lambda entry: entry.name))


def version_of(connection: sqlite3.Connection) -> int:
    """The number of migrations that a file has had; 0 for an empty one."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[str], functions: Functions = NO_FUNCTIONS) -> None:
    """Run what is missing. Raises StoreError for a file of a newer release, StoreDamaged for one that would not be sound afterwards.

    No copy is kept: until the commit the file is as it was, and a copy would go on holding what people delete.
    """
    found, newest = version_of(connection), len(migrations)
    if found > newest:
        step = "install the newer release again, or restore a backup that this release has made"
        raise StoreError(f"{path} has schema {found}, this release reads up to {newest}", next_step=step)
    for name, function in functions.items():
        connection.create_function(name, 1, function, deterministic=True)
    for version in range(found + 1, newest + 1):
        try:
            connection.executescript(f"BEGIN IMMEDIATE; {migrations[version - 1]} PRAGMA user_version={version};")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
                raise
            raise StoreDamaged(f"{path.name} cannot be brought to version {version}: {error}") from error
        sound = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if sound != "ok":
            raise StoreDamaged(f"{path.name} is damaged, so it stays at version {version - 1}: {sound}")
        connection.execute("COMMIT")


def crc(*fields: Field) -> int:
    """CRC-32 of the fields, in their order: texts as UTF-8, numbers as Python writes them; of one field, of just its bytes.

    >>> crc("a") == crc(b"a"), crc("a", "b") == crc("ab"), crc("a", 1.5) == crc("a", "1.5")
    (True, False, True)
    """
    return crc32(_BETWEEN.join([_bytes(field) for field in fields]))


def _bytes(field: Field) -> bytes:
    if isinstance(field, bytes):
        return field
    return (field if isinstance(field, str) else str(field)).encode("utf-8", "surrogatepass")


def is_text(field: bytes) -> bool:
    r"""Whether bytes are UTF-8; what a damaged text was cast to may be none.

    >>> is_text(b"pump"), is_text(b"\xff")
    (True, False)
    """
    try:
        field.decode()
    except UnicodeDecodeError:
        return False
    return True


class CommitWitness(Protocol):
    """Is told of every transaction that changes something."""

    def committing(self, tx: sqlite3.Connection) -> None:
        """Part of the transaction, at its end."""

    def committed(self) -> None:
        """It is on disk."""


def connect(path: Path, *, page_size: int = 4096) -> sqlite3.Connection:
    """A connection as all of ours are: rows by name, WAL, fsync at every commit, deleted bytes overwritten, ``crc`` in SQL."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=BUSY_MS / 1000)
    connection.row_factory = sqlite3.Row
    try:
        for pragma in (f"page_size={page_size}", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute(f"PRAGMA journal_size_limit={MAX_WAL_BYTES}")
        add_functions(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def add_functions(connection: sqlite3.Connection) -> None:
    """``crc(field, …)`` and ``is_text(blob)`` in SQL."""
    connection.create_function("crc", -1, crc, deterministic=True)
    connection.create_function("is_text", 1, is_text, deterministic=True)


class Database:
    """Opens or creates a store. Raises StoreError for a file of a newer release, StoreDamaged, DiskFull, DiskFailed.

    ``migrations`` are SQL texts; the n-th brings a file of version n - 1 to version n, in one transaction, and may call ``functions``,
    of one argument each. Reads see the last commit and never wait for a writer. SQL may call what ``add_functions`` adds. Every
    method raises StoreDamaged, DiskFull and DiskFailed for what they say; the store can be used again as soon as the disk can.
    """

    def __init__(
        self,
        path: Path,
        *,
        migrations: Sequence[str],
        functions: Functions = NO_FUNCTIONS,
        page_size: int = 4096,
        witness: CommitWitness | None = None,
    ) -> None:
        self.path = path
        self._page_size = page_size
        self._witness = witness
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._lock = threading.RLock()  # one writer
        self._use = threading.Condition()  # a connection must not be closed under a thread that uses it
        self._users = 0
        self._closed = False
        self._writer: sqlite3.Connection | None = None  # None: opened by the next transaction
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = connect(path, page_size=page_size)
            migrate(self._writer, path, migrations, functions)
        except BaseException as error:
            self._drop_writer()
            if isinstance(error, OSError):
                raise DiskFailed(path, str(error)) from error
            if isinstance(error, RAISED) and (told := store_error(path, error)):
                raise told from error
            raise

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction; committed (and on disk) when the block ends, rolled back when it raises."""
        with self._in_use(), self._writing() as writer:
            before = writer.total_changes
            writer.execute("BEGIN IMMEDIATE")
            try:
                yield writer
                counted = self._witness if writer.total_changes != before else None
                if counted is not None:
                    counted.committing(writer)
                writer.execute("COMMIT")
            except BaseException:
                self._roll_back(writer)
                raise
            if counted is not None:
                counted.committed()

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

    def size(self) -> int:
        """Bytes of the store's pages, as of the last commit."""
        found = self.row("SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()")
        return int(found["bytes"]) if found else 0

    def erase(self) -> bool:
        """Overwrite what was deleted: empty the WAL, and write the file anew without the cells that moved to other pages.

        Takes as long as writing the whole store twice, and needs as much room; reads go on. False when there is no such room, or
        when reads that go on still need the WAL: then bytes of what was deleted may be left.
        """
        with self._in_use():
            return self._empty_wal() and self._vacuum() and self._empty_wal()

    def _empty_wal(self) -> bool:
        for last in (False,) * (ERASE_TRIES - 1) + (True,):
            with self._writing() as writer:
                writer.execute(f"PRAGMA busy_timeout={ERASE_WAIT_MS}")
                try:
                    if not writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                        return True
                finally:
                    writer.execute(f"PRAGMA busy_timeout={BUSY_MS}")
            if not last:
                time.sleep(ERASE_PAUSE_S)
        return False

    def _vacuum(self) -> bool:
        with self._writing() as writer:
            try:
                writer.execute("VACUUM")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode in FULL:
                    return False
                raise
        return True

    def close(self) -> None:
        """Wait for what is under way, then close all connections; the last one folds the WAL into the file."""
        with self._use:
            self._closed = True
            self._use.wait_for(lambda: self._users == 0)
        for connection in self._readers:
            connection.close()
        self._drop_writer()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._writer is None:
                self._writer = connect(self.path, page_size=self._page_size)
            yield self._writer

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        with self._use:
            if self._closed:
                raise StoreError(f"{self.path} is closed")
            self._users += 1
        try:
            yield
        except RAISED as error:
            if told := store_error(self.path, error):
                raise told from error
            raise
        finally:
            with self._use:
                self._users -= 1
                self._use.notify_all()

    def _reader(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = connect(self.path, page_size=self._page_size)
            self._readers.append(connection)
        return connection

    def _roll_back(self, writer: sqlite3.Connection) -> None:
        try:
            if writer.in_transaction:  # SQLite may have rolled back by itself, as on a full disk
                writer.execute("ROLLBACK")
        except sqlite3.Error:  # this connection cannot be trusted any more; the error that led here is the one to raise
            self._drop_writer()

    def _drop_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            with contextlib.suppress(sqlite3.Error):  # a failing disk may refuse the last checkpoint; the WAL keeps the commits
                writer.close()
