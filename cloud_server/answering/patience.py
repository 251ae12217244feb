"""How long a fan-out waits for who has not replied, by what others took: one edge alone does not decide how long an answer takes.

Who is beyond that is left out of this answer. No edge gains time by being slow: its own usual time counts up to twice what edges
usually take, and that is the median of the edges, which a minority does not move. When all are slow, all are waited for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from statistics import median, quantiles

from shared.records import EdgeId, EdgeReport

SLOWER = 3  # times the median of those that came …
LONGER = 2  # … and times the slowest of them: an answer takes at most twice as long as without the last ones
MARGIN = 1.5  # times what an edge usually takes itself
FEW = 4  # a quarter of the edges, and one at least, are few: the others say how long a question takes
ENOUGH = 3  # replies of others, to judge one that was never heard
LEAST_S = 3.0  # that an edge has, however fast the others are: a site on a slow machine or a far line needs it
NOTICED_S = 0.75  # nobody who waits for a model notices less
WINDOW = 50  # replies of an edge that are remembered


class Patience:
    """Remembers what edges took for passages."""

    def __init__(self, *, least_s: float = LEAST_S) -> None:
        self._least_s = least_s
        self._took_s: dict[EdgeId, deque[float]] = {}

    def note(self, edge: EdgeId, seconds: float) -> None:
        """An edge took so long, or was no longer waited for."""
        self._took_s.setdefault(edge, deque(maxlen=WINDOW)).append(seconds)

    def forget(self, edge: EdgeId) -> None:
        """It was expelled."""
        self._took_s.pop(edge, None)

    def limit_s(
        self, pending: Collection[EdgeId], came_s: Sequence[float], *, among: int, straggler_s: float, is_later: bool
    ) -> float | None:
        """Seconds from the beginning after which nobody of ``pending`` is waited for; None: less than half have come, so it is not known.

        ``came_s``: what the others took, also in earlier rounds; ``among``: so many edges, with ``pending``. ``is_later``: a round after
        another one, in which everybody has shown how long it takes: such a round adds no more than the first one took.
        """
        if not came_s or 2 * len(came_s) < among:
            return None
        if len(pending) > max(1, among // FEW):
            return max(straggler_s, SLOWER * max(came_s))
        longer = 1 if is_later else LONGER
        limit_s = min(SLOWER * median(came_s), longer * max(came_s))
        is_known = among > 2 and all(edge in self._took_s for edge in pending)  # of two, which one is slow is not known
        least_s = self._least_s if is_known or len(came_s) >= ENOUGH else straggler_s
        return max(least_s, limit_s, *(self._usual_s(edge, longer) for edge in pending))

    def _usual_s(self, edge: EdgeId, longer: int) -> float:
        """As long as this edge usually takes, within what edges usually take; 0: not known."""
        own = self._took_s.get(edge)
        if own is None:
            return 0.0
        usual_s = median(map(median, self._took_s.values()))
        return min(MARGIN * _high(own), longer * usual_s)


def straggler(reports: Sequence[EdgeReport]) -> EdgeId | None:
    """The edge that alone held a round up, so that it is not asked in another one for the same answer; None: none did.

    >>> reports = [EdgeReport(EdgeId(name), "evidence", "answered", ms, 0, 0) for name, ms in [("a", 900), ("b", 1000), ("c", 1800)]]
    >>> straggler(reports), straggler(reports[:2])
    ('c', None)
    """
    answered = sorted((report for report in reports if report.status == "answered"), key=lambda report: report.ms)
    if len(answered) < ENOUGH:
        return None
    *_, next_to_last, last = answered
    is_alone = last.ms > MARGIN * next_to_last.ms and last.ms > NOTICED_S * 1000
    return last.edge if is_alone else None


def _high(times: Collection[float]) -> float:
    """What nine of ten stay below."""
    return quantiles(times, n=10, method="inclusive")[-1] if len(times) > 1 else next(iter(times))
