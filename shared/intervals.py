"""How sure a share is: Wilson's interval. Pure."""

from __future__ import annotations

from math import sqrt

Z = 1.959964  # of the normal distribution, two-sided at 95 %


def wilson_interval(share: float, n: int) -> tuple[float, float]:
    """The 95 % interval of a share of ``n`` that were drawn; it has a width at 0 and 1 too.

    >>> low, high = wilson_interval(1.0, 15)
    >>> round(low, 3), round(high, 3)  # 15 / (15 + 1.96²)
    (0.796, 1.0)
    """
    middle, half = share + Z**2 / (2 * n), Z * sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    low, high = ((middle + side) / (1 + Z**2 / n) for side in (-half, half))
    return max(0.0, low), min(1.0, high)
