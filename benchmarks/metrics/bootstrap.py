"""How sure a mean is that is no share: the percentile bootstrap. A question asked twice is one of the sample."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from deploy.evaluation.intervals import Estimate

CONFIDENCE = 0.95
ENOUGH = 10  # questions: of fewer nothing is called clear, as a few equal values have a bootstrap of no width
BLOCK_CELLS = 4_000_000  # drawn at once: 64 MB, whatever the sample's size


def bootstrap(values: Sequence[float], *, seed: int, of: Sequence[Hashable] | None = None, resamples: int = 2000) -> Estimate:
    """Return the mean with its 95 % interval: percentiles of the means of samples drawn again with replacement.

    ``of`` names the question of each value: those of one question are drawn together, and ``n`` counts questions. Without it each value
    has its own. Of paired systems give the differences. One question has an interval of no width: look at ``n``.
    Raises ValueError for no values or one that is no finite number.

    >>> bootstrap([1.0, 1.0, 1.0], seed=0)
    Estimate(mean=1.0, low=1.0, high=1.0, n=3)
    """
    if not values or not np.isfinite(np.asarray(values, dtype=np.float64)).all():
        raise ValueError(f"a mean needs finite numbers, these are {list(values)[:5]}: leave out what was not measured")
    return ratio(values, [1.0] * len(values), seed=seed, of=of, resamples=resamples)


def ratio(
    above: Sequence[float], below: Sequence[float], *, seed: int, of: Sequence[Hashable] | None = None, resamples: int = 2000
) -> Estimate:
    """Return the ratio of two sums over the same askings; for the interval questions are drawn again, as ``bootstrap`` does it.

    >>> ratio([1.0, 1.0], [4.0, 4.0], seed=0)
    Estimate(mean=0.25, low=0.25, high=0.25, n=2)
    """
    ours, theirs = _by_question(above, of), _by_question(below, of)
    rng = np.random.default_rng(seed)
    block = max(1, BLOCK_CELLS // ours.size)
    shares = []
    for start in range(0, resamples, block):
        drawn = rng.integers(ours.size, size=(min(block, resamples - start), ours.size))
        sums = theirs[drawn].sum(axis=1)
        shares.append(ours[drawn].sum(axis=1)[sums > 0] / sums[sums > 0])
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(np.concatenate(shares), [tail, 100 - tail])
    return Estimate(float(ours.sum() / theirs.sum()), float(low), float(high), int(ours.size))


def _by_question(values: Sequence[float], of: Sequence[Hashable] | None) -> NDArray[np.float64]:
    """The sum of each question's values."""
    places: dict[Hashable, int] = {}
    questions = [places.setdefault(one, len(places)) for one in (of or range(len(values)))]
    return np.asarray(np.bincount(questions, weights=values), dtype=np.float64)
