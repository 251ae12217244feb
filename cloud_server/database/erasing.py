"""Deleted texts leave no bytes in the store (goal R5)."""

from __future__ import annotations

import asyncio
import logging

from cloud_server.database.port import Database
from shared.errors import StoreError

log = logging.getLogger("dgrag.cloud.erase")


class Eraser:
    """An edge may have deleted what an old text told of: within about ``every_s`` seconds no byte of it is left in a file (goal R5: 60 s).

    PostgreSQL frees its room, and leaves the bytes until that is used again.
    """

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
