"""For each row the few others that score best with it; a new row is put in where it belongs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge_node.strategies.ketrag.growing import grown
from shared.ports import FloatArray

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
