"""Arithmetic on (n, d) float32 rows, with one rule for ties; unit vectors as whole numbers, whose sums are exact in any order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shared.ports import FloatArray

Ints = NDArray[np.int16]
ONE = 4_000  # stands for 1.0: the product of two such vectors stays under 2**24, up to where float32 holds every whole number
MOST_SUMMED = 4_096  # vectors whose sum does so too


def unit(rows: FloatArray) -> FloatArray:
    """Return rows scaled to norm 1, float32. Raises ValueError for a row that is zero or not finite.

    >>> unit(np.array([[3.0, 4.0]], dtype=np.float32))
    array([[0.6, 0.8]], dtype=float32)
    """
    rows = np.asarray(rows, dtype=np.float32)
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    if not np.isfinite(norms).all() or (norms == 0).any():
        raise ValueError("a row is zero or not finite, so it has no direction")
    return np.ascontiguousarray(rows / norms, dtype=np.float32)


def checked(vectors: FloatArray, *, rows: int, dimensions: int) -> FloatArray:
    """Return ``vectors`` if they are (rows, dimensions) finite unit float32; raise ValueError that says what is wrong."""
    with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite, and is refused below
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        if vectors.shape != (rows, dimensions):
            raise ValueError(f"vectors have shape {vectors.shape}, expected {(rows, dimensions)}")
        norms = np.linalg.norm(vectors, axis=1)
    if not np.isfinite(norms).all() or (np.abs(norms - 1.0) > 1e-3).any():
        raise ValueError("a vector is not finite or not of norm 1")
    return vectors


def top_rows(scores: FloatArray, k: int) -> list[int]:
    """Row numbers of the k best scores, best first, ties by row number.

    >>> top_rows(np.array([0.1, 0.9, 0.9], dtype=np.float32), 2)
    [1, 2]
    """
    k = min(k, len(scores))
    if k <= 0:
        return []
    if k < len(scores):  # a partition finds the k-th best in O(n); all rows that tie with it stay in play
        kth = np.partition(scores, len(scores) - k)[len(scores) - k]
        rows = np.flatnonzero(scores >= kth)
    else:
        rows = np.arange(len(scores))
    order = np.argsort(-scores[rows], kind="stable")
    return [int(row) for row in rows[order][:k]]


def mean_pairwise_cosine(rows: FloatArray) -> float:
    """Mean cosine over all unordered pairs of unit rows (n, d); 1.0 for a single row (DGRAG §III-C ⑤ 2).

    >>> mean_pairwise_cosine(np.eye(3, dtype=np.float32))
    0.0
    """
    n = len(rows)
    if n < 2:
        return 1.0
    total = float((rows @ rows.T).sum() - (rows * rows).sum())
    return total / (n * (n - 1))


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
