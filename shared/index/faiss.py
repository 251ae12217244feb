"""faiss with half-precision rows: exact search at half the memory (extra ``faiss``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any

import numpy as np

from shared.errors import SettingsError
from shared.ports import FloatArray
from shared.vectors import checked


def _library() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise SettingsError("the vector index 'faiss' is not installed", next_step="run: pip install 'dgrag[faiss]'") from error
    return faiss


class FaissIndex:
    """Exact cosine over fp16 rows (scores within 1e-3 of float32), for more than about 20,000 vectors.

    Rows stand in the order in which their keys first came; a replaced vector keeps its row. Raises SettingsError where
    faiss is not installed.
    """

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._faiss = _library()
        self._index = self._faiss.IndexScalarQuantizer(dimensions, self._faiss.ScalarQuantizer.QT_fp16, self._faiss.METRIC_INNER_PRODUCT)
        self._rows: dict[str, int] = {}
        self._keys: list[str] = []
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._keys)

    def put(self, keys: Sequence[str], vectors: FloatArray) -> None:
        """Insert or replace; of a key given twice the last vector stays. Raises ValueError as the port says."""
        vectors = checked(vectors, rows=len(keys), dimensions=self._dimensions)
        last = {key: position for position, key in enumerate(keys)}
        with self._lock:
            old = [key for key in last if key in self._rows]
            new = [key for key in last if key not in self._rows]
            if old:
                self._codes()[[self._rows[key] for key in old]] = self._index.sa_encode(vectors[[last[key] for key in old]])
            if new:
                self._index.add(vectors[[last[key] for key in new]])
                self._rows.update({key: len(self._keys) + position for position, key in enumerate(new)})
                self._keys.extend(new)

    def drop(self, keys: Iterable[str]) -> None:
        """Remove; unknown keys are ignored."""
        with self._lock:
            gone = {self._rows[key] for key in keys if key in self._rows}
            if not gone:
                return
            self._index.remove_ids(np.array(sorted(gone), dtype=np.int64))  # shifts the later rows down, in order
            self._keys = [key for row, key in enumerate(self._keys) if row not in gone]
            self._rows = {key: row for row, key in enumerate(self._keys)}

    def top(self, vector: FloatArray, k: int, *, min_score: float = -1.0) -> list[tuple[str, float]]:
        """The k best (key, cosine), best first, ties by insertion order. Raises ValueError unless ``vector`` is a (d,) unit row."""
        query = checked(np.atleast_2d(vector), rows=1, dimensions=self._dimensions)
        with self._lock:
            wanted = min(k, len(self._keys))
            if wanted <= 0:
                return []
            scores, rows = self._with_ties(query, wanted)
            order = np.lexsort((rows, -scores))[:wanted]
            return [(self._keys[rows[at]], float(scores[at])) for at in order if scores[at] >= min_score]

    def scores(self, vector: FloatArray, keys: Sequence[str]) -> list[float | None]:
        """The cosine of each key's vector, None for an unknown key. Raises as ``top``."""
        query = checked(np.atleast_2d(vector), rows=1, dimensions=self._dimensions)[0]
        with self._lock:
            return [float(self._index.reconstruct(self._rows[key]) @ query) if key in self._rows else None for key in keys]

    def _with_ties(self, query: FloatArray, wanted: int) -> tuple[FloatArray, Any]:
        """Search deeper until the last score is worse than the ``wanted``-th: faiss cuts among equal scores by chance."""
        depth = wanted
        while True:
            depth = min(2 * depth, len(self._keys))
            scores, rows = self._index.search(query, depth)
            if depth == len(self._keys) or scores[0, -1] < scores[0, wanted - 1]:
                return scores[0], rows[0]

    def _codes(self) -> Any:
        """The stored rows as a (n, bytes) view of faiss's own memory."""
        flat = self._faiss.rev_swig_ptr(self._index.codes.data(), self._index.ntotal * self._index.code_size)
        return flat.reshape(self._index.ntotal, self._index.code_size)
