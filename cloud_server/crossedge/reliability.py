"""How often an edge's replies were of use: the answer to summaries that attract questions they cannot serve (goal S10)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

WINDOW = 50.0  # replies; older ones weigh less and less
ENOUGH = 20.0  # replies before anything is concluded
LEAST_SHARE = 0.2  # useful replies, below which an edge is asked …
PROBE_SHARE = 0.2  # … with this probability: it must be able to recover
VOICE = 7.0  # replies that count of what another requester saw: three of them can make an edge look useless, two cannot


@dataclass(frozen=True, slots=True)
class Reliability:
    """Replies of one edge that held something useful, and replies that did not, as weights: of one requester WINDOW at most in sum."""

    useful: float = 0.0
    useless: float = 0.0

    @property
    def replies(self) -> float:
        """The sum of both."""
        return self.useful + self.useless

    @property
    def share(self) -> float:
        """Of useful replies, [0, 1]; 1 before ENOUGH is known."""
        return 1.0 if self.replies < ENOUGH else self.useful / self.replies

    @property
    def asked_with_probability(self) -> float:
        """1, or PROBE_SHARE for an edge that is hardly ever of use.

        >>> Reliability(useful=5, useless=15).asked_with_probability, Reliability(useful=3, useless=17).asked_with_probability
        (1.0, 0.2)
        """
        return PROBE_SHARE if self.share < LEAST_SHARE else 1.0

    def after(self, *, useful: bool) -> Reliability:
        """One reply later.

        >>> Reliability(10, 40).after(useful=True)
        Reliability(useful=10.8, useless=39.2)
        """
        earlier = self.at_most(WINDOW - 1)
        return Reliability(earlier.useful + useful, earlier.useless + (not useful))

    def at_most(self, replies: float) -> Reliability:
        """The same share, of so many replies at most.

        >>> Reliability(10, 40).at_most(5)
        Reliability(useful=1.0, useless=4.0)
        """
        kept = min(1.0, replies / self.replies) if self.replies else 1.0
        return Reliability(self.useful * kept, self.useless * kept)


def total(records: Iterable[Reliability]) -> Reliability:
    """What several requesters saw, together.

    >>> total([Reliability(1, 2), Reliability(3, 4)])
    Reliability(useful=4.0, useless=6.0)
    """
    records = list(records)
    return Reliability(sum((one.useful for one in records), 0.0), sum((one.useless for one in records), 0.0))
