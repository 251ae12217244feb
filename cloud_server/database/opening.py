"""Which store the settings mean: the file of one cloud, or PostgreSQL, whose library is imported where one is meant, and not before."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

from cloud_server.database.port import Database, SharedDatabase
from shared import sqlite
from shared.errors import NotInstalled
from shared.http.keyring import KeyRing
from shared.sqlite import migrations_of

FILE = "cloud.db"
PAGE_BYTES = 8192  # a summary's row has 1.3 kB: pages of 4096 would be a third empty


class SqliteDatabase(sqlite.Database):
    """The store of a cloud that is one process: a file is opened or made, and migrated where it is of an older release.

    Raises as ``shared.sqlite.Database``.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, migrations=migrations_of("cloud_server.database", "migrations/sqlite"), page_size=PAGE_BYTES)


def replica_name() -> str:
    """What a cloud is called among several where nobody has named it: as its host, and no other start of it."""
    return f"{socket.gethostname()[:50]}-{secrets.token_hex(4)}"


def open_database(state_dir: Path, url: str, *, replica: str = "") -> Database:
    """The store at ``url``, or with an empty one the file in ``state_dir``; ``replica``: what PostgreSQL shows of who is connected.

    Raises NotInstalled, SettingsError for a URL that is none, and StoreError.
    """
    return open_shared(url, replica=replica) if url else SqliteDatabase(state_dir / FILE)


def open_shared(url: str, *, replica: str = "") -> SharedDatabase:
    """The store that several clouds share. Raises as ``open_database``."""
    try:
        from cloud_server.database.postgres import PostgresDatabase  # an extra
    except ImportError as error:
        raise NotInstalled("a store in PostgreSQL", extra="postgres") from error
    return PostgresDatabase(url, name=replica)


def ring_in(state_dir: Path, database: Database) -> KeyRing:
    """The API keys of a cloud: in the store where others share it, else in a file of their own."""
    return KeyRing(database if isinstance(database, SharedDatabase) else state_dir)


def open_ring(state_dir: Path, url: str) -> KeyRing:
    """The same for who has no store open. Raises as ``open_database``."""
    return KeyRing(open_shared(url) if url else state_dir)
