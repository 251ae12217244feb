"""Leave alone for a while what keeps failing (circuit breaker; Finagle's and Envoy's figures: 5 failures, 30 s, one probe)."""

from __future__ import annotations

from shared.ports import Clock


class Breaker:
    """Closed: all calls go. Open: none, for ``open_s`` seconds. Then one probe goes; its end closes the breaker or opens it anew.

    A probe whose end is never told counts as lost after ``open_s`` seconds: the next call is the probe then.

    >>> from shared.clock import SystemClock
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
        return 0.0 if self._ends is None else max(0.0, self._ends - self._clock.monotonic())
