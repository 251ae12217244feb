"""How sure a share is: Wilson's interval. A question asked twice is one of the sample. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from shared.intervals import wilson_interval


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its 95 % interval; ``n`` counts what was drawn: questions, each once however often it was asked."""

    mean: float
    low: float
    high: float
    n: int


def wilson(values: Sequence[float], *, of: Sequence[Hashable] | None = None) -> Estimate:
    """Return the share of ones among zeros and ones with Wilson's 95 % interval, which has a width at 0 and 1 too.

    ``n`` counts questions: two askings of one question tell no more here than one of them.

    >>> found = wilson([1.0] * 15)
    >>> round(found.low, 3), round(found.high, 3)  # 15 / (15 + 1.96²)
    (0.796, 1.0)
    """
    share, n = sum(values) / len(values), len(set(of or range(len(values))))
    return Estimate(float(share), *wilson_interval(share, n), n)
