"""The real clock."""

from __future__ import annotations

import time


class SystemClock:
    """Implements ``shared.ports.Clock``."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back."""
        return time.monotonic()
