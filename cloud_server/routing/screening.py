"""Summaries that would win more questions than their edge can serve are held back: copies, and hubs (goal S10).

A hub is near to everything (Radovanović et al., JMLR 2010): it stands among the nearest of summaries all over the federation.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloud_server.routing.replica import packed, unpacked
from shared.ports import FloatArray
from shared.records import EdgeId
from shared.text.sentences import WORD

NEAR_DUPLICATE, HUB = "near_duplicate", "hub"  # as stored
DUPLICATE_COSINE = 0.97
NEAREST = 5  # of a summary; as many as the cloud matches with a question
HUB_SHARE = 0.1  # of an edge's summaries; of 770 summaries of four textbooks the greatest share of all is 0.03
SAMPLE_OF_EDGE = 64  # rows
EDGES_HEARD, ROWS_HEARD = 16, 512  # of a large federation at least, drawn anew each time: all would take seconds
LEAST_SAMPLE = 256  # rows, of three edges at least: of fewer, chance alone makes one summary near to many
BLOCK = 128  # rows compared at once: 10 MB against 20,000
COARSE = 64  # coordinates that tell most pairs apart, at a sixth of the cost: 1,000 against 20,000 take 40 ms of a core

BoolArray = NDArray[np.bool_]

UNCONFIRMED = "unconfirmed"  # its owner was asked for its passage, which does not hold its answer


@dataclass(frozen=True, slots=True)
class SummarySample:
    """Summaries of other edges, a few of each."""

    vectors: FloatArray  # (s, d)
    owners: NDArray[np.int64]  # (s,), 0 … edges - 1

    @classmethod
    def of(cls, edges: Mapping[EdgeId, FloatArray]) -> SummarySample:
        """Of all ``edges``."""
        others = [rows for _, rows in sorted(edges.items()) if len(rows)]
        owners = [number for number, rows in enumerate(others) for _ in rows]
        return cls(np.concatenate(others) if others else np.empty((0, 0), dtype=np.float32), np.array(owners, dtype=np.int64))


class Samples:
    """A few rows of each edge, a byte a coordinate.

    >>> samples = Samples()
    >>> samples.keep(EdgeId("ward"), np.eye(2, dtype=np.float32))
    >>> samples.sizes(), samples.without(EdgeId("bank")).owners.tolist(), samples.without(EdgeId("ward")).owners.tolist()
    ({'ward': 2}, [0, 0], [])
    """

    def __init__(self) -> None:
        self._rows: dict[EdgeId, bytes] = {}
        self._sizes: dict[EdgeId, int] = {}

    def keep(self, edge: EdgeId, vectors: FloatArray) -> None:
        """Of the unit rows (n, d) of an edge that are matched; of none: nothing."""
        few = spread(vectors)
        self.drop(edge)
        if len(few):
            self._rows[edge], self._sizes[edge] = b"".join(packed(few)), len(few)

    def drop(self, edge: EdgeId) -> None:
        """Forget an edge."""
        self._rows.pop(edge, None)
        self._sizes.pop(edge, None)

    def sizes(self) -> dict[EdgeId, int]:
        """Rows kept of each edge that has any."""
        return dict(self._sizes)

    def without(self, edge: EdgeId) -> SummarySample:
        """The rows of the others; of more than EDGES_HEARD, rows of so many as make ROWS_HEARD, and fewer of each large one."""
        others = sorted(self._rows.keys() - {edge})
        most = SAMPLE_OF_EDGE if len(others) <= EDGES_HEARD else ROWS_HEARD // EDGES_HEARD
        heard, rows = dict[EdgeId, FloatArray](), 0
        for other in random.sample(others, len(others)):
            if len(heard) >= EDGES_HEARD and rows >= ROWS_HEARD:
                break
            heard[other] = spread(unpacked(self._rows[other], self._sizes[other]), most)
            rows += len(heard[other])
        return SummarySample.of(heard)


def spread(vectors: FloatArray, most: int = SAMPLE_OF_EDGE) -> FloatArray:
    """At most so many rows of (n, d), evenly spaced."""
    return vectors[np.unique(np.linspace(0, len(vectors) - 1, min(len(vectors), most)).astype(np.int64))]


def judged(new: FloatArray, kept: FloatArray, sample: SummarySample) -> list[str]:
    """For each row of ``new`` (n, d) why it is held back, "" when it is not. ``kept`` (k, d): the edge's others, that are matched."""
    hub = hubs(new, sample)
    copies = near_duplicates(new, kept)
    return [HUB if hub[row] else NEAR_DUPLICATE if copies[row] else "" for row in range(len(new))]


def near_duplicates(new: FloatArray, kept: FloatArray) -> BoolArray:
    """Which rows of ``new`` (n, d) are nearer than DUPLICATE_COSINE to a row of ``kept`` (k, d) or to a kept earlier one of ``new``.

    >>> near_duplicates(np.array([[1, 0], [0, 1], [1, 0]], dtype=np.float32), np.array([[0, 1]], dtype=np.float32)).tolist()
    [False, True, True]
    """
    pool = np.concatenate([kept.reshape(-1, new.shape[1]), new])
    first, coarse = len(kept), _coarse(pool)
    held = np.zeros(len(new), dtype=bool)
    for start in range(0, len(new), BLOCK):
        block = new[start : start + BLOCK]
        near = _any_near(block, _coarse(block), pool[: first + start], coarse[: first + start])
        within = block @ block.T >= DUPLICATE_COSINE
        for row in range(len(block)):
            near[row] |= bool((within[row, :row] & ~near[:row]).any())
        held[start : start + BLOCK] = near
        pool[first + start + np.flatnonzero(near)] = 0.0  # who is held back makes nobody a copy
    return held


def hubs(new: FloatArray, sample: SummarySample) -> BoolArray:
    """Which rows of ``new`` (n, d) are among the NEAREST of at least HUB_SHARE of the summaries of most edges.

    Two sites of one field are near each other, and edges that lie together could frame another: a minority decides nothing.
    """
    edges = int(sample.owners.max()) + 1 if len(sample.owners) else 0
    if edges < 3 or len(sample.vectors) < LEAST_SAMPLE:
        return np.zeros(len(new), dtype=bool)
    among = sample.vectors @ sample.vectors.T
    np.fill_diagonal(among, -np.inf)
    farthest = np.partition(among, -NEAREST, axis=1)[:, -NEAREST]  # (s,): the cosine that a summary must beat to be among the nearest
    member = np.eye(edges, dtype=np.float32)[sample.owners]  # (s, edges)
    shares = (new @ sample.vectors.T > farthest).astype(np.float32) @ member / member.sum(axis=0)  # (n, edges)
    return np.asarray((shares >= HUB_SHARE).sum(axis=1) > edges / 2)


def _coarse(rows: FloatArray) -> FloatArray:
    """The first COARSE coordinates of (n, d), minus half their squared norm, and 1."""
    few = rows[:, :COARSE]
    return np.column_stack([few, -0.5 * np.einsum("ij,ij->i", few, few), np.ones(len(few), dtype=np.float32)])


def _any_near(rows: FloatArray, coarse: FloatArray, pool: FloatArray, pool_coarse: FloatArray) -> BoolArray:
    """Which rows have a near duplicate in ``pool``: few coordinates rule out most pairs, and never a true one.

    Minus half the squared distance in some coordinates is at least what it is in all of them, which is cosine - 1.
    """
    swapped = np.column_stack([coarse[:, :-2], coarse[:, -1], coarse[:, -2]])  # one product gives a·b - |a|²/2 - |b|²/2
    close = swapped @ pool_coarse.T
    least = DUPLICATE_COSINE - 1.0 - 1e-5
    promising = np.flatnonzero(close.max(axis=1, initial=-np.inf) >= least)  # few rows: finding them is cheaper than finding all pairs
    at, beside = np.nonzero(close[promising] >= least)
    at = promising[at]
    if len(at) > len(pool):  # these summaries resemble each other: comparing all is cheaper than picking
        return np.asarray((rows @ pool.T >= DUPLICATE_COSINE).any(axis=1))
    near = np.zeros(len(rows), dtype=bool)
    near[at[np.einsum("ij,ij->i", rows[at], pool[beside]) >= DUPLICATE_COSINE]] = True
    return near


def memory_words(question: str, answer: str) -> str:
    """What a memory says, whatever its case and punctuation.

    >>> memory_words("Who built it?", "Ann Lee") == memory_words("who built it", "ann lee.")
    True
    """
    return "\n".join(" ".join(WORD.findall(text.casefold())) for text in (question, answer))


def judged_words(new: Sequence[str], vectors: FloatArray, kept: Iterable[str], sample: SummarySample) -> list[str]:
    """For each of ``new``, words with their rows of ``vectors`` (n, d), why it is held back, "" when it is not.

    kept: words of the edge's others, that are matched.

    >>> import numpy as np
    >>> judged_words(["a", "b", "a"], np.eye(3, dtype=np.float32), ["b"], SummarySample.of({}))
    ['', 'near_duplicate', 'near_duplicate']
    """
    seen, feedback = set(kept), list[str]()
    for words, is_hub in zip(new, hubs(vectors, sample).tolist(), strict=True):
        feedback.append(HUB if is_hub else NEAR_DUPLICATE if words in seen else "")
        if not feedback[-1]:
            seen.add(words)
    return feedback
