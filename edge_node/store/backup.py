"""A copy of a store while it is used, and the way back (R15)."""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from edge_node.store.check import Damage, examine
from edge_node.store.database import Database
from edge_node.store.ledger import renew_history
from shared.clock import SystemClock
from shared.errors import Conflict, DgragError, DiskFailed, NotFound, StoreDamaged
from shared.migrate import migrations_of, version_of
from shared.sqlite import add_functions
from shared.sqlite_errors import RAISED, store_error

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
        _sync(part)
        part.replace(target)
        _sync(target.parent)
        return Backup(target.stat().st_size, damages)
    except (*RAISED, OSError) as error:
        raise _told(part, error) from error
    finally:
        part.unlink(missing_ok=True)


def _examined(copy: sqlite3.Connection) -> tuple[Damage, ...]:
    if not 0 < version_of(copy) < len(migrations_of("edge_node.store")):
        return examine(copy)
    if (told := copy.execute("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
        raise StoreDamaged(f"the store's structure is damaged: {told}")
    return ()


def restore(backup: Path, folder: Path) -> Path | None:
    """Make ``folder``, which nobody uses, the store of ``backup``; returns where the former store now is, if there was one.

    The store's epoch is new, so that the cloud takes all of its summaries anew. Killed half-way, the folder holds the former store,
    or one that says at start that commits are missing; restoring again is then the way out. Raises NotFound, StoreError, DiskFailed.
    """
    if not backup.is_file():
        raise NotFound("backup", str(backup))
    fresh = folder / "restore.part"
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        shutil.copyfile(backup, fresh / FILE)
        _check_backup(backup, fresh / FILE)
        _sync(fresh / FILE)
        aside = _set_aside(folder)
        (fresh / FILE).replace(folder / FILE)
        (folder / "edge.seq").unlink(missing_ok=True)
        _sync(folder)
        return aside
    except OSError as error:
        raise _told(folder, error) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def require_empty(folder: Path) -> None:
    """Raises Conflict where a store is already."""
    if (folder / FILE).exists():
        step = "give another folder, or --force, which moves that store aside"
        raise Conflict(f"there is a store in {folder}", next_step=step)


def accept_loss(folder: Path) -> None:
    """Go on with what is there of a store whose last commits are lost, as a store with a new history. Raises as ``Database``."""
    (folder / "edge.seq").unlink(missing_ok=True)
    _renew(folder / FILE)


def _check_backup(backup: Path, copy: Path) -> None:
    try:
        _renew(copy)
    except StoreDamaged as error:
        raise StoreDamaged(
            f"{backup} is no usable backup ({error.message})", next_step="give another one; the store is as it was"
        ) from error


def _renew(path: Path) -> None:
    """Check that a file is a store, bring it up to date, and start a new history of versions."""
    database = Database(path)
    try:
        with database.write() as tx:
            examine(tx)
            renew_history(tx, at=SystemClock().now())
    finally:
        database.close()


def _set_aside(folder: Path) -> Path | None:
    """Link the former file away and take its WAL from it, so that ``edge.db`` is there at any moment, and never with a foreign WAL."""
    if not (folder / FILE).exists():
        return None
    aside = folder / f"replaced-{secrets.token_hex(4)}"
    aside.mkdir()
    os.link(folder / FILE, aside / FILE)
    for name in PARTS[1:]:
        if (folder / name).exists():
            (folder / name).replace(aside / name)
    _sync(aside)
    _sync(folder)
    return aside


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _told(path: Path, error: sqlite3.Error | UnicodeDecodeError | OSError) -> DgragError:
    known = None if isinstance(error, OSError) else store_error(path, error)
    return known or DiskFailed(path, str(error))
