"""How often a process may repeat what failed: repeats must stay a small part of the load, or they are what keeps a server down."""

from __future__ import annotations

import math
import threading


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
