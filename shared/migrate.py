"""Brings a SQLite file of an older release up to date, a version a transaction; a failed or killed one leaves the old version."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from shared.errors import StoreDamaged, StoreError

Functions = Mapping[str, Callable[[bytes], str]]  # what migrations may call in SQL, by name
NO_FUNCTIONS: Functions = {}


def migrations_of(package: str) -> tuple[str, ...]:
    """The SQL texts of a package's folder ``migrations``, in the order of their numbers."""
    texts = [entry for entry in files(package).joinpath("migrations").iterdir() if entry.name.endswith(".sql")]
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
