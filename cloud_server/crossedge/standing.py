"""Which edges are worth asking now, and why the others are not: a breaker for those that fail, a reliability for those that lie."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Collection, Sequence

from cloud_server.crossedge.fan_out import ASKED_FOR
from cloud_server.crossedge.reliability import Reliability
from cloud_server.database import Database
from shared.breaker import Breaker
from shared.errors import StoreError
from shared.ports import Clock
from shared.records import EdgeId, EdgeReport

log = logging.getLogger("dgrag.cloud.standing")
WRITTEN_EVERY_S = 10.0  # a crash may cost so much of what was learnt; a disk sync for each question would cost more
FAIR_S = 1.0  # an edge that had less time and is late has not failed: askers in a hurry must not open breakers


class Standing:
    """Remembers how edges behaved. All methods belong to the event loop's thread; ``reliability``, which only looks, to any."""

    def __init__(
        self, database: Database, clock: Clock, *, breaker_failures: int, breaker_s: float, rng: random.Random | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._rng = rng or random.SystemRandom()
        self._new_breaker: Callable[[], Breaker] = lambda: Breaker(breaker_failures, breaker_s, clock)
        self._breakers: dict[EdgeId, Breaker] = {}
        rows = database.rows("SELECT edge, useful, useless FROM reliability")
        self._reliability = {EdgeId(edge): Reliability(useful, useless) for edge, useful, useless in rows}
        self._unwritten: set[EdgeId] = set()
        self._written = clock.monotonic()

    def chosen(self, edges: Sequence[EdgeId], *, k: int, online: Callable[[EdgeId], bool]) -> tuple[list[EdgeId], list[EdgeReport]]:
        """The first edges of ``edges`` to ask, until ``k`` of them are online, and a report for each that is passed over.

        An edge that is offline is among the first, so that the answer names it, but takes nobody's place.
        """
        asked, skipped, reached = [], [], 0
        for edge in edges:
            if reached == k:
                break
            reason = self._why_not(edge) if online(edge) else ""
            if reason:
                skipped.append(EdgeReport(edge, ASKED_FOR, "skipped", 0.0, 0, 0, reason))
            else:
                asked.append(edge)
                reached += online(edge)
        return asked, skipped

    def lets(self, edge: EdgeId) -> bool:
        """Whether an edge's breaker is closed, or a probe is due: whether it is of use plays no part."""
        return edge not in self._breakers or self._breakers[edge].allows()

    async def note(self, reports: Sequence[EdgeReport], *, matched: Collection[EdgeId], useful: Collection[EdgeId]) -> None:
        """Learn from a fan-out; ``matched`` were asked because of their summaries, ``useful`` held a passage worth keeping.

        Offline and refused are no failures: such an edge holds up nobody.
        """
        for report in reports:
            if report.status == "failed" or (report.status == "late" and report.ms >= FAIR_S * 1000):
                self._breakers.setdefault(report.edge, self._new_breaker()).failed()
            elif report.status in {"answered", "refused"} and report.edge in self._breakers:
                self._breakers[report.edge].succeeded()
            if report.status == "answered" and report.edge in matched:
                self._reliability[report.edge] = self._of(report.edge).after(useful=report.edge in useful)
                self._unwritten.add(report.edge)
        if self._unwritten and self._clock.monotonic() - self._written >= WRITTEN_EVERY_S:
            await self._write()

    def reliability(self, edge: EdgeId) -> float:
        """Share of an edge's recent replies that were of use, [0, 1]; 1 while too few are known."""
        return self._of(edge).share

    def _why_not(self, edge: EdgeId) -> str:
        if self._rng.random() >= self._of(edge).asked_with_probability:
            return "its replies were hardly ever of use"
        if self.lets(edge):
            return ""
        return f"it failed several times in a row; asked again in {self._breakers[edge].left_s():.0f} s"

    def _of(self, edge: EdgeId) -> Reliability:
        return self._reliability.get(edge, Reliability())

    async def _write(self) -> None:
        self._written = self._clock.monotonic()
        rows = [(edge, self._reliability[edge].useful, self._reliability[edge].useless) for edge in self._unwritten]
        self._unwritten.clear()
        try:
            await asyncio.to_thread(self._insert, rows)
        except StoreError as error:  # an answer is worth more than what was learnt from it
            log.warning("what was learnt of edges is not stored: %s", error.code)

    def _insert(self, rows: Sequence[tuple[EdgeId, float, float]]) -> None:
        with self._database.write() as tx:
            tx.executemany("INSERT OR REPLACE INTO reliability (edge, useful, useless) VALUES (?, ?, ?)", rows)
