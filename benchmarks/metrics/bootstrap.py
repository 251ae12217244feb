"""How sure a mean is: the percentile bootstrap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.records import Estimate

CONFIDENCE = 0.95
BLOCK_CELLS = 4_000_000  # drawn at once: 64 MB, whatever the sample's size


def bootstrap(values: Sequence[float], *, seed: int, resamples: int = 2000) -> Estimate:
    """Return the mean with its 95 % interval: percentiles of the means of samples drawn again with replacement.

    Of paired systems give the differences. One value has an interval of no width: look at ``n``.
    Raises ValueError for no values or one that is no finite number.

    >>> bootstrap([1.0, 1.0, 1.0], seed=0)
    Estimate(mean=1.0, low=1.0, high=1.0, n=3)
    """
    sample = np.asarray(values, dtype=np.float64)
    if not sample.size or not np.isfinite(sample).all():
        raise ValueError(f"a mean needs finite numbers, these are {list(values)[:5]}: leave out what was not measured")
    rng = np.random.default_rng(seed)
    block = max(1, BLOCK_CELLS // sample.size)
    sizes = [min(block, resamples - start) for start in range(0, resamples, block)]
    means = np.concatenate([sample[rng.integers(sample.size, size=(size, sample.size))].mean(axis=1) for size in sizes])
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(means, [tail, 100 - tail])
    return Estimate(float(sample.mean()), float(low), float(high), int(sample.size))
