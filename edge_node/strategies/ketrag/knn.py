"""The KNN graph of chunks (KET-RAG §5.1, Alg. 3 l. 2-7), kept up to date chunk by chunk."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge_node.strategies.ketrag.bipartite import grown
from shared.ports import FloatArray
from shared.vectors import Ints

ValuesOf = Callable[[Sequence[int]], Iterator[tuple[int, NDArray[Any]]]]
MOST_CHUNKS = 1_024  # a term of more chunks joins nobody. Not a share: what a chunk is joined by must not change far away from a new one
BLOCK = 256  # rows of a product at a time

Rows = NDArray[np.int64]
Ties = NDArray[np.uint64]


def best(values: NDArray[Any], ties: Ties, k: int, floor: float) -> list[tuple[int, float]]:
    """(place, value) of the k highest of ``values`` (n,), n > 0, that are above ``floor``: best first, of equals the smaller tie (n,).

    Overwrites what it finds in ``values`` by the floor.

    >>> best(np.array([2.0, 3.0, 3.0, 0.0]), np.array([5, 9, 1, 0], dtype=np.uint64), 3, 0.0)
    [(2, 3.0), (1, 3.0), (0, 2.0)]
    """
    found: list[tuple[int, float]] = []
    while len(found) < k and (highest := values.max()) > floor:
        places = np.flatnonzero(values == highest)
        place = int(places[np.argmin(ties[places])])
        found.append((place, float(highest)))
        values[place] = floor
    return found


class Lists:
    """The ``width`` best others of each row, by values above ``floor``: ``rows`` and ``values`` (n, width), best first.

    Where there are fewer, -1 and the floor stand. Values are whole numbers under 2**24, so float32 holds them exactly.
    """

    def __init__(self, width: int, floor: float) -> None:
        self.width, self.floor = width, floor
        self.rows: Rows = np.zeros((0, width), dtype=np.int64)
        self.values: FloatArray = np.zeros((0, width), dtype=np.float32)

    def reserve(self, n: int) -> None:
        """Make room for n rows."""
        self.rows, self.values = grown(self.rows, n, -1), grown(self.values, n, self.floor)

    def listed(self, row: int) -> list[int]:
        """Whom a row lists."""
        return [other for other in self.rows[row].tolist() if other >= 0]

    def naming(self, gone: Rows) -> set[int]:
        """Those that list one of these rows."""
        return set(np.flatnonzero(np.isin(self.rows, gone).any(axis=1)).tolist())

    def put(self, row: int, found: Sequence[tuple[int, float]]) -> bool:
        """Let a row list these others with their values; whether they are others than before."""
        before = self.listed(row)
        self.rows[row], self.values[row] = -1, self.floor
        for place, (other, value) in enumerate(found):
            self.rows[row, place], self.values[row, place] = other, value
        return before != [other for other, _ in found]

    def offer(self, new: int, values: NDArray[Any], ties: Ties, among: NDArray[np.bool_]) -> Iterator[int]:
        """Put a new row into the lists ``among`` (n,) where it belongs; ``values`` (n,) are its own with them. The changed rows."""
        n = len(values)
        worst, last = self.values[:n, -1], ties[self.rows[:n, -1]]  # in a short list the floor, and the tie of nobody
        beaten = (values > worst) | ((values == worst) & (values > self.floor) & (ties[new] < last))
        for row in np.flatnonzero(beaten & among).tolist():
            listed = self.listed(row)
            if new not in listed:
                others = np.array([*listed, new])
                scored = np.array([*self.values[row, : len(listed)], values[row]])
                self.put(row, [(int(others[place]), value) for place, value in best(scored, ties[others], self.width, self.floor)])
                yield row


def tie_of(key: str, *, seed: int = 0) -> int:
    """A number in [0, 2**64) that looks drawn at random, but is always the same for a key and a seed >= 0.

    >>> tie_of("c1") == tie_of("c1"), tie_of("c1") == tie_of("c1", seed=7)
    (True, False)
    """
    digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8, salt=seed.to_bytes(16, "big"))
    return int.from_bytes(digest.digest(), "big")


@dataclass(frozen=True, slots=True)
class Node:
    """A chunk: its distinct terms and its vector (d,), see ``to_ints``."""

    chunk_id: str
    terms: Collection[str]
    vector: Ints


@dataclass(frozen=True, slots=True)
class KnnGraph:
    """An undirected simple graph: edges (e, 2) are places in ``keys``, which come in the order of ``tie_of``.

    Equal for equal chunks, whatever came and went before.
    """

    keys: tuple[str, ...]
    edges: Rows


class Neighbours:
    """Exact: after any history, lists and graph are those of the chunks that are there. Not safe among threads.

    >>> vectors = {"a": [4000, 0], "b": [3600, 1744], "c": [0, 4000]}
    >>> nodes = [Node(key, {"pump"} if key < "c" else {"gate"}, np.array(vectors[key], dtype=np.int16)) for key in vectors]
    >>> graph = Neighbours(2, k=2)
    >>> sorted(graph.renew(nodes)), graph.neighbours_of("a"), graph.neighbours_of("c")
    (['a', 'b', 'c'], ['b', 'c'], ['b'])
    """

    def __init__(self, dimensions: int, *, k: int, most_chunks: int = MOST_CHUNKS) -> None:
        """``k``: K, even; ``most_chunks``: of a term that joins chunks. Raises ValueError for a K that cannot be halved."""
        if k < 2 or k % 2:
            raise ValueError(f"K is {k}: half of the neighbours are lexical and half semantic, so take an even number from 2 on")
        self._half, self._most_chunks = k // 2, most_chunks
        self._lexical, self._semantic = Lists(k // 2, 0.0), Lists(k, -np.inf)
        self._vectors: FloatArray = np.zeros((0, dimensions), dtype=np.float32)
        self._ties: Ties = np.zeros(0, dtype=np.uint64)
        self._there: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._keys: list[str] = []
        self._terms: list[tuple[str, ...]] = []
        self._rows: dict[str, int] = {}
        self._free: list[int] = []
        self._postings: dict[str, array[int]] = {}
        self._common: set[str] = set()

    def renew(self, added: Iterable[Node], dropped: Iterable[str] = ()) -> frozenset[str]:
        """Take chunks out and in (a known id is replaced); those whose neighbours may be others now, among those that are there."""
        nodes = {node.chunk_id: node for node in added}
        common = self._common.copy()
        gone = np.array([self._rows[key] for key in dict.fromkeys([*dropped, *nodes]) if key in self._rows], dtype=np.int64)
        lexical, semantic = self._lexical.naming(gone), self._semantic.naming(gone)  # as a new chunk may take a row that is listed
        self._take_out(gone)
        new = {self._put_in(node) for node in nodes.values()}
        changed = self._list(new, lexical | self._holding(common ^ self._common), semantic)
        return frozenset(self._keys[row] for row in changed | lexical | semantic if self._there[row])

    def neighbours_of(self, chunk_id: str) -> list[str]:
        """S1, then S2 (Alg. 3 l. 4-5); none for an unknown chunk."""
        row = self._rows.get(chunk_id)
        if row is None:
            return []
        lexical = self._lexical.listed(row)
        semantic = [other for other in self._semantic.listed(row) if other not in lexical]
        return [self._keys[other] for other in (*lexical, *semantic[: self._half])]

    def graph(self) -> KnnGraph:
        """All edges (Alg. 3 l. 6-7), each once."""
        there = np.flatnonzero(self._there)
        order = there[np.argsort(self._ties[there])]
        places = np.zeros(len(self._keys), dtype=np.int64)
        places[order] = np.arange(len(order))
        lexical, semantic = self._lexical.rows[order], self._semantic.rows[order]
        free = (semantic >= 0) & ~(semantic[:, :, None] == lexical[:, None, :]).any(axis=2)
        chosen = np.concatenate([lexical >= 0, free & (np.cumsum(free, axis=1) <= self._half)], axis=1)
        source, column = np.nonzero(chosen)
        target = places[np.concatenate([lexical, semantic], axis=1)[source, column]]
        edges = np.stack([np.minimum(source, target), np.maximum(source, target)], axis=1)
        return KnnGraph(tuple(self._keys[row] for row in order), np.unique(edges, axis=0))

    def _take_out(self, gone: Rows) -> None:
        self._there[gone] = False
        for term in {term for row in gone.tolist() for term in self._terms[row]}:
            postings = np.frombuffer(self._postings[term], dtype=np.int64)
            left = array("q", postings[self._there[postings]].tobytes())
            if left:
                self._postings[term] = left
            else:
                del self._postings[term]
            if len(left) <= self._most_chunks:
                self._common.discard(term)
        for row in gone.tolist():
            del self._rows[self._keys[row]]
            self._keys[row], self._terms[row] = "", ()
        self._vectors[gone] = 0
        self._free += gone.tolist()

    def _put_in(self, node: Node) -> int:
        if self._free:
            row = self._free.pop()
            self._keys[row], self._terms[row] = node.chunk_id, tuple(set(node.terms))
        else:
            row = len(self._keys)
            self._keys.append(node.chunk_id)
            self._terms.append(tuple(set(node.terms)))
            self._reserve()
        self._rows[node.chunk_id] = row
        self._vectors[row], self._ties[row], self._there[row] = node.vector, tie_of(node.chunk_id), True
        for term in self._terms[row]:
            postings = self._postings.setdefault(term, array("q"))
            postings.append(row)
            if len(postings) > self._most_chunks:
                self._common.add(term)
        return row

    def _reserve(self) -> None:
        n = len(self._keys)
        self._vectors, self._ties, self._there = grown(self._vectors, n), grown(self._ties, n), grown(self._there, n)
        self._lexical.reserve(n)
        self._semantic.reserve(n)

    def _holding(self, terms: Iterable[str]) -> set[int]:
        return {row for term in terms for row in self._postings.get(term, ())}

    def _list(self, new: set[int], lexical: set[int], semantic: set[int]) -> set[int]:
        """Find the candidates of new rows and of those whose own are no longer sure, and offer the new rows to all others; what changed."""
        changed = set(new)
        n = len(self._keys)
        each: tuple[tuple[Lists, ValuesOf, set[int]], ...]
        each = ((self._lexical, self._shared, lexical), (self._semantic, self._cosines, semantic))
        for lists, values_of, unsure in each:
            again = new | {row for row in unsure if self._there[row]}
            among = self._there[:n].copy()
            among[list(again)] = False
            others = among.any()  # none in a first build
            for row, values in values_of(sorted(again)):
                if others and row in new:
                    changed.update(lists.offer(row, values, self._ties, among))
                if lists.put(row, best(values, self._ties, lists.width, lists.floor)):
                    changed.add(row)
        return changed

    def _shared(self, rows: Sequence[int]) -> Iterator[tuple[int, Rows]]:
        """co-occ of each row with all (n,), 0 with itself: rows of a sparse product, chunks by terms with its transpose (Alg. 3 l. 4)."""
        for row in rows:
            yield row, self._shared_terms(row)

    def _shared_terms(self, row: int) -> Rows:
        joining = [np.frombuffer(self._postings[term], dtype=np.int64) for term in self._terms[row] if term not in self._common]
        counts: Rows = np.bincount(np.concatenate(joining) if joining else np.zeros(0, dtype=np.int64), minlength=len(self._keys))
        counts[row] = 0
        return counts

    def _cosines(self, rows: Sequence[int]) -> Iterator[tuple[int, FloatArray]]:
        """Cosine of each row with all (n,) in units of 1/4000**2, exact; -inf with itself and with gaps (Alg. 3 l. 5)."""
        n = len(self._keys)
        gaps = np.flatnonzero(~self._there[:n])
        for start in range(0, len(rows), BLOCK):
            block = list(rows[start : start + BLOCK])
            products = self._vectors[block] @ self._vectors[:n].T
            products[:, gaps] = -np.inf
            for row, values in zip(block, products, strict=True):
                values[row] = -np.inf
                yield row, values
