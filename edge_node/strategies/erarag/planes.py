"""Hyperplane codes of vectors, and the order in which a layer lists its items (EraRAG §III-B)."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from shared.ports import FloatArray

IntArray = NDArray[np.int64]
Positions = NDArray[np.uint64]

POSITION_BITS = 64
GRID = 2048  # steps of 1 in a unit vector
PLANE_GRID = 64  # and in a hyperplane's normal: 2048 * 64 * sqrt(d) is below 2**24, up to which float32 counts, for d < 16,000
TOGETHER = 2048  # vectors whose rounded copy stays in a processor's cache
MOST_BITS = 62  # hyperplanes: a code is a signed integer, and a position keeps bits for a key's hash


def draw_hyperplanes(b: int, d: int, rng: np.random.Generator) -> FloatArray:
    """Draw b normals (b, d), every direction as likely (EraRAG §III-B, Alg. 1 l. 3). Raises ValueError unless 1 <= b <= 62.

    Two vectors at the angle θ have a bit in common with probability 1 - θ/π; Theorem 1 of the paper prints (1 + cos θ)/2.

    >>> draw_hyperplanes(3, 2, np.random.default_rng(0)).shape
    (3, 2)
    """
    if not 1 <= b <= MOST_BITS:
        raise ValueError(f"{b} hyperplanes cannot be used; draw 1 to {MOST_BITS}")
    return rng.standard_normal((b, d), dtype=np.float32)


def hash_codes(vectors: FloatArray, hyperplanes: FloatArray) -> IntArray:
    """Return each vector's LSH code: bit j is set where it lies above hyperplane j (EraRAG §III-B, Alg. 1 l. 5).

    vectors (n, d), unit rows; hyperplanes (b, d), b <= 62, drawn once and saved with the tree so that a later
    insert meets the same buckets. Returns (n,) codes in [0, 2**b). Raises ValueError if the two d differ.

    >>> hash_codes(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32))
    array([1, 2])
    """
    if vectors.shape[1] != hyperplanes.shape[1]:
        raise ValueError(f"vectors of {vectors.shape[1]} dimensions do not fit hyperplanes of {hyperplanes.shape[1]}: draw them anew")
    normals, bits = _whole(hyperplanes, PLANE_GRID).T, np.int64(1) << np.arange(len(hyperplanes), dtype=np.int64)
    codes: IntArray = np.zeros(len(vectors), dtype=np.int64)
    for start in range(0, len(vectors), TOGETHER):
        above = _whole(vectors[start : start + TOGETHER], GRID) @ normals > 0
        codes[start : start + TOGETHER] = above @ bits
    return codes


def _whole(matrix: FloatArray, steps: int) -> FloatArray:
    """Whole numbers, whose sums of products are exact: one vector has the same code alone and among others, on any machine."""
    scaled: FloatArray = matrix * np.float32(steps)
    np.rint(scaled, out=scaled)
    return scaled


def ranks_of(codes: IntArray, *, bits: int) -> Positions:
    """Where each code stands in an order in which neighbours differ in one bit: the code, hyperplane 0 first, read as a Gray number.

    The paper's "adjacent buckets" (§III-C) are neighbours in this order.

    >>> ranks_of(np.array([0, 1, 2, 3]), bits=2)  # so the order is 0, 2, 3, 1
    array([0, 3, 1, 2], dtype=uint64)
    """
    rank: Positions = np.zeros(len(codes), dtype=np.uint64)
    bit = rank
    for plane in range(bits):
        bit = bit ^ (codes >> plane & 1).astype(np.uint64)
        rank = rank << np.uint64(1) | bit
    return rank


def positions_of(keys: Sequence[str], codes: IntArray, *, bits: int) -> Positions:
    """Return each item's place in its layer (n,): the rank of its code, and below it bits of its key's hash.

    The hash is what more hyperplanes would be for items that the drawn ones do not tell apart: copies of one passage fall into
    buckets of their own too, so that one more copy changes a segment or two, and not all that hold copies. There are 64 - ``bits``
    bits of it: 32 by default, which is enough; with 62 hyperplanes the copies share four buckets, and one more moves the cuts in its own.

    >>> [hex(place)[:6] for place in positions_of(["a", "b"], np.array([1, 2]), bits=16)]
    ['0xffff', '0x7fff']
    """
    kept = np.uint64(POSITION_BITS - bits)
    hashes = np.fromiter((int.from_bytes(blake2b(key.encode(), digest_size=8).digest()) for key in keys), np.uint64, len(keys))
    return ranks_of(codes, bits=bits) << kept | hashes >> np.uint64(bits)
