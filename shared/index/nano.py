"""nano-vectordb as the default index, without its faults."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any

import numpy as np

from shared.ports import FloatArray
from shared.vectors import checked, top_rows


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
