"""Arrays that grow."""

from __future__ import annotations

import numpy as np

from edge_node.strategies.ketrag.bipartite import FIRST_CAPACITY, grown


def test_an_array_with_room_stays_itself():
    rows = np.zeros((3, 2))
    assert grown(rows, 3) is rows


def test_growing_keeps_what_is_there_and_doubles():
    rows = np.arange(2 * FIRST_CAPACITY, dtype=np.int16)
    larger = grown(rows, 2 * FIRST_CAPACITY + 1, -1)
    assert (len(larger), larger.dtype) == (4 * FIRST_CAPACITY, np.int16)
    assert np.array_equal(larger[: len(rows)], rows)
    assert set(larger[len(rows) :].tolist()) == {-1}
