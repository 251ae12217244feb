"""Arrays that grow by doubling, so that adding rows one by one costs no more than adding them at once."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", bound=np.generic)
FIRST_CAPACITY = 64  # rows


def grown(rows: NDArray[Number], n: int, fill: Any = 0) -> NDArray[Number]:
    """``rows`` itself where it has n rows, else a copy with room for them; new rows hold ``fill``.

    >>> grown(np.array([7]), 2).shape
    (64,)
    """
    if n <= len(rows):
        return rows
    larger = np.full((max(n, 2 * len(rows), FIRST_CAPACITY), *rows.shape[1:]), fill, dtype=rows.dtype)
    larger[: len(rows)] = rows
    return larger
