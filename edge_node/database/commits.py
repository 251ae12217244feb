"""How many commits a store has had, also written beside it: a lost WAL, an older copy or another store's file is noticed at start."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from shared.errors import DiskFailed, StoreDamaged, StoreInUse
from shared.sqlite import crc

LINE_BYTES = 49
LOST = "restore a backup, or go on without what is lost with `dgrag edge check --accept-loss`"


@contextmanager
def only_user(folder: Path) -> Iterator[None]:
    """Hold the store in ``folder``; the system lets go of it when the process ends, however it ends. Raises StoreInUse, DiskFailed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / "edge.lock", timeout=0, thread_local=False, fallback_to_soft=False)
        held = lock.acquire()
    except Timeout as error:
        raise StoreInUse(folder) from error
    except OSError as error:
        raise DiskFailed(folder, str(error)) from error
    with held:
        yield


@dataclass(frozen=True, slots=True)
class Count:
    """The commits of one store."""

    store: str
    commits: int


class CommitCount:
    """A CommitWitness: counts in the meta table, and after the commit in a file.

    The file is not synchronised: after a power cut it may be older than the store, or unreadable, but never newer.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._last = Count("", 0)

    def verify(self, stored: Count) -> None:
        """Raises StoreDamaged when the file beside the store knows of commits that the store has not, or of another store."""
        seen = read_count(self.path)
        if seen is None:
            return
        if seen.store != stored.store:
            raise StoreDamaged("the store's file was swapped for that of another store", next_step=LOST)
        if seen.commits > stored.commits:
            missing = seen.commits - stored.commits
            raise StoreDamaged(f"the last {missing} commits of the store are missing: an older file, or a lost WAL", next_step=LOST)

    def committing(self, tx: sqlite3.Connection) -> None:
        """Count one more, in the transaction itself."""
        tx.execute("UPDATE meta SET value = value + 1 WHERE key = 'commits'")
        self._last = stored_count(tx)

    def committed(self) -> None:
        """Write the number beside the store; one write of always the same length."""
        with contextlib.suppress(OSError):  # the commit stands, and an older number beside it is allowed
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600)  # not emptied first: a kill leaves the old number or the new
            try:
                os.write(handle, _line(self._last))
            finally:
                os.close(handle)


def stored_count(connection: sqlite3.Connection) -> Count:
    """What the store itself says."""
    found = dict(map(tuple, connection.execute("SELECT key, value FROM meta WHERE key IN ('store', 'commits')")))
    return Count(str(found["store"]), int(found["commits"]))


def read_count(path: Path) -> Count | None:
    """What the file beside a store says; None if there is none, or no whole one."""
    try:
        store, commits, checksum = path.read_bytes()[:LINE_BYTES].decode("ascii").split()
        found = Count(store, int(commits))
        return found if int(checksum) == crc(found.store, found.commits) else None
    except (FileNotFoundError, ValueError):
        return None


def _line(count: Count) -> bytes:
    return f"{count.store:16} {count.commits:020} {crc(count.store, count.commits):010}\n".encode("ascii")
