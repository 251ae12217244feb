"""Several methods' findings as one: each finds its share of the budget, and the order is a fusion of their orders."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import fsum

DAMPING = 60  # of reciprocal-rank fusion (Cormack et al. 2009)
ROUNDING = 1e-6  # of a sum of shares


def fused(orders: Sequence[Sequence[str]], shares: Sequence[float]) -> list[str]:
    """All keys of some orders, best first: by the sum of share / (60 + rank), ranks from 1; ties by key.

    >>> fused([["a", "b"], ["b", "c"]], [0.5, 0.5])
    ['b', 'a', 'c']
    """
    votes: defaultdict[str, list[float]] = defaultdict(list)
    for order, share in zip(orders, shares, strict=True):
        for rank, key in enumerate(order, start=1):
            votes[key].append(share / (DAMPING + rank))
    scores = {key: fsum(of_key) for key, of_key in votes.items()}  # exact: whichever method comes first
    return sorted(scores, key=lambda key: (-scores[key], key))


def parsed_mix(value: object) -> Mapping[str, float]:
    """Methods and their shares of the budget, as in "ketrag=0.5,erarag=0.5", or as a mapping. Raises ValueError that says what is wrong.

    >>> dict(parsed_mix("ketrag=0.5, erarag=0.5"))
    {'ketrag': 0.5, 'erarag': 0.5}
    """
    shares = _parsed(value) if isinstance(value, str) else value
    if not isinstance(shares, Mapping) or not all(isinstance(share, float | int) for share in shares.values()):
        raise ValueError(f"{value!r} must name methods with their shares, as in ketrag=0.5,erarag=0.5")
    if len(shares) < 2 or not all(0 < share <= 1 for share in shares.values()) or abs(sum(shares.values()) - 1) > ROUNDING:
        raise ValueError(f"{value!r} must name two methods at least, with shares above 0 that add up to 1")
    return shares


def _parsed(text: str) -> dict[str, float]:
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = (word.strip() for word in part.partition("="))
        if not name or name in shares:
            raise ValueError(f"{text!r} must name each method once, as in ketrag=0.5,erarag=0.5")
        try:
            shares[name] = float(share)
        except ValueError:
            raise ValueError(f"the share of {name!r} must be a number, as in ketrag=0.5,erarag=0.5") from None
    return shares
