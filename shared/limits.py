"""What bounds a request: rates, a breaker before a dead peer, a budget of retries, one deadline (goal R13)."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from shared.ports import Clock  # brings NumPy, which a client has no use for

MOST_NAMES = 10_000  # beyond, the one who came longest ago is forgotten: strangers must not fill the memory

LONGEST_RETRY_S = 86_400.0  # a server that names more has lost its clock
BreakerState = Literal["closed", "open", "half-open"]


class Breaker:
    """Closed: all calls go. Open: none, for ``open_s`` seconds. Then one probe goes; its end closes the breaker or opens it anew.

    A probe whose end is never told counts as lost after ``open_s`` seconds: the next call is the probe then.

    >>> from shared.ports import SystemClock
    >>> breaker = Breaker(failures=2, open_s=30.0, clock=SystemClock())
    >>> breaker.failed(), breaker.allows(), breaker.failed(), breaker.allows()
    (None, True, None, False)
    >>> 29 < breaker.left_s() <= 30
    True
    >>> breaker.succeeded(), breaker.allows(), breaker.left_s()
    (None, True, 0.0)
    """

    def __init__(self, failures: int, open_s: float, clock: Clock) -> None:
        self._failures = failures  # in a row
        self._open_s = open_s
        self._clock = clock
        self._in_row = 0
        self._ends: float | None = None  # monotonic seconds: no call before; None: closed
        self._probing = False

    def allows(self) -> bool:
        """Whether a call may go now. While half open the one True is the probe: ask only for a call that is made then."""
        if self._ends is None:
            return True
        if self._clock.monotonic() < self._ends:
            return False
        self._probing = True
        self._ends = self._clock.monotonic() + self._open_s
        return True

    def succeeded(self) -> None:
        """A call was answered: the next ones go."""
        self._in_row, self._ends, self._probing = 0, None, False

    def failed(self) -> None:
        """A call failed. One too many in a row, or a failed probe, opens the breaker; while it is open, a late failure changes nothing."""
        self._in_row += 1
        if self._probing or (self._ends is None and self._in_row >= self._failures):
            self._ends = self._clock.monotonic() + self._open_s
            self._probing = False

    def left_s(self) -> float:
        """Seconds until the next call may go; 0 when one may."""
        ends = self._ends  # another thread may look
        return 0.0 if ends is None else max(0.0, ends - self._clock.monotonic())

    def state(self) -> BreakerState:
        """As it is now; a look changes nothing.

        >>> from shared.ports import SystemClock
        >>> breakers = [Breaker(failures=1, open_s=open_s, clock=SystemClock()) for open_s in (30.0, 0.0)]
        >>> [breaker.state() for breaker in breakers], [breaker.failed() for breaker in breakers], [breaker.state() for breaker in breakers]
        (['closed', 'closed'], [None, None], ['open', 'half-open'])
        """
        if self._ends is None:
            return "closed"
        return "open" if self.left_s() else "half-open"


class Buckets:
    """``per_minute`` requests a minute for each name, as many at once.

    >>> buckets = Buckets(2)
    >>> [buckets.take("ward", now=at) for at in (0.0, 0.0, 0.0, 30.0)]
    [0.0, 0.0, 30.0, 0.0]
    """

    def __init__(self, per_minute: int, *, most_names: int = MOST_NAMES) -> None:
        self._capacity = float(per_minute)
        self._per_s = per_minute / 60
        self._most_names = most_names
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # name -> requests left, at this time

    def take(self, name: str, *, now: float) -> float:
        """Use one request up; 0, or the seconds after which there is one again (then none is used up)."""
        left, since = self._left.pop(name, (self._capacity, now))
        left = min(self._capacity, left + (now - since) * self._per_s)
        wait_s = 0.0 if left >= 1 else (1 - left) / self._per_s
        self._left[name] = (left if wait_s else left - 1, now)
        if len(self._left) > self._most_names:
            self._left.popitem(last=False)
        return wait_s


class RetryBudget:
    """Allows ``reserve`` repeats, and ``share`` of the first calls more. It counts and has no clock; safe to use from any thread.

    Every call is counted with ``attempt``, whoever repeats one asks ``take`` before: first calls are the attempts less the repeats.

    >>> budget = RetryBudget(share=0.5, reserve=1)
    >>> budget.take(), budget.take()
    (True, False)
    >>> for _ in range(3):  # one of them is the repeat
    ...     budget.attempt()
    >>> budget.take(), budget.take()
    (True, False)
    """

    def __init__(self, *, share: float = 0.2, reserve: int = 10) -> None:
        self._share = share
        self._reserve = reserve
        self._attempts = 0
        self._repeats = 0
        self._lock = threading.Lock()

    def attempt(self) -> None:
        """Count a call, whether it is the first one or a repeat."""
        with self._lock:
            self._attempts += 1

    def take(self) -> bool:
        """Whether one failed call may be repeated; if so, the repeat is counted."""
        with self._lock:
            first_calls = max(0, self._attempts - self._repeats)
            allowed = self._repeats < self._reserve + math.floor(self._share * first_calls + 1e-9)
            self._repeats += allowed
            return allowed


def retry_after_s(value: str, *, date: str) -> float | None:
    """Seconds that a server asks to wait, at most LONGEST_S; None for nonsense.

    ``date`` is the same response's header Date: with both times by the server's clock, ours may be wrong.

    >>> retry_after_s("2", date=""), retry_after_s("soon", date="")
    (2.0, None)
    >>> retry_after_s("Wed, 21 Oct 2026 07:28:03 GMT", date="Wed, 21 Oct 2026 07:28:00 GMT")
    3.0
    """
    if value.isascii() and value.isdigit():
        return min(float(value), LONGEST_RETRY_S)
    until, now = _snapshot(value), _snapshot(date)
    return None if until is None or now is None else min(max(0.0, (until - now).total_seconds()), LONGEST_RETRY_S)


def _snapshot(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class Deadline:
    """So many seconds from now.

    >>> seconds = iter([10.0, 13.0])
    >>> Deadline(5.0, now=lambda: next(seconds)).left_s()
    2.0
    """

    def __init__(self, seconds: float, *, now: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._now = now
        self._ends = now() + seconds

    def left_s(self) -> float:
        """Seconds that remain, never below zero."""
        return max(0.0, self._ends - self._now())
