"""Exact search: rows behind keys, one float32 matrix that grows by doubling, and nano-vectordb without its faults."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shared.ports import FloatArray
from shared.vectors import checked, top_rows

FIRST_CAPACITY = 64  # rows
MOST_GAPS = 0.25  # of the rows


Rows = NDArray[np.int64]


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


class RowIndex(ABC):
    """Keys that stand for rows; what the rows are made of is for the subclass to say.

    Rows stand in the order in which their keys first came, so that a tie is won by the older key. A replaced vector
    keeps its row; a dropped one leaves a gap, and the gaps are closed when a quarter of the rows is one.
    """

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._rows: dict[str, int] = {}
        self._keys: list[str | None] = []  # None: a gap
        self._gaps: list[int] = []
        self._lock = Lock()

    @abstractmethod
    def _write(self, rows: Rows, vectors: FloatArray) -> None:
        """Keep ``vectors`` (n, d) as these rows, of which the new ones follow upon those that there are."""

    @abstractmethod
    def _nearest(self, query: FloatArray, k: int, gaps: Rows) -> tuple[Rows, FloatArray]:
        """The k rows with the highest cosine that are no ``gaps``, in any order, and at least those that tie with the last of them."""

    @abstractmethod
    def _vectors(self, rows: Rows) -> FloatArray:
        """What rows hold, (n, d)."""

    @abstractmethod
    def _keep(self, rows: Rows) -> None:
        """Close the gaps: only these rows stay, in this order."""

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, keys: Sequence[str], vectors: FloatArray) -> None:
        """Insert or replace; of a key given twice the last vector stays. Raises ValueError as the port says."""
        vectors = checked(vectors, rows=len(keys), dimensions=self._dimensions)
        last = {key: position for position, key in enumerate(keys)}
        with self._lock:
            rows = np.empty(len(last), dtype=np.int64)
            for number, key in enumerate(last):
                rows[number] = self._rows.setdefault(key, len(self._keys))
                if rows[number] == len(self._keys):
                    self._keys.append(key)
            self._write(rows, vectors if len(last) == len(keys) else vectors[list(last.values())])

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
            if (wanted := min(k, len(self._rows))) <= 0:
                return []
            rows, scores = self._nearest(query, wanted, np.array(self._gaps, dtype=np.int64))
            best = np.lexsort((rows, -scores))[:wanted]
            found = zip(rows[best].tolist(), scores[best].tolist(), strict=True)
            return [(str(self._keys[row]), score) for row, score in found if score >= min_score]

    def scores(self, vector: FloatArray, keys: Sequence[str]) -> list[float | None]:
        """The cosine of each key's vector, None for an unknown key. Raises as ``top``."""
        query = checked(np.atleast_2d(vector), rows=1, dimensions=self._dimensions)[0]
        with self._lock:
            rows = [self._rows.get(key) for key in keys]
            known = [row for row in rows if row is not None]
            cosines = iter((self._vectors(np.array(known, dtype=np.int64)) @ query).tolist() if known else ())
            return [None if row is None else next(cosines) for row in rows]

    def _close_gaps(self) -> None:
        kept = [row for row, key in enumerate(self._keys) if key is not None]
        self._keep(np.array(kept, dtype=np.int64))
        self._keys = [self._keys[row] for row in kept]
        self._rows = {key: row for row, key in enumerate(self._keys) if key is not None}
        self._gaps = []


class NumpyIndex(RowIndex):
    """Exact cosine over a preallocated (capacity, d) float32 matrix; the oracle for the other indexes.

    >>> index = NumpyIndex(2)
    >>> index.put(["east", "north"], np.eye(2, dtype=np.float32))
    >>> index.top(np.array([0.0, 1.0], dtype=np.float32), 1)
    [('north', 1.0)]
    """

    def __init__(self, dimensions: int) -> None:
        super().__init__(dimensions)
        self._matrix = np.zeros((FIRST_CAPACITY, dimensions), dtype=np.float32)

    def _write(self, rows: Rows, vectors: FloatArray) -> None:
        needed, held = len(self._keys), len(self._matrix)
        if needed > held:
            grown = np.zeros((max(needed, 2 * held), self._dimensions), dtype=np.float32)
            grown[:held] = self._matrix
            self._matrix = grown
        self._matrix[rows] = vectors

    def _nearest(self, query: FloatArray, k: int, gaps: Rows) -> tuple[Rows, FloatArray]:
        scores = self._matrix[: len(self._keys)] @ query
        scores[gaps] = -np.inf
        rows = np.array(top_rows(scores, k), dtype=np.int64)
        return rows, scores[rows]

    def _vectors(self, rows: Rows) -> FloatArray:
        return self._matrix[rows]

    def _keep(self, rows: Rows) -> None:
        self._matrix[: len(rows)] = self._matrix[rows]
