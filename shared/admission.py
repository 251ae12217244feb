"""Turns at what is scarce, shared among those who ask: nobody's many requests keep the others out."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from shared.errors import Overloaded

FIRST_GUESS_S = 5.0  # how long a model's turn takes, before any has ended …
SEARCH_GUESS_S = 0.1  # … and a search's
NEW_SHARE = 0.2  # weight of the newest in the mean of the times taken
SHORTEST_S, LONGEST_S = 1.0, 60.0  # what a caller is asked to wait


@dataclass(frozen=True, slots=True, eq=False)
class _Waiter:
    asker: str
    cost: float
    admitted: asyncio.Future[None]


class Admission:
    """``at_once`` requests run and ``waiting`` wait, shared fairly among the askers (keys, tokens' subjects, edges).

    - A free turn goes to the waiting asker that has had the least so far; among equals, to the one that has waited longest.
      With turns of equal cost that is round robin.
    - While others run or wait, an asker has at most half of the turns. Alone it may have them all.
    - Where all places to wait are taken, the asker with most of them gives its newest place to an asker that has
      fewer. So one asker keeps more than half of the places only while nobody else wants them.

    It belongs to the event loop's thread.
    """

    def __init__(self, *, at_once: int, waiting: int, first_guess_s: float = FIRST_GUESS_S) -> None:
        self._at_once = at_once
        self._most_waiting = waiting
        self._share = (at_once + 1) // 2  # of one asker beside others
        self._waiting_share = (waiting + 1) // 2
        self._mean_s = first_guess_s
        self._running = Counter[str]()
        self._queues = OrderedDict[str, list[_Waiter]]()  # by asker; who came or was served last is at the end
        self._costs = dict[str, float]()  # what an asker's turns have cost, as far as it is ahead of the others
        self._start = 0.0  # what an asker that comes anew begins with: it neither owes nor has saved anything

    @property
    def running(self) -> int:
        """Requests that have a turn."""
        return self._running.total()

    @property
    def waiting(self) -> int:
        """Requests that wait for one."""
        return sum(map(len, self._queues.values()))

    def check(self, asker: str) -> None:
        """Raises Overloaded when ``turn`` would; for an answer whose head goes out before its turn comes."""
        if not self._may_begin(asker) and not self._has_place(asker):
            raise self._refusal()

    @asynccontextmanager
    async def turn(self, asker: str, *, cost: float = 1.0) -> AsyncIterator[None]:
        """Wait for a turn and have it until the end. ``cost``: of the turn, beside others'. Raises Overloaded."""
        self.check(asker)
        waiter = _Waiter(asker, cost, asyncio.get_running_loop().create_future())
        if self.waiting >= self._most_waiting and not self._may_begin(asker):
            self._send_newest_away(self._longest())
        self._queues.setdefault(asker, []).append(waiter)
        async with self._admitted(waiter):
            yield

    @asynccontextmanager
    async def next_turn(self, asker: str, *, cost: float = 1.0) -> AsyncIterator[None]:
        """A further turn for a request that has had one: it needs no place, and comes before the asker's other requests.

        Raises Overloaded where its place is given to another asker.
        """
        waiter = _Waiter(asker, cost, asyncio.get_running_loop().create_future())
        self._queues.setdefault(asker, []).insert(0, waiter)
        async with self._admitted(waiter):
            yield

    @asynccontextmanager
    async def _admitted(self, waiter: _Waiter) -> AsyncIterator[None]:
        await self._wait(waiter)
        began = asyncio.get_running_loop().time()
        try:
            yield
        finally:
            self._mean_s += NEW_SHARE * (asyncio.get_running_loop().time() - began - self._mean_s)
            self._end(waiter.asker)

    async def _wait(self, waiter: _Waiter) -> None:
        asker = waiter.asker
        self._costs[asker] = max(self._start, self._costs.get(asker, 0.0))
        self._serve()
        try:
            await waiter.admitted
        except asyncio.CancelledError:
            if waiter in self._queues.get(asker, ()):
                self._remove(waiter)
                self._serve()  # with one asker less another one may have more turns
            elif not waiter.admitted.cancelled() and waiter.admitted.exception() is None:
                self._end(asker)  # its turn came while it was being cancelled
            raise

    def _may_begin(self, asker: str) -> bool:
        """Whether a request that comes now has its turn at once."""
        return self.running < self._at_once and asker not in self._queues and self._is_within_share(asker)

    def _has_others(self, asker: str) -> bool:
        return any(other != asker for other in (*self._running, *self._queues))

    def _is_within_share(self, asker: str) -> bool:
        return self._running[asker] < self._share or not self._has_others(asker)

    def _has_place(self, asker: str) -> bool:
        own = len(self._queues.get(asker, ()))
        if self._has_others(asker) and own >= self._waiting_share:
            return False
        return self.waiting < self._most_waiting or own + 1 < len(self._queues.get(self._longest(), ()))

    def _longest(self) -> str:
        """The asker that has most places; "" where nobody waits."""
        return max(self._queues, key=lambda asker: len(self._queues[asker]), default="")

    def _send_newest_away(self, asker: str) -> None:
        waiter = self._queues[asker][-1]
        self._remove(waiter)
        if not waiter.admitted.done():
            waiter.admitted.set_exception(self._refusal())

    def _serve(self) -> None:
        """Give the turns that are free to whoever may have them."""
        while self.running < self._at_once:
            allowed = [asker for asker in self._queues if self._is_within_share(asker)]
            if not allowed:
                break
            asker = min(allowed, key=self._costs.__getitem__)
            self._start = max(self._start, self._costs[asker])
            waiter = self._queues[asker][0]
            self._remove(waiter)
            if waiter.admitted.done():  # it is being cancelled
                continue
            if asker in self._queues:
                self._queues.move_to_end(asker)
            self._running[asker] += 1
            self._costs[asker] += waiter.cost
            waiter.admitted.set_result(None)
        self._forget_idle()

    def _end(self, asker: str) -> None:
        self._running[asker] -= 1
        if not self._running[asker]:
            del self._running[asker]
        self._serve()

    def _remove(self, waiter: _Waiter) -> None:
        self._queues[waiter.asker].remove(waiter)
        if not self._queues[waiter.asker]:
            del self._queues[waiter.asker]

    def _forget_idle(self) -> None:
        """Of an asker that neither runs nor waits nothing stays, unless others wait and it is ahead of them."""
        for asker in [*self._costs]:
            is_idle = asker not in self._running and asker not in self._queues
            if is_idle and (self._costs[asker] <= self._start or not self._queues):
                del self._costs[asker]

    def _refusal(self) -> Overloaded:
        wait_s = self._mean_s * (self.waiting + 1) / self._at_once
        return Overloaded(
            f"too much is asked here at once: {self.running} requests are being answered, and {self.waiting} wait",
            retry_after_s=min(max(wait_s, SHORTEST_S), LONGEST_S),
            of_caller=False,
        )
