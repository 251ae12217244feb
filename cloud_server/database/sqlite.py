"""The store of a cloud that is one process: nothing to install or configure."""

from __future__ import annotations

from pathlib import Path

from shared import sqlite
from shared.sqlite import migrations_of

PAGE_BYTES = 8192  # a summary's row has 1.3 kB: pages of 4096 would be a third empty


class SqliteDatabase(sqlite.Database):
    """Opens or creates the file, and migrates one of an older release. Raises as ``shared.sqlite.Database``."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, migrations=migrations_of("cloud_server.database", "migrations/sqlite"), page_size=PAGE_BYTES)
