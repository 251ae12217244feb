"""Learning which units belong together, by projected gradient descent on the simplex (FD-RAG §4.1, eq. 4 to 8, Prop. 1, App. A).

The loss is L = Σ_ij H_ij ‖x_i - p_j‖² + λ n L_inter + (μ/2) ‖H‖². It differs from the paper's in three places:

- *Mass, not mean.* The text lost eq. 6; after the work that it cites it would be Σ_j (Σ_i H_ij ‖x_i - p_j‖²)/w_j. A hyperedge of one
  unit costs 0 there, so descent ends in one giant and singletons (``benchmarks.memories.hypergraph``). Without it it is k-means'
  objective over soft rows. ‖p_j‖ <= 1 makes it n - Σ_j w_j ‖p_j‖² on the simplex.
- *(μ/2) ‖H‖².* The first term is concave in H, so every row would end in one hyperedge. With it, the curvature from above is μ, the step
  that Prop. 1 wants (η <= 1/smoothness) is 1/μ in closed form, and with λ = 0 H falls out of it: H ← Π_Δ(-D/μ).
- *Seeds, not random rows.* From the paper's start, at its rate of 0.05, the loss still falls after its 300 steps.

λ is weighed with n, so that it compares means with means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from edge_node.memory.hypergraph import IntArray, Rows, Shape, inter, joined, placed, prototypes, pruned, residuals, weights_of
from shared.ports import FloatArray

LEAST_FALL = 1e-4  # of the loss in a step, as a share: less, and training ends
HALVINGS = 3
ROUNDING = 1e-6  # of the loss
LIGHTEST = 0.05  # weight below which a hyperedge pulls its units no harder
HASH_BYTES, PURPOSE = 8, b"hyperedge seeds"


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """Where a descent stands: H, its prototypes (m, d) and weights (m,), and the loss with its gradient X Qᵀ + c + μH.

    ``toward`` is Q (m, d), ``level`` c (m,) but for a number that is the same for a whole row. A hyperedge that has lost its last member
    keeps its prototype: any would serve, as nothing weighs it.
    """

    rows: Rows
    prototypes: FloatArray
    weights: FloatArray
    toward: FloatArray
    level: FloatArray
    intra: float  # Σ_ij H_ij D_ij
    loss: float


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """Rows of the units (n, c), the weights of their hyperedges (m,), all above 0, and the loss at the start and after each step."""

    rows: Rows
    weights: FloatArray
    losses: tuple[float, ...]


def trained(units: FloatArray, keys: Sequence[str], shape: Shape, on_step: Callable[[int], None]) -> Trained:
    """Group units (n, d) of norm 1, n >= 1, in at most ⌈n / shape.units⌉ hyperedges (FD-RAG §4.1).

    ``keys`` (n,) are distinct. They choose the seeds, the units with the lowest hashes, so that the result is a function of the set: the
    order of the units plays no part. ``on_step`` is told the number of each step, from 0 for the start; what it raises ends the training.
    """
    order, m = sorted(range(len(keys)), key=keys.__getitem__), -(-len(keys) // shape.units)
    losses = list[float]()
    for step, point in enumerate(descent(units[order], units[seeds_of(keys, m)], shape)):
        losses.append(point.loss)
        on_step(step)
    rows = pruned(point.rows, shape.keep)
    weights = weights_of(rows, m)
    numbers = np.cumsum(weights > 0) - 1
    back = np.argsort(order)
    columns = np.where(rows.values > 0, numbers[rows.columns], 0)
    return Trained(Rows(columns[back], rows.values[back]), weights[weights > 0], tuple(losses))


def seeds_of(keys: Sequence[str], m: int) -> list[int]:
    """The rows of the m keys with the lowest hashes: a sample that a set of keys has in itself, and as good as a drawn one.

    >>> seeds_of(["a", "b", "c"], 2), seeds_of(["c", "b", "a"], 2)
    ([1, 2], [1, 0])
    """
    hashes = [(blake2b(key.encode(), digest_size=HASH_BYTES, person=PURPOSE).digest(), key) for key in keys]
    return sorted(range(len(keys)), key=hashes.__getitem__)[:m]


def descent(units: FloatArray, seeds: FloatArray, shape: Shape) -> Iterator[Point]:
    """Descend from prototypes (m, d): the start, and each step until the loss falls by less than ``LEAST_FALL`` or the steps are used up.

    The loss falls at every step (Lemma 1): with λ = 0 by the curvature, else a step that breaks the lemma's bound is tried again at half
    its rate, three times, and then the descent ends.
    """
    point = point_at(joined(units, seeds, shape), units, seeds, shape)
    yield point
    for _ in range(shape.steps):
        lower = _lower(units, point, shape)
        if lower is None:
            return
        yield lower
        if point.loss - lower.loss < LEAST_FALL * abs(point.loss):
            return
        point = lower


def _lower(units: FloatArray, point: Point, shape: Shape) -> Point | None:
    for halving in range(HALVINGS + 1):
        rate = 1 / (shape.softness * 2**halving)
        reached = moved(units, point, shape, rate=rate)
        if not shape.spread or reached.loss <= _bound(point, reached, shape, rate):
            return reached
    return None


def moved(units: FloatArray, point: Point, shape: Shape, *, rate: float) -> Point:
    """One step H ← Π_Δ(H - η ∂L/∂H) at the rate η (FD-RAG eq. 18), whatever becomes of the loss; it cannot rise for η <= 1/μ and λ = 0."""
    share = 1 - rate * shape.softness
    rows = placed(units, point.toward, point.level, rate=rate, kept=point.rows, share=share)
    return point_at(rows, units, point.prototypes, shape)


def point_at(rows: Rows, units: FloatArray, before: FloatArray, shape: Shape) -> Point:
    """The loss and its gradient at ``rows`` (FD-RAG eq. 5 to 8); ``before`` (m, d) serves hyperedges that have no member.

    ∂Σ_ij H_ij D_ij/∂H_ij = D_ij, as p_j minimises the sum; with G_j = ∂L_inter/∂p_j, ∂L_inter/∂H_ij = G_j·(x_i - p_j)/w_j.
    """
    n = len(units)
    found, weights = prototypes(rows, units, len(before))
    found = np.where(weights[:, None] > 0, found, before)
    squared = np.einsum("jd,jd->j", found, found)
    intra = n - float(weights.astype(np.float64) @ squared)
    loss = intra + shape.softness / 2 * _inner(rows, rows)
    toward, level = -2 * found, squared
    if shape.spread:
        value, pull = inter(found, shape.margin)
        pull *= (shape.spread * n / np.maximum(weights, LIGHTEST))[:, None]
        toward, level = toward + pull, level - np.einsum("jd,jd->j", pull, found)
        loss += shape.spread * n * value
    return Point(rows, found, weights, toward, level, intra, loss)


def _bound(point: Point, reached: Point, shape: Shape, rate: float) -> float:
    """L(H) + ⟨∂L/∂H, H' - H⟩ + ‖H' - H‖²/2η, which the loss at H' does not exceed where L is smooth enough (eq. 20)."""
    common, own, other = _inner(point.rows, reached.rows), _inner(point.rows, point.rows), _inner(reached.rows, reached.rows)
    slope = _along(point, reached) - _along(point, point) + shape.softness * (common - own)
    return point.loss + slope + (own + other - 2 * common) / (2 * rate) + ROUNDING * abs(point.loss)


def _along(point: Point, other: Point) -> float:
    """⟨X Qᵀ + c, H⟩ with Q and c of one point and H of another: Σ_j w_j (Q_j·p_j + c_j)."""
    each = np.einsum("jd,jd->j", point.toward, other.prototypes) + point.level
    return float(other.weights.astype(np.float64) @ each)


def _inner(one: Rows, other: Rows) -> float:
    """⟨H, H'⟩ of two sparse matrices."""
    total = 0.0
    for columns, values in zip(one.columns.T, one.values.T, strict=True):
        same = np.where(columns[:, None] == other.columns, other.values, 0).sum(axis=1)
        total += float(values.astype(np.float64) @ same)
    return total


def grown(units: FloatArray, prototypes: FloatArray, shape: Shape, *, residual: float) -> tuple[Rows, IntArray]:
    """Add units (n, d) to trained prototypes (m, d), m >= 1: their rows, and which of them open hyperedges m, m + 1, ….

    A unit joins what is there (``joined``, exact). Where it stays farther than ``residual`` (a squared distance, as ``residuals``), the
    farthest opens a hyperedge, then the farthest from that, ties by row; ⌈n / shape.units⌉ at most. Time grows with n² where all are far.
    """
    gaps = residuals(pruned(joined(units, prototypes, shape), shape.keep), units, prototypes)
    seeds = list[int]()
    while len(seeds) < -(-len(units) // shape.units) and (row := int(gaps.argmax())) not in seeds and gaps[row] > residual:
        seeds.append(row)
        gaps = np.minimum(gaps, 2 - 2 * (units @ units[row]))
    rows = joined(units, np.concatenate([prototypes, units[seeds]]), shape)
    return pruned(rows, shape.keep), np.array(seeds, dtype=np.int64)
