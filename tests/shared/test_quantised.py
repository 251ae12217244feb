"""Whole numbers for vectors: exact sums and products."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.vectors import MOST_SUMMED, ONE, from_ints, to_ints, unit


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_products_of_real_vectors_are_the_same_in_any_block(seed):
    rows = to_ints(unit(np.random.default_rng(seed).standard_normal((40, 384)).astype(np.float32))).astype(np.float32)
    exact = rows.astype(np.int64) @ rows.astype(np.int64).T
    assert np.array_equal(rows @ rows.T, exact)
    assert all(np.array_equal(rows @ row, exact[place]) for place, row in enumerate(rows))


def test_the_largest_product_and_the_largest_sum_stay_where_float32_is_exact():
    longest = (ONE * 1.001 + 0.5 * 1_024**0.5) ** 2  # a vector of norm 1.001 with every component rounded away, 1,024 dimensions
    assert longest < 2**24
    assert MOST_SUMMED * ONE * 1.001 < 2**24


def test_a_cosine_moves_by_less_than_a_thousandth():
    rows = unit(np.random.default_rng(7).standard_normal((200, 384)).astype(np.float32))
    found = to_ints(rows).astype(np.float32)
    assert np.abs(found @ found.T / ONE**2 - rows @ rows.T).max() < 1e-3


def test_what_numbers_stand_for_is_of_norm_1_and_near_what_they_were_made_of():
    rows = unit(np.random.default_rng(7).standard_normal((50, 384)).astype(np.float32))
    back = from_ints(to_ints(rows))
    assert np.allclose(np.linalg.norm(back, axis=1), 1, atol=1e-6)
    assert np.abs((back * rows).sum(axis=1) - 1).max() < 1e-4
