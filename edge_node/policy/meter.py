"""What each requester has had today, so that a policy's daily limits hold also while several replies are under way."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Protocol

from edge_node.policy.rules import Daily
from shared.ports import Clock

DAY_S = 86_400.0


class Spent(Protocol):
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


class Spending(Protocol):
    """The ledger, as far as it is needed here."""

    def spent(self, requester: str, *, since: float) -> Spent:
        """What a requester was sent since a time (seconds since the epoch)."""


class Meter:
    """Counts a day (UTC) for each requester; at the first look of a day the ledger says what there was before."""

    def __init__(self, ledger: Spending, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._day = -1
        self._had: dict[str, tuple[int, int, int]] = {}
        self._lock = Lock()

    def take(self, requester: str, sizes: Sequence[int], daily: Daily) -> int:
        """How many of the passages with these sizes (bytes) may go in one reply; they count as sent from now on. 0: none, and no reply."""
        with self._lock:
            kept = self._allowed(requester, sizes, daily)
            if kept:
                replies, passages, size = self._today(requester)
                self._had[requester] = (replies + 1, passages + kept, size + sum(sizes[:kept]))
            return kept

    def allowance(self, requester: str, sizes: Sequence[int], daily: Daily) -> int:
        """The same, and nothing counts as sent."""
        with self._lock:
            return self._allowed(requester, sizes, daily)

    def _allowed(self, requester: str, sizes: Sequence[int], daily: Daily) -> int:
        replies, passages, size = self._today(requester)
        kept = len(sizes) if not daily.replies or replies < daily.replies else 0
        if daily.passages:
            kept = min(kept, max(0, daily.passages - passages))
        while daily.bytes and kept and size + sum(sizes[:kept]) > daily.bytes:
            kept -= 1
        return kept

    def _today(self, requester: str) -> tuple[int, int, int]:
        day = int(self._clock.now() // DAY_S)
        if day != self._day:
            self._day, self._had = day, {}
        if requester not in self._had:
            spent = self._ledger.spent(requester, since=day * DAY_S)
            self._had[requester] = (spent.replies, spent.passages, spent.bytes)
        return self._had[requester]
