"""Codes, and the order in which a layer lists its items."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.strategies.erarag import segments
from edge_node.strategies.erarag.segments import GRID, PLANE_GRID, draw_hyperplanes, hash_codes, positions_of, ranks_of
from shared.vectors import unit

CODES = st.integers(1, 12).flatmap(lambda bits: st.tuples(st.just(bits), st.lists(st.integers(0, 2**bits - 1), max_size=30)))


def codes(*values):
    return np.array(values, dtype=np.int64)


def test_each_bit_says_on_which_side_of_its_hyperplane_a_vector_lies():
    """Normals (1, 0), (0, 1), (-1, 1): (3, 4) lies above all, 1 + 2 + 4; (4, -3) above the first only."""
    segments = np.array([[1, 0], [0, 1], [-1, 1]], dtype=np.float32)
    assert hash_codes(np.array([[0.6, 0.8], [0.8, -0.6]], dtype=np.float32), segments).tolist() == [7, 1]


def test_a_vector_that_lies_on_a_hyperplane_is_not_above_it():
    assert hash_codes(np.array([[1.0, 0.0]], dtype=np.float32), np.array([[0, 5]], dtype=np.float32)).tolist() == [0]


def test_no_vectors_have_no_codes():
    assert len(hash_codes(np.zeros((0, 4), dtype=np.float32), draw_hyperplanes(8, 4, np.random.default_rng(0)))) == 0


def test_sixty_two_hyperplanes_fit_a_signed_integer():
    segments = np.ones((62, 2), dtype=np.float32)
    assert hash_codes(np.ones((1, 2), dtype=np.float32), segments).tolist() == [2**62 - 1]


@pytest.mark.parametrize("count", [0, 63, -1])
def test_a_number_of_hyperplanes_that_no_code_holds_is_refused(count):
    with pytest.raises(ValueError, match="1 to 62"):
        draw_hyperplanes(count, 4, np.random.default_rng(0))


def test_vectors_of_another_length_are_refused():
    with pytest.raises(ValueError, match="3 dimensions do not fit hyperplanes of 2"):
        hash_codes(np.ones((1, 3), dtype=np.float32), np.ones((4, 2), dtype=np.float32))


def test_one_seed_draws_the_same_hyperplanes_again():
    assert np.array_equal(*(draw_hyperplanes(4, 8, np.random.default_rng(7)) for _ in range(2)))


def test_two_vectors_agree_in_the_share_of_bits_that_their_angle_leaves():
    """At 60 degrees 1 - θ/π = 2/3; of 100 * 62 bits the share lies within 0.03 of it, five standard errors."""
    pair = unit(np.array([[1, 0], [0.5, np.sqrt(0.75)]], dtype=np.float32))
    rng = np.random.default_rng(3)
    differ = [int(np.bitwise_xor(*hash_codes(pair, draw_hyperplanes(62, 2, rng)))).bit_count() for _ in range(100)]
    assert 1 - sum(differ) / 6200 == pytest.approx(2 / 3, abs=0.03)


@given(CODES)
@settings(max_examples=25, deadline=None)
def test_the_rank_is_the_code_read_as_a_gray_number(case):
    """r XOR r / 2 gives the code back, hyperplane 0 in its highest bit."""
    bits, values = case
    ranks = ranks_of(codes(*values), bits=bits).tolist()
    assert [int(f"{rank ^ rank >> 1:0{bits}b}"[::-1], 2) for rank in ranks] == values


def test_neighbours_in_rank_differ_in_one_bit():
    order = np.argsort(ranks_of(np.arange(16), bits=4)).tolist()
    assert [(one ^ other).bit_count() for one, other in pairwise(order)] == [1] * 15


def test_a_position_begins_with_the_rank_and_ends_with_the_keys_hash():
    place, other, moved = positions_of(["a", "b", "a"], codes(5, 5, 6), bits=3).tolist()
    rank, moved_rank = ranks_of(codes(5, 6), bits=3).tolist()
    assert [place >> 61, other >> 61, moved >> 61] == [rank, rank, moved_rank]
    assert place != other
    assert place % 2**61 == moved % 2**61


def test_no_sum_of_products_leaves_what_float32_counts_exactly():
    """The worst case: a vector along a hyperplane's normal, as many dimensions as embedders have."""
    dimensions = 4096
    normals = draw_hyperplanes(8, dimensions, np.random.default_rng(3))
    along = (normals / np.linalg.norm(normals, axis=1, keepdims=True)).astype(np.float32)
    products = np.rint(along * GRID).astype(np.float64) @ np.rint(normals * PLANE_GRID).astype(np.float64).T
    assert np.abs(products).max() < 2**24


def test_codes_do_not_depend_on_how_many_are_hashed_together(monkeypatch):
    rng = np.random.default_rng(5)
    vectors = unit(rng.standard_normal((50, 24)).astype(np.float32))
    normals = draw_hyperplanes(16, 24, rng)
    whole = hash_codes(vectors, normals)
    monkeypatch.setattr(segments, "TOGETHER", 7)
    assert np.array_equal(hash_codes(vectors, normals), whole)
