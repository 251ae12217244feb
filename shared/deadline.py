"""One deadline for a whole request, that shrinks step by step."""

from __future__ import annotations

import time
from collections.abc import Callable


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
