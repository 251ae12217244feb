"""A copy of a store while it is used, and the way back (R15)."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import threading
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from edge_node.database.check import Damage, examine
from shared.errors import Conflict, DgragError, DiskFailed, DiskFull, NotFound, StoreDamaged
from shared.ports import Clock
from shared.sqlite import RAISED, add_functions, migrations_of, store_error, version_of

FILE = "edge.db"
PARTS = (FILE, f"{FILE}-wal", f"{FILE}-shm")
FOLDER = "backups"  # in the state folder
NAME = re.compile(r"edge-\d{8}T\d{6}\.\d{6}Z\.db")  # of those that are made over HTTP: others there are a person's own
KEPT = 5


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished copy: its size in bytes, and the damaged rows that it has from its store."""

    size: int
    damages: tuple[Damage, ...]


def back_up(folder: Path, target: Path) -> Backup:
    """Copy the store in ``folder`` to ``target``, with every commit before now; an edge may write meanwhile.

    The copy is checked, and appears under its name only when it is whole and on disk. A store of an earlier release is copied as it
    is, and only its structure is checked: its rows are when it is restored. Raises NotFound, StoreDamaged for a store
    that could not be restored from, DiskFull, DiskFailed.
    """
    source, part = folder / FILE, target.with_name(f"{target.name}.part")
    if not source.is_file():
        raise NotFound("store", str(folder))
    try:
        part.unlink(missing_ok=True)
        with closing(sqlite3.connect(source)) as store, closing(sqlite3.connect(part)) as copy:
            store.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, without a WAL beside it
            add_functions(copy)
            damages = _examined(copy)
        sync_to_disk(part)
        part.replace(target)
        sync_to_disk(target.parent)
        return Backup(target.stat().st_size, damages)
    except (*RAISED, OSError) as error:
        raise disk_error(part, error) from error
    finally:
        part.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class KeptBackup:
    """A backup in the folder of those that are made over HTTP; ``at``: when it was done, in seconds since the epoch."""

    name: str
    at: float
    bytes: int


@dataclass(frozen=True, slots=True)
class MadeBackup:
    """One that was made now. ``damages``: rows that are damaged in the store, and so in its copy; ``kept``: how many backups stay."""

    name: str
    bytes: int
    seconds: float
    damages: int
    kept: int


class Backups:
    """The backups of one edge in ``state_dir/backups``, of which the newest ``KEPT`` stay. Waits for the disk: to be called in a thread."""

    def __init__(self, state_dir: Path, clock: Clock, *, min_free_bytes: int) -> None:
        self._state_dir = state_dir
        self._folder = state_dir / FOLDER
        self._clock = clock
        self._min_free_bytes = min_free_bytes
        self._lock = threading.Lock()

    def make(self) -> MadeBackup:
        """Make one, then delete those that are too many. Raises as ``back_up``, and Conflict while another one is made."""
        if not self._lock.acquire(blocking=False):
            raise Conflict("a backup is being made", next_step="list the backups when it is done")
        try:
            since = self._clock.monotonic()
            self._make_folder()
            require_room(self._state_dir, floor=self._min_free_bytes)
            name = f"edge-{datetime.fromtimestamp(self._clock.now(), UTC):%Y%m%dT%H%M%S.%fZ}.db"
            made = back_up(self._state_dir, self._folder / name)
            for old in self.list()[KEPT:]:
                (self._folder / old.name).unlink()
            return MadeBackup(name, made.size, round(self._clock.monotonic() - since, 3), len(made.damages), KEPT)
        finally:
            self._lock.release()

    def list(self) -> list[KeptBackup]:
        """The backups, newest first."""
        found = list[KeptBackup]()
        for path in sorted(self._folder.glob("edge-*.db"), reverse=True):
            with suppress(FileNotFoundError):  # deleted since
                if NAME.fullmatch(path.name):
                    found.append(KeptBackup(path.name, (told := path.stat()).st_mtime, told.st_size))
        return found

    def _make_folder(self) -> None:
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise disk_error(self._folder, error) from error


def require_room(state_dir: Path, *, floor: int, copies: int = 1) -> None:
    """Raises DiskFull where so many copies of the store on its disk would leave fewer than ``floor`` bytes free."""
    try:
        needed = sum(path.stat().st_size for path in (state_dir / part for part in PARTS) if path.exists())
    except OSError as error:
        raise disk_error(state_dir, error) from error
    if shutil.disk_usage(state_dir).free < copies * needed + floor:
        raise DiskFull(state_dir)


def _examined(copy: sqlite3.Connection) -> tuple[Damage, ...]:
    if not 0 < version_of(copy) < len(migrations_of("edge_node.database")):
        return examine(copy)
    if (told := copy.execute("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
        raise StoreDamaged(f"the store's structure is damaged: {told}")
    return ()


def sync_to_disk(path: Path) -> None:
    """Wait until a file or folder is on the disk. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def disk_error(path: Path, error: sqlite3.Error | UnicodeDecodeError | OSError) -> DgragError:
    """What a failure on ``path`` means to a person."""
    known = None if isinstance(error, OSError) else store_error(path, error)
    return known or DiskFailed(path, str(error))
