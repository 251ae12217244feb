"""A copy of a store while it is used, and the way back (R15)."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from edge_node.database.check import Damage, examine
from shared.errors import DgragError, DiskFailed, NotFound, StoreDamaged
from shared.sqlite import RAISED, add_functions, migrations_of, store_error, version_of

FILE = "edge.db"
PARTS = (FILE, f"{FILE}-wal", f"{FILE}-shm")


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
