"""A hypergraph at one moment: the units of an edge's chunks, and the hyperedges that each is in (FD-RAG §4.1, eq. 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shared.ports import FloatArray
from shared.text.sentences import sentences

Span = tuple[int, int]

IntArray = NDArray[np.int64]
MOST = 32  # entries of a row

BLOCK = 1_024  # units, or prototypes, of a product at a time
TOGETHER = 256  # hyperedges whose members are gathered at a time
SHORTEST, CLOSEST = 1e-6, 1e-4  # a prototype's norm and a distance of two, where they are divided by


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


@dataclass(frozen=True, slots=True)
class Shape:
    """How hyperedges are learned. All but ``softness`` are in the paper, most of them without a number: docs/adr/0018."""

    softness: float = 0.25  # μ > 0: of two hyperedges a unit belongs to both where its squared distances differ by less
    spread: float = 0.1  # λ: weight of L_inter (eq. 8); 0 leaves it out
    margin: float = 1.0  # γ: distance up to which prototypes that differ repel each other (eq. 7)
    units: int = 4  # a hyperedge, on average: m = ⌈n / units⌉
    keep: float = 0.1  # entries of H below it go after training (eq. 4)
    steps: int = 100  # at most; the paper: 300


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


@dataclass(frozen=True, slots=True, eq=False)
class ChunkUnits:
    """The units of one chunk: characters [start, end) of its text each, and their vectors (n, d) of norm 1.

    ``rows`` (n, c): which hyperedges they are in; None: none yet. ``later``: they joined hyperedges that were trained without them.
    """

    chunk_id: str
    text_hash: str
    spans: tuple[Span, ...]
    units: FloatArray
    rows: Rows | None = None
    later: bool = False

    def names(self) -> list[str]:
        """A name of each unit that says what it is, wherever and whenever it was added."""
        return [f"{self.text_hash} {self.chunk_id} {number}" for number in range(len(self.spans))]


@dataclass(frozen=True, slots=True, eq=False)
class Hypergraph:
    """Units (n, d) with their chunks, spans and keys, and H as ``rows`` (n, c); the first row of each chunk is in ``first``, by its id."""

    chunk_ids: tuple[str, ...]
    spans: tuple[Span, ...]
    keys: tuple[str, ...]
    units: FloatArray
    rows: Rows
    first: Mapping[str, int]

    @classmethod
    def of(cls, parts: Sequence[ChunkUnits], dimensions: int) -> Hypergraph:
        """Of those of the parts, in the order of their chunks, that are in hyperedges."""
        placed = sorted((part for part in parts if part.rows is not None), key=lambda part: part.chunk_id)
        chunk_ids = [part.chunk_id for part in placed for _ in part.spans]
        units = np.concatenate([np.empty((0, dimensions), np.float32), *(part.units for part in placed)])
        starts = np.cumsum([0, *(len(part.spans) for part in placed)]).tolist()
        return cls(
            tuple(chunk_ids),
            tuple(span for part in placed for span in part.spans),
            tuple(key for part in placed for key in part.names()),
            units,
            together([part.rows for part in placed if part.rows is not None]),
            dict(zip((part.chunk_id for part in placed), starts, strict=False)),
        )

    def __len__(self) -> int:
        return len(self.chunk_ids)

    @property
    def hyperedges(self) -> int:
        """How many have a member."""
        return len(np.unique(self.rows.columns[self.rows.values > 0]))

    def row_of(self, chunk_id: str, start: int, end: int) -> int | None:
        """The unit of a chunk that holds most of the characters [start, end), the first of equals; None where none holds any."""
        rows = range(self.first.get(chunk_id, len(self)), len(self))
        held = dict[int, int]()
        for row in rows:
            if self.chunk_ids[row] != chunk_id:
                break
            held[row] = min(end, self.spans[row][1]) - max(start, self.spans[row][0])
        best = max(held, key=lambda row: held[row], default=None)
        return best if best is not None and held[best] > 0 else None

    def members(self) -> Iterator[tuple[int, IntArray]]:
        """Each hyperedge with its units: the largest shares first, ties by key."""
        row, slot = np.nonzero(self.rows.values)
        columns, shares = self.rows.columns[row, slot], self.rows.values[row, slot]
        ranks = np.empty(len(self), np.int64)
        ranks[sorted(range(len(self)), key=self.keys.__getitem__)] = np.arange(len(self))
        order = np.lexsort((ranks[row], -shares, columns))
        bounds = np.flatnonzero(np.diff(columns[order], prepend=-1, append=-1))
        for start, end in pairwise(bounds.tolist()):
            yield int(columns[order[start]]), row[order[start:end]]

    def name_of(self, units: IntArray) -> str:
        """A name of a set of units: which sentences they are, not what their hyperedge is numbered."""
        return blake2b("\n".join(sorted(self.keys[row] for row in units)).encode(), digest_size=8).hexdigest()


def together(parts: Sequence[Rows]) -> Rows:
    """Rows of several matrices below each other, each padded to the widest.

    >>> one, two = (Rows(np.zeros((1, c), np.int64), np.ones((1, c), np.float32)) for c in (1, 2))
    >>> together([one, two]).values.tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    width = max((part.values.shape[1] for part in parts), default=0)

    columns = [np.pad(part.columns, ((0, 0), (0, width - part.columns.shape[1]))) for part in parts]
    values = [np.pad(part.values, ((0, 0), (0, width - part.values.shape[1]))) for part in parts]
    return Rows(np.concatenate([np.empty((0, width), np.int64), *columns]), np.concatenate([np.empty((0, width), np.float32), *values]))


def some_rows(rows: Rows, wanted: IntArray | slice) -> Rows:
    """Some rows of a sparse matrix."""
    return Rows(rows.columns[wanted], rows.values[wanted])


def cut_spans(text: str) -> list[Span]:
    """Where the sentences of a chunk are whose vectors are kept: those with anything but blanks.

    >>> cut_spans("One pump. Two!")
    [(0, 10), (10, 14)]
    """
    return [(start, end) for start, end in sentences(text) if text[start:end].strip()]


def tells(text: str) -> bool:
    """Whether a sentence is a unit: one without a letter says nothing.

    >>> tells("12. "), tells("Two!")
    (False, True)
    """
    return any(letter.isalpha() for letter in text)
