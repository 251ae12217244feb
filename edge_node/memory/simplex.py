"""Projection of rows onto the probability simplex, as sparse rows (FD-RAG §4.1, eq. 4 and 18)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shared.ports import FloatArray

IntArray = NDArray[np.int64]
MOST = 32  # entries of a row


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A sparse matrix: ``columns`` and ``values`` (n, c), the largest value of a row first, ties by column.

    An entry of value 0 is padding, whatever its column.
    """

    columns: IntArray
    values: FloatArray


def projected(scores: FloatArray, *, most: int = MOST) -> Rows:
    """Project each row of ``scores`` (n, m), m >= 1, onto the simplex: the nearest row that is >= 0 and sums to 1 (FD-RAG eq. 18, Π_Δ).

    By sorting: with v_1 >= v_2 >= … the entries are max(0, v_k - θ), θ = (v_1 + … + v_ρ - 1)/ρ, ρ the last k of k v_k > v_1 + … + v_k - 1.
    Only the ``most`` largest of a row are sorted. Where fewer stay above 0 that is Π_Δ itself; where none falls to 0 it is the nearest row
    that has at most ``most`` entries (Kyrillidis et al. 2013), so that no row, and no matrix, grows dense. Equal scores count by column.

    >>> rows = projected(np.array([[0.5, -1.0, 0.3]], dtype=np.float32))
    >>> rows.columns.tolist(), rows.values.round(6).tolist()
    ([[0, 2, 1]], [[0.6000000238418579, 0.4000000059604645, 0.0]])
    """
    m = scores.shape[1]
    most = min(most, m)
    rows = _over(scores, np.argpartition(scores, m - most, axis=1)[:, m - most :])
    full = np.flatnonzero(rows.values[:, -1] > 0)
    if most < m and len(full):  # equal scores may lie on both sides of the partition
        again = _over(scores[full], np.argsort(-scores[full], axis=1, kind="stable")[:, :most])
        rows.columns[full], rows.values[full] = again.columns, again.values
    return rows


def _over(scores: FloatArray, columns: IntArray) -> Rows:
    """The projection of each row's entries in its own ``columns`` (n, c)."""
    columns = np.sort(columns, axis=1)  # with the stable sort below: ties by column
    values = np.take_along_axis(scores, columns, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    columns, values = np.take_along_axis(columns, order, axis=1), np.take_along_axis(values, order, axis=1)
    values = values - values[:, :1]  # moves θ alike, and keeps float32 sums small
    k = np.arange(1, values.shape[1] + 1, dtype=values.dtype)
    excess = np.cumsum(values, axis=1) - 1
    last = np.count_nonzero(values * k > excess, axis=1) - 1
    theta = np.take_along_axis(excess / k, last[:, None], axis=1)
    return Rows(columns, np.maximum(values - theta, 0))
