"""The cloud's store: its schema in the SQLite file that both services use alike."""

from __future__ import annotations

from pathlib import Path

from shared import sqlite
from shared.migrate import migrations_of

PAGE_BYTES = 8192  # a summary's row has 1.3 kB: pages of 4096 would be a third empty


class Database(sqlite.Database):
    """Opens or creates the cloud's store, and migrates one of an older release. Raises as ``sqlite.Database``."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, migrations=migrations_of("cloud_server"), page_size=PAGE_BYTES)
