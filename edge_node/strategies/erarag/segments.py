"""How a layer's items are cut into segments of bounded size (EraRAG §III-C, Alg. 1 l. 7-11, Alg. 3 l. 3-8).

The cut is a function of the items that are there and of nothing else: not of the order in which they came, nor of what was removed.
So the paper's static build and its insertion are one piece of code, and what an insertion touches is what differs.
It is local too: one item more makes at most max(3, (s_max + 1) // s_min) other groups of at most two, one item less the reverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from shared.ports import FloatArray

_ONE = np.uint64(1)

IntArray = NDArray[np.int64]
Positions = NDArray[np.uint64]

POSITION_BITS = 64

_ALL = np.uint64(2**POSITION_BITS - 1)

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


@dataclass(frozen=True, slots=True)
class Bounds:
    """S_min and S_max of the paper: how many items a segment holds. A layer of fewer than s_min items is one segment.

    Raises ValueError unless 2 <= s_min and 2 * s_min - 1 <= s_max: what is too large must fall into two that are large enough.
    """

    s_min: int
    s_max: int

    def __post_init__(self) -> None:
        if self.s_min < 2 or self.s_max < 2 * self.s_min - 1:
            raise ValueError(f"segments of {self.s_min} to {self.s_max} items cannot be; take 2 <= s_min and s_max >= 2 * s_min - 1")


@dataclass(frozen=True, slots=True, eq=False)
class SegmentBuckets:
    """Buckets in order: ``starts`` (m,), first rows; ``below`` (m,), the bits of a position that a bucket's prefix leaves open."""

    starts: IntArray
    below: Positions


def segments(positions: Positions, bounds: Bounds) -> IntArray:
    """Return the first row of each segment of the ascending positions (n,); a segment ends where the next begins.

    >>> segments(np.array([0, 0, 1, 3, 6, 7, 7], dtype=np.uint64) << np.uint64(61), Bounds(2, 3))
    array([0, 2, 4])
    """
    n = len(positions)
    if n <= bounds.s_max:
        return np.zeros(min(n, 1), dtype=np.int64)
    return cut(merged(buckets(positions, bounds.s_max), positions, bounds.s_min), n, bounds.s_max)


def buckets(positions: Positions, s_max: int) -> SegmentBuckets:
    """Split by one more hyperplane whatever holds more than ``s_max`` items (Alg. 1 l. 9, Alg. 3 l. 5); positions (n,), n > s_max.

    A bucket is the shortest prefix, in bits, that at most s_max items share; what shares all bits stays together whatever its size.
    A prefix is too full where the two ends of some s_max + 1 neighbours have it in common. So an item's bucket is one bit longer than
    the longest prefix that the ends of any such row of neighbours around it have in common; which is where their XOR is least.
    """
    ends = positions[s_max:] ^ positions[:-s_max]
    edge = np.full(s_max, _ALL)
    padded = np.concatenate([edge, ends, edge])
    around = reduce(np.minimum, (padded[shift : shift + len(positions)] for shift in range(s_max + 1)))
    below = _filled(around) >> _ONE
    parted = positions[1:] ^ positions[:-1] > below[1:]
    starts = np.flatnonzero(np.concatenate([[True], parted]))
    return SegmentBuckets(starts, below[starts])


def merged(found: SegmentBuckets, positions: Positions, s_min: int) -> IntArray:
    """Merge each bucket of fewer than ``s_min`` items with what is nearest in Hamming space (Alg. 1 l. 11, Alg. 3 l. 7).

    A small bucket's prefix was split off one that holds more than 2 * s_min - 1 items, so a large bucket stands on the other side of
    its last bit; over its length the codes of the two sides differ in that bit only, and there it belongs. In the list: the small
    buckets between two large ones are parted where the earliest hyperplane parts them; those before it join the left one, the rest the
    right one. At an end of the list all join the only one there is. So a group holds one large bucket. Returns each group's first row.
    """
    large = np.flatnonzero(np.diff(found.starts, append=len(positions)) >= s_min)
    first = positions[found.starts]
    borders = len(first) - 1
    order = np.bitwise_count(_filled(first[1:] ^ first[:-1])).astype(np.int64) * borders + np.arange(borders)
    earliest = np.maximum.reduceat(order[: large[-1]], large[:-1]) % max(borders, 1)
    opening: IntArray = np.concatenate([[0], earliest + 1])
    return found.starts.take(opening)


def cut(starts: IntArray, n: int, s_max: int) -> IntArray:
    """Cut each group of more than ``s_max`` rows into as few parts as can be, of sizes as equal as can be, the larger ones first.

    >>> cut(np.array([0, 3]), 10, 3)
    array([0, 3, 6, 8])
    """
    sizes = np.diff(starts, append=n)
    parts = -(-sizes // s_max)
    group = np.repeat(np.arange(len(starts)), parts)
    part = np.arange(len(group)) - np.repeat(np.cumsum(parts) - parts, parts)
    rows: IntArray = starts[group] + part * (sizes // parts)[group] + np.minimum(part, (sizes % parts)[group])
    return rows


def _filled(values: Positions) -> Positions:
    """All bits from the highest set one down."""
    for shift in (1, 2, 4, 8, 16, 32):
        values = values | values >> np.uint64(shift)
    return values
