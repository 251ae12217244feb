"""How often an edge's replies were of use: the answer to summaries that attract questions they cannot serve (goal S10)."""

from __future__ import annotations

from dataclasses import dataclass

WINDOW = 50.0  # replies; older ones weigh less and less
ENOUGH = 20.0  # replies before anything is concluded
LEAST_SHARE = 0.2  # useful replies, below which an edge is asked …
PROBE_SHARE = 0.2  # … with this probability: it must be able to recover


@dataclass(frozen=True, slots=True)
class Reliability:
    """Replies of one edge that held something useful, and replies that did not, as weights that sum to WINDOW at most."""

    useful: float = 0.0
    useless: float = 0.0

    @property
    def share(self) -> float:
        """Of useful replies, [0, 1]; 1 before ENOUGH is known."""
        replies = self.useful + self.useless
        return 1.0 if replies < ENOUGH else self.useful / replies

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
        replies = self.useful + self.useless
        kept = (WINDOW - 1) / replies if replies > WINDOW - 1 else 1.0
        return Reliability(self.useful * kept + useful, self.useless * kept + (not useful))
