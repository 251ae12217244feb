"""Exact search: one float32 matrix that grows by doubling, and nano-vectordb without its faults."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any

import numpy as np

from shared.ports import FloatArray
from shared.vectors import checked, top_rows

FIRST_CAPACITY = 64  # rows
MOST_GAPS = 0.25  # of the rows


def _empty_store(dimensions: int) -> Any:
    """A NanoVectorDB in memory; its import must not set up the process's logging, nor its start read a file."""
    root, quiet = logging.getLogger(), logging.NullHandler()
    root.addHandler(quiet)  # the library calls logging.basicConfig at import, which does nothing where a handler exists
    try:
        from nano_vectordb import NanoVectorDB
    finally:
        root.removeHandler(quiet)
    return NanoVectorDB(dimensions, storage_file="")  # a name would be loaded from the working folder if it existed


class NanoIndex:
    """Exact cosine over a NanoVectorDB that lives in memory only; every put scans all rows, so put in batches.

    What the library gets wrong is kept from it: it stores vectors of a wrong dimension, zeros and NaN (each later key then
    answers with another's vector), loses rows under two threads, forgets data in ``save``, and breaks ties at random.
    Here only checked vectors reach it, one lock guards it, it is never saved, and the ranking is ours.

    >>> index = NanoIndex(2)
    >>> index.put(["east", "north"], np.eye(2, dtype=np.float32))
    >>> index.top(np.array([0.0, 1.0], dtype=np.float32), 1)
    [('north', 1.0)]
    """

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._store = _empty_store(dimensions)
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._store)

    def put(self, keys: Sequence[str], vectors: FloatArray) -> None:
        """Insert or replace; of a key given twice the last vector stays. Raises ValueError as the port says."""
        vectors = checked(vectors, rows=len(keys), dimensions=self._dimensions)
        with self._lock:  # fresh dicts: the library takes apart those that it is given
            self._store.upsert([{"__id__": key, "__vector__": vector} for key, vector in zip(keys, vectors, strict=True)])

    def drop(self, keys: Iterable[str]) -> None:
        """Remove; unknown keys are ignored."""
        with self._lock:
            self._store.delete(list(keys))

    def top(self, vector: FloatArray, k: int, *, min_score: float = -1.0) -> list[tuple[str, float]]:
        """The k best (key, cosine), best first, ties by insertion order. Raises ValueError unless ``vector`` is a (d,) unit row."""
        query = checked(np.atleast_2d(vector), rows=1, dimensions=self._dimensions)[0]
        with self._lock:
            # its own query cuts at k among equal scores by chance; its rows are reached past the private name
            held = self._store._NanoVectorDB__storage
            scores = held["matrix"] @ query
            best = top_rows(scores, k)
            return [(held["data"][row]["__id__"], float(scores[row])) for row in best if scores[row] >= min_score]

    def scores(self, vector: FloatArray, keys: Sequence[str]) -> list[float | None]:
        """The cosine of each key's vector, None for an unknown key. Raises as ``top``."""
        query = checked(np.atleast_2d(vector), rows=1, dimensions=self._dimensions)[0]
        wanted = frozenset(keys)
        with self._lock:
            held = self._store._NanoVectorDB__storage
            rows = {item["__id__"]: row for row, item in enumerate(held["data"]) if item["__id__"] in wanted}
            return [float(held["matrix"][rows[key]] @ query) if key in rows else None for key in keys]


class NumpyIndex:
    """Exact cosine over a preallocated (capacity, d) float32 matrix; the oracle for the other indexes.

    Rows stand in the order in which their keys first came, so that a tie is won by the older key. A replaced vector
    keeps its row; a dropped one leaves a gap, and the gaps are closed when a quarter of the rows is one.

    >>> index = NumpyIndex(2)
    >>> index.put(["east", "north"], np.eye(2, dtype=np.float32))
    >>> index.top(np.array([0.0, 1.0], dtype=np.float32), 1)
    [('north', 1.0)]
    """

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._matrix = np.empty((FIRST_CAPACITY, dimensions), dtype=np.float32)
        self._rows: dict[str, int] = {}
        self._keys: list[str | None] = []  # None: a gap
        self._gaps: list[int] = []
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, keys: Sequence[str], vectors: FloatArray) -> None:
        """Insert or replace; of a key given twice the last vector stays. Raises ValueError as the port says."""
        vectors = checked(vectors, rows=len(keys), dimensions=self._dimensions)
        with self._lock:
            self._reserve(len(self._keys) + len(keys))
            for key, vector in zip(keys, vectors, strict=True):
                row = self._rows.setdefault(key, len(self._keys))
                if row == len(self._keys):
                    self._keys.append(key)
                self._matrix[row] = vector

    def drop(self, keys: Iterable[str]) -> None:
        """Remove; unknown keys are ignored."""
        with self._lock:
            for key in keys:
                if (row := self._rows.pop(key, None)) is not None:
                    self._keys[row] = None
                    self._gaps.append(row)
            if len(self._gaps) > MOST_GAPS * len(self._keys):
                self._close_gaps()

    def top(self, vector: FloatArray, k: int, *, min_score: float = -1.0) -> list[tuple[str, float]]:
        """The k best (key, cosine), best first, ties by insertion order. Raises ValueError unless ``vector`` is a (d,) unit row."""
        query = checked(np.atleast_2d(vector), rows=1, dimensions=self._dimensions)[0]
        with self._lock:
            scores = self._matrix[: len(self._keys)] @ query
            scores[self._gaps] = -np.inf
            found = [(self._keys[row], float(scores[row])) for row in top_rows(scores, k)]
            return [(key, score) for key, score in found if key is not None and score >= min_score]

    def scores(self, vector: FloatArray, keys: Sequence[str]) -> list[float | None]:
        """The cosine of each key's vector, None for an unknown key. Raises as ``top``."""
        query = checked(np.atleast_2d(vector), rows=1, dimensions=self._dimensions)[0]
        with self._lock:
            return [float(self._matrix[self._rows[key]] @ query) if key in self._rows else None for key in keys]

    def _close_gaps(self) -> None:
        kept = [row for row, key in enumerate(self._keys) if key is not None]
        self._matrix[: len(kept)] = self._matrix[kept]
        self._keys = [self._keys[row] for row in kept]
        self._rows = {key: row for row, key in enumerate(self._keys) if key is not None}
        self._gaps = []

    def _reserve(self, rows: int) -> None:
        if rows > len(self._matrix):
            grown = np.empty((max(rows, 2 * len(self._matrix)), self._dimensions), dtype=np.float32)
            grown[: len(self._keys)] = self._matrix[: len(self._keys)]
            self._matrix = grown
