"""The cloud's store: its schema in the SQLite file that both services use alike."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from shared import sqlite
from shared.errors import StoreError
from shared.sqlite import migrations_of

PAGE_BYTES = 8192  # a summary's row has 1.3 kB: pages of 4096 would be a third empty

log = logging.getLogger("dgrag.cloud.erase")


class Database(sqlite.Database):
    """Opens or creates the cloud's store, and migrates one of an older release. Raises as ``sqlite.Database``."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, migrations=migrations_of("cloud_server"), page_size=PAGE_BYTES)


class Eraser:
    """An edge may have deleted what an old text told of: within about ``every_s`` seconds no byte of it is left (goal R5: 60 s)."""

    def __init__(self, database: Database, *, every_s: float) -> None:
        self._database = database
        self._every_s = every_s
        self._due = True  # a stop may have come before the last one

    def note(self) -> None:
        """A text was removed or replaced."""
        self._due = True

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            if self._due:
                self._due = False
                try:
                    self._due = not await asyncio.to_thread(self._database.erase) or self._due
                except StoreError as error:
                    log.warning("old summaries are not erased yet: %s", error.code)
                    self._due = True
            await asyncio.sleep(self._every_s)
