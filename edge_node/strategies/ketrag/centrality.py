"""Core chunks: those of highest PageRank in the KNN graph (KET-RAG §5.1, eq. 1, Alg. 3 l. 8)."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nsmallest
from math import ceil

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from edge_node.strategies.ketrag.ties import tie_of

ALPHA = 0.15  # of a teleport; the paper does not say, this is PageRank's own
TOLERANCE = 1e-9
MOST_ROUNDS = 100  # then 0.85**100 = 9e-8 is left


def pagerank(edges: NDArray[np.int64], n: int, *, alpha: float = ALPHA) -> NDArray[np.float64]:
    """Return pi (n,) with pi = alpha/n + (1 - alpha) * pi P, P_ij = 1/degree(i), on an undirected graph (eq. 1). It sums to 1.

    edges (e, 2): rows < n, each pair once, no loops. What an isolated node has goes to all alike. The sums are made in the
    order of the edges, so equal graphs in equal order give equal numbers.

    >>> pagerank(np.array([[0, 1], [0, 2]]), 3).round(3).tolist()
    [0.486, 0.257, 0.257]
    """
    source, target = np.concatenate([edges, edges[:, ::-1]]).T if len(edges) else np.zeros((2, 0), dtype=np.int64)
    degrees = np.bincount(source, minlength=n)
    moved = csr_array((1.0 / degrees[source], (target, source)), shape=(n, n))
    isolated = degrees == 0
    scores = np.full(n, 1.0 / max(n, 1))
    for _ in range(MOST_ROUNDS):
        newer: NDArray[np.float64] = alpha / max(n, 1) + (1 - alpha) * (moved @ scores + scores[isolated].sum() / max(n, 1))
        if np.abs(newer - scores).sum() < TOLERANCE:
            return newer
        scores = newer
    return scores


def core(keys: Sequence[str], scores: NDArray[np.float64], *, share: float) -> tuple[str, ...]:
    """The ceil(share * n) keys of highest score, best first; ``scores[i]`` is that of ``keys[i]`` (Alg. 3 l. 8, KET-RAG-P).

    Of equals the earlier key comes first, so ``keys`` come in an order that is no matter of history: by ``tie_of``. Scores that differ
    by less than about 1e-6 of their mean are equal: an even graph has equal nodes, whose sums differ in the last bit.

    >>> core(["a", "b", "c"], np.array([0.2, 0.6, 0.2]), share=0.3)
    ('b',)
    """
    order = np.argsort(-np.round(scores * len(keys), 6), kind="stable")
    return tuple(keys[place] for place in order[: _count(keys, share)])


def core_uniform(keys: Sequence[str], *, share: float, seed: int) -> tuple[str, ...]:
    """Ceil(share * n) keys as if drawn (§6.1, KET-RAG-U): those of smallest hash, so one more key moves at most one other.

    >>> len(core_uniform(["a", "b", "c"], share=0.5, seed=1))
    2
    """
    return tuple(nsmallest(_count(keys, share), keys, key=lambda key: tie_of(key, seed=seed)))


def _count(keys: Sequence[str], share: float) -> int:
    return ceil(round(share * len(keys), 9))  # 0.1 * 30 is a little more than 3
