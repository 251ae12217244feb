"""Token buckets by name: how often somebody may come. Pure: the time is given."""

from __future__ import annotations

from collections import OrderedDict

MOST_NAMES = 10_000  # beyond, the one who came longest ago is forgotten: strangers must not fill the memory


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
