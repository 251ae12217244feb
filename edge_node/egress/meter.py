"""What each requester has had today, so that a policy's daily limits hold also while several replies are under way."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from threading import Lock
from typing import Protocol

from edge_node.policy.rules import Daily
from shared.ports import Clock

log = logging.getLogger("dgrag.edge.policy")
DAY_S = 86_400.0
MAX_NAMES = 10_000  # of requesters that are remembered
ALARM_SHARE, ALARM_LEAST = 0.05, 50  # of all passages, had in a day; and so many: small sites are read whole


@dataclass(frozen=True, slots=True)
class Told:
    """A passage or point of a reply: its bytes, and the ids of the different chunks that it rests on."""

    size: int
    ids: tuple[str, ...] = ()


class SpentToday(Protocol):
    """What a ledger says was sent."""

    @property
    def replies(self) -> int:
        """How many of them had evidence."""

    @property
    def passages(self) -> int:
        """In all of them."""

    @property
    def bytes(self) -> int:
        """Of their bodies."""


class SpendingLedger(Protocol):
    """The ledger, as far as it is needed here."""

    def spent(self, requester: str | None, *, since: float) -> SpentToday:
        """What a requester, or all of them together (None), were sent since a time (seconds since the epoch)."""

    def disclosed(self, requester: str | None, *, since: float) -> frozenset[str]:
        """The ids of the different passages that a requester, or all of them together (None), were sent since a time."""


class DailyLimits(Protocol):
    """A policy, as far as it is needed here."""

    @property
    def daily(self) -> Daily:
        """What each requester gets."""

    @property
    def daily_all(self) -> Daily:
        """What all of them get together: their names are the cloud's word."""


class EgressMeter:
    """Counts a day (UTC) for each requester that is limited, and for all; at the first look the ledger says what there was before."""

    def __init__(self, ledger: SpendingLedger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._day = -1
        self._had: dict[str | None, tuple[int, int, int]] = {}
        self._seen: dict[str | None, set[str]] = {}  # different chunks of the day
        self._warned: set[str | None] = set()
        self._lock = Lock()

    def _passages(self, who: str | None) -> set[str]:
        self._begin_day()
        if who not in self._seen:
            if len(self._seen) >= MAX_NAMES:
                gone = _oldest(self._seen)
                del self._seen[gone]  # the ledger knows them
                self._warned.discard(gone)
            self._seen[who] = set(self._ledger.disclosed(who, since=self._day * DAY_S))
        return self._seen[who]

    def _begin_day(self) -> None:
        day = int(self._clock.now() // DAY_S)
        if day != self._day:
            self._day, self._had, self._seen, self._warned = day, {}, {}, set()

    def take(self, requester: str, told: Sequence[Told], limits: DailyLimits, there: int) -> int:
        """How many of the first passages may go in one reply; they count as sent from now on. 0: none, and no reply.

        Nobody gets more different chunks than the share of all ``there`` that is allowed. Looked at and counted under one lock, so that
        replies which are made at once do not pass a limit together.
        """
        with self._lock:
            kept = self._allowed(requester, told, limits, there)
            for who, daily in _asked(requester, limits):
                if kept and not daily.lifted:
                    replies, passages, size = self._today(who)
                    self._had[who] = (replies + 1, passages + sum(map(_chunks, told[:kept])), size + sum(one.size for one in told[:kept]))
            if kept:
                self._note(requester, frozenset().union(*(one.ids for one in told[:kept])), there)
            return kept

    def allowance(self, requester: str, told: Sequence[Told], limits: DailyLimits, there: int) -> int:
        """The same, and nothing counts as sent."""
        with self._lock:
            return self._allowed(requester, told, limits, there)

    def _allowed(self, requester: str, told: Sequence[Told], limits: DailyLimits, there: int) -> int:
        kept = len(told)
        for who, daily in _asked(requester, limits):
            if daily.lifted:
                self._had.pop(who, None)  # what goes meanwhile is not counted here
            elif kept:
                kept = _within(self._today(who), told[:kept], daily)
            if kept and daily.share:
                kept = _within_share(self._passages(who), told[:kept], int(daily.share * there))
        return kept

    def _note(self, requester: str, ids: AbstractSet[str], there: int) -> None:
        """Remember the chunks of a reply; a log says once a day that a requester, or all together, had a large share (goal S12)."""
        for who in (None, requester):
            seen = self._passages(who)
            seen.update(ids)
            if len(seen) >= max(ALARM_SHARE * there, ALARM_LEAST) and who not in self._warned:
                self._warned.add(who)
                log.warning("%s had %d of %d passages of this site today", _crawling(who), len(seen), there)

    def _today(self, who: str | None) -> tuple[int, int, int]:
        self._begin_day()
        if who not in self._had:
            if len(self._had) >= MAX_NAMES:
                del self._had[_oldest(self._had)]  # the ledger knows it
            spent = self._ledger.spent(who, since=self._day * DAY_S)
            self._had[who] = (spent.replies, spent.passages, spent.bytes)
        return self._had[who]


def _asked(requester: str, limits: DailyLimits) -> tuple[tuple[str | None, Daily], ...]:
    """All together first: once they have had theirs, an invented name is not even looked up."""
    return (None, limits.daily_all), (requester, limits.daily)


def _oldest(names: Iterable[str | None]) -> str:
    """All together (None) are never forgotten: to count them anew the whole day is read."""
    return next(name for name in names if name is not None)


def _crawling(who: str | None) -> str:
    return "the requesters together crawl: they have" if who is None else f"{who or 'somebody'} crawls: it has"


def _chunks(told: Told) -> int:
    return max(1, len(told.ids))


def _within(had: tuple[int, int, int], told: Sequence[Told], daily: Daily) -> int:
    replies, passages, size = had
    kept = len(told) if not daily.replies or replies < daily.replies else 0
    while daily.passages and kept and passages + sum(map(_chunks, told[:kept])) > daily.passages:
        kept -= 1
    while daily.bytes and kept and size + sum(one.size for one in told[:kept]) > daily.bytes:
        kept -= 1
    return kept


def _within_share(seen: AbstractSet[str], told: Sequence[Told], most: int) -> int:
    """How many of the first passages may go so that there are at most so many different chunks."""
    ids = set(seen)
    for row, one in enumerate(told):
        ids.update(one.ids)
        if len(ids) > most:
            return row
    return len(told)
