"""Units and the hyperedges that they belong to: prototypes, joining, and how prototypes stand to each other (FD-RAG §4.1, eq. 4 to 7).

Throughout, units (n, d) have norm 1, H (n, m) is the soft incidence as sparse ``Rows``, w_j = Σ_i H_ij, p_j the prototype of hyperedge j,
D_ij = ‖x_i - p_j‖² = 1 + ‖p_j‖² - 2 x_i·p_j. What is computed keeps the units' dtype.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from edge_node.memory.simplex import MOST, IntArray, Rows, projected
from shared.ports import FloatArray

BLOCK = 1_024  # units, or prototypes, of a product at a time
TOGETHER = 256  # hyperedges whose members are gathered at a time
SHORTEST, CLOSEST = 1e-6, 1e-4  # a prototype's norm and a distance of two, where they are divided by


@dataclass(frozen=True, slots=True)
class Shape:
    """How hyperedges are learned. All but ``softness`` are in the paper, most of them without a number."""

    softness: float  # μ > 0: of two hyperedges a unit belongs to both where its squared distances differ by less
    spread: float  # λ: weight of L_inter (eq. 8); 0 leaves it out
    margin: float  # γ: distance up to which prototypes that differ repel each other (eq. 7)
    units: int  # a hyperedge, on average: m = ⌈n / units⌉
    keep: float  # entries of H below it go after training (eq. 4)
    steps: int  # at most


def prototypes(rows: Rows, units: FloatArray, m: int) -> tuple[FloatArray, FloatArray]:
    """Return p_j = Σ_i H_ij x_i / w_j (m, d) and w_j (m,) (FD-RAG eq. 5); both 0 for a hyperedge without members.

    >>> rows = Rows(np.array([[0], [0]]), np.ones((2, 1), dtype=np.float32))
    >>> prototypes(rows, np.eye(2, dtype=np.float32), 2)
    (array([[0.5, 0.5],
           [0. , 0. ]], dtype=float32), array([2., 0.], dtype=float32))
    """
    row, slot = np.nonzero(rows.values)
    order = np.argsort(rows.columns[row, slot], kind="stable")
    row, slot = row[order], slot[order]
    column, share = rows.columns[row, slot], rows.values[row, slot]
    sums = np.zeros((m, units.shape[1]), units.dtype)
    for first, last in pairwise(np.searchsorted(column, np.arange(0, m + TOGETHER, TOGETHER)).tolist()):
        if first < last:
            starts = np.flatnonzero(np.diff(column[first:last], prepend=-1))
            members = units[row[first:last]] * share[first:last, None]
            sums[column[first:last][starts]] = np.add.reduceat(members, starts, axis=0)
    weights = weights_of(rows, m)
    live = weights > 0
    sums[live] /= weights[live, None]
    return sums, weights


def weights_of(rows: Rows, m: int) -> FloatArray:
    """w_j = Σ_i H_ij (m,): how many units each hyperedge holds, in shares."""
    return np.bincount(rows.columns.ravel(), rows.values.ravel(), m).astype(rows.values.dtype)


def joined(units: FloatArray, prototypes: FloatArray, shape: Shape) -> Rows:
    """Return the units' rows for prototypes (m, d) that stay as they are, m >= 1: argmin over the simplex of Σ_j H_ij D_ij + (μ/2) ‖H_i‖².

    The minimum is Π_Δ(-D_i/μ), in one step; what adds one number to all of a row changes nothing, so D's 1 is left out.
    """
    squared = np.einsum("jd,jd->j", prototypes, prototypes)
    return placed(units, -2 * prototypes, squared, rate=1 / shape.softness)


def placed(units: FloatArray, toward: FloatArray, level: FloatArray, *, rate: float, kept: Rows | None = None, share: float = 0) -> Rows:
    """Return Π_Δ(share · H - rate (X Qᵀ + c)) for Q = ``toward`` (m, d), c = ``level`` (m,) and H = ``kept``.

    One step of projected gradient descent (FD-RAG eq. 18) where the loss's gradient is X Qᵀ + c and a multiple of H. It works in blocks,
    so n × m numbers are never there at once.
    """
    m = len(toward)
    columns = np.zeros((len(units), min(MOST, m)), np.int64)
    values = np.zeros(columns.shape, units.dtype)
    pull, push = np.ascontiguousarray(toward.T) * -rate, level * rate
    for start in range(0, len(units), BLOCK):
        block = slice(start, start + BLOCK)
        scores = units[block] @ pull
        scores -= push
        if kept is not None and share:
            row, slot = np.nonzero(kept.values[block])
            scores[row, kept.columns[block][row, slot]] += share * kept.values[block][row, slot]
        rows = projected(scores)
        columns[block], values[block] = rows.columns, rows.values
    return _trimmed(columns, values)


def pruned(rows: Rows, keep: float) -> Rows:
    """Leave out entries below ``keep``, but never a row's largest, and let the rows sum to 1 again (FD-RAG §4.1, below eq. 4).

    >>> pruned(Rows(np.array([[4, 1]]), np.array([[0.95, 0.05]], dtype=np.float32)), 0.1)
    Rows(columns=array([[4]]), values=array([[1.]], dtype=float32))
    """
    values = np.where(rows.values >= keep, rows.values, 0)
    values[:, 0] = rows.values[:, 0]
    return _trimmed(rows.columns, values / values.sum(axis=1, keepdims=True))


def _trimmed(columns: IntArray, values: FloatArray) -> Rows:
    width = int(np.count_nonzero(values, axis=1).max(initial=1))
    return Rows(columns[:, :width].copy(), values[:, :width].copy())


def residuals(rows: Rows, units: FloatArray, prototypes: FloatArray) -> FloatArray:
    """Σ_j H_ij D_ij (n,): how far each unit is from what it belongs to, as a squared distance."""
    squared = np.einsum("jd,jd->j", prototypes, prototypes)
    found = np.zeros(len(units), units.dtype)
    for columns, values in zip(rows.columns.T, rows.values.T, strict=True):
        found += values * (1 + squared[columns] - 2 * np.einsum("id,id->i", units, prototypes[columns]))
    return found


def inter(prototypes: FloatArray, margin: float) -> tuple[float, FloatArray]:
    """L_inter = (1/m²) Σ_jk [S_jk Δ_jk + (1 - S_jk) max(0, γ - Δ_jk)] (FD-RAG eq. 7) and ∂L_inter/∂p_j (m, d).

    S_jk is the cosine of two prototypes, Δ_jk their distance, γ the ``margin``: those alike attract each other, those unlike repel. The
    paper's text has lost the equation; this is the form of the work that it takes it from (Ada-MSHyper, Shang et al. 2024).
    """
    m = len(prototypes)
    squared = np.einsum("jd,jd->j", prototypes, prototypes)
    norms = np.maximum(np.sqrt(squared), SHORTEST)
    directions = prototypes / norms[:, None]
    total, gradient = 0.0, np.empty_like(prototypes)
    for start in range(0, m, BLOCK):
        block = slice(start, min(start + BLOCK, m))
        product = prototypes[block] @ prototypes.T
        cosines = product / (norms[block, None] * norms)
        distances = np.sqrt(np.maximum(squared[block, None] + squared - 2 * product, CLOSEST**2))
        room = np.maximum(margin - distances, 0)
        by_cosine = distances - room
        by_distance = (cosines - (1 - cosines) * (distances < margin)) / distances
        terms = cosines * by_cosine + room
        for matrix in (terms, by_cosine, by_distance):
            matrix[np.arange(len(matrix)), np.arange(block.start, block.stop)] = 0
        total += float(terms.sum(dtype=np.float64))
        turn = by_cosine @ directions - np.einsum("jk,jk->j", by_cosine, cosines)[:, None] * directions[block]
        move = by_distance.sum(axis=1)[:, None] * prototypes[block] - by_distance @ prototypes
        gradient[block] = turn / norms[block, None] + move
    return total / m**2, gradient * (2 / m**2)
