"""Rows on the simplex, against the textbook's full sort and against numbers worked out by hand."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from edge_node.memory.hypergraph import projected

SCORES = arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 12)), elements=st.floats(-4, 4))


def sorted_whole(row):
    """The nearest point of the simplex to one row, by sorting all of it (Duchi et al. 2008)."""
    descending = np.sort(row)[::-1]
    sums = np.cumsum(descending) - 1
    last = np.flatnonzero(descending * np.arange(1, len(row) + 1) > sums)[-1]
    return np.maximum(row - sums[last] / (last + 1), 0)


def dense(rows, m):
    whole = np.zeros((len(rows.columns), m), rows.values.dtype)
    for row, (columns, values) in enumerate(zip(rows.columns, rows.values, strict=True)):
        np.add.at(whole[row], columns, values)
    return whole


@pytest.mark.parametrize(
    ("scores", "nearest"),
    [
        ([0.5, -1.0, 0.3], [0.6, 0.0, 0.4]),  # θ = (0.8 - 1)/2
        ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5]),  # is there already
        ([5.0, 1.0], [1.0, 0.0]),
        ([-7.0], [1.0]),
        ([1.0, 1.0, 0.5], [0.5, 0.5, 0.0]),  # θ = 1/2, where the third is exactly 0
    ],
)
def test_the_nearest_point_is_the_one_worked_out_by_hand(scores, nearest):
    assert dense(projected(np.array([scores])), len(scores))[0] == pytest.approx(nearest)


@given(SCORES)
@settings(max_examples=50)
def test_it_is_what_sorting_whole_rows_gives(scores):
    found = dense(projected(scores), scores.shape[1])
    assert (found >= 0).all()
    assert found.sum(axis=1) == pytest.approx(1)
    for row, nearest in zip(scores, found, strict=True):
        assert nearest == pytest.approx(sorted_whole(row), abs=1e-12)


@given(SCORES)
@settings(max_examples=50)
def test_the_largest_stand_first_and_ties_by_column(scores):
    rows = projected(scores)
    for columns, values in zip(rows.columns.tolist(), rows.values.tolist(), strict=True):
        assert len(set(columns)) == len(columns)
        pairs = [(-value, column) for value, column in zip(values, columns, strict=True) if value]
        assert [-value for value, _ in pairs] == sorted([-value for value, _ in pairs], reverse=True)
    assert projected(np.ones((1, 4))).columns.tolist() == [[0, 1, 2, 3]]


@given(arrays(np.float64, (3, 6), elements=st.integers(-8, 8).map(lambda eighths: eighths / 8)))
@settings(max_examples=50)
def test_with_two_entries_at_most_it_is_the_nearest_of_all_pairs(scores):
    found = dense(projected(scores, most=2), 6)
    assert (np.count_nonzero(found, axis=1) <= 2).all()
    for row, nearest in zip(scores, found, strict=True):
        others = []
        for pair in combinations(range(6), 2):
            other = np.zeros(6)
            other[list(pair)] = sorted_whole(row[list(pair)])
            others.append(((row - other) ** 2).sum())
        assert ((row - nearest) ** 2).sum() == pytest.approx(min(others))


def test_of_more_equal_scores_than_fit_the_first_columns_count():
    scores = np.zeros((2, 100))
    scores[1, ::2] = 1  # the even columns, and they are more than 32 too
    rows = projected(scores)
    assert rows.columns.tolist() == [list(range(32)), list(range(0, 64, 2))]
    assert np.unique(rows.values).tolist() == [1 / 32]


@given(st.sets(st.integers(0, 99), min_size=2, max_size=20))
@settings(max_examples=25)
def test_equal_scores_among_many_stand_by_column(columns):
    scores = np.arange(-200.0, -100)[None]
    scores[0, sorted(columns)] = 1
    assert projected(scores).columns[0, : len(columns)].tolist() == sorted(columns)


def test_float32_stays_and_large_scores_do_not_lose_the_sum():
    """θ lies (0 + 0.3125 + 0.4375 + 1)/3 below the largest; the sum of the three themselves has steps of 0.25 in float32."""
    rows = projected(np.array([[1e6, 1e6 - 0.3125, 1e6 - 0.4375, -1e6]], dtype=np.float32))
    assert rows.values.dtype == np.float32
    assert rows.values[0] == pytest.approx([1.75 / 3, 0.8125 / 3, 0.4375 / 3, 0], abs=1e-6)
