"""How many dear requests run at once and how many may wait; the others are told at once when to come again (goal R13)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from shared.errors import Overloaded

FIRST_GUESS_S = 5.0  # how long one takes, before any has ended
NEW_SHARE = 0.2  # weight of the newest in the mean of the times taken
SHORTEST_S, LONGEST_S = 1.0, 60.0  # what a caller is asked to wait


class Admission:
    """``at_once`` run, ``waiting`` wait in the order they came."""

    def __init__(self, *, at_once: int, waiting: int) -> None:
        self._at_once = at_once
        self._most_waiting = waiting
        self._free = asyncio.Semaphore(at_once)
        self._mean_s = FIRST_GUESS_S
        self.running = 0
        self.waiting = 0

    def check(self) -> None:
        """Raises Overloaded when ``turn`` would; for an answer whose head goes out before its turn comes."""
        if self._free.locked() and self.waiting >= self._most_waiting:
            wait_s = self._mean_s * (self.waiting + 1) / self._at_once
            raise Overloaded(
                f"questions that are being answered: {self.running}, that wait: {self.waiting}",
                retry_after_s=min(max(wait_s, SHORTEST_S), LONGEST_S),
                of_caller=False,
            )

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn, and hold it. Raises Overloaded."""
        self.check()
        self.waiting += 1
        try:
            await self._free.acquire()
        finally:
            self.waiting -= 1
        self.running += 1
        began = asyncio.get_running_loop().time()
        try:
            yield
        finally:
            self.running -= 1
            self._mean_s += NEW_SHARE * (asyncio.get_running_loop().time() - began - self._mean_s)
            self._free.release()
