"""Unit vectors as whole numbers: their sums and products are exact, so no order of arithmetic can show in a result."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shared.ports import FloatArray
from shared.vectors import unit

Ints = NDArray[np.int16]
ONE = 4_000  # stands for 1.0: the product of two such vectors stays under 2**24, up to where float32 holds every whole number
MOST_SUMMED = 4_096  # vectors whose sum does so too


def to_ints(vectors: FloatArray) -> Ints:
    """Unit rows (n, d), or one (d,), in steps of 1/4,000. A cosine moves by about 1e-4.

    Computed in float32, any product of two rows and any sum of up to 4,096 rows is exact, in whatever blocks and order.

    >>> to_ints(np.array([0.6, -0.8], dtype=np.float32))
    array([ 2400, -3200], dtype=int16)
    """
    return np.rint(vectors * ONE).astype(np.int16)


def from_ints(rows: Ints) -> FloatArray:
    """The unit rows (n, d) that whole numbers stand for, float32. Raises ValueError for a row of zeros.

    >>> from_ints(np.array([[2400, -3200]], dtype=np.int16))
    array([[ 0.6, -0.8]], dtype=float32)
    """
    return unit(rows.astype(np.float32))
