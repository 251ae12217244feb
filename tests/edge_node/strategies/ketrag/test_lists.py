"""The best others of each row, and a new row that finds its place."""

from __future__ import annotations

import numpy as np

from edge_node.strategies.ketrag.knn import Lists, best

TIES = np.array([40, 30, 20, 10], dtype=np.uint64)
ALL = np.array([True, True, True, True])


def lists_of(*found: list[tuple[int, float]]) -> Lists:
    lists = Lists(2, 0.0)
    lists.reserve(4)
    for row, others in enumerate(found):
        lists.put(row, others)
    return lists


def test_nothing_above_the_floor_is_nothing():
    assert best(np.array([0.0, 0.0]), TIES[:2], 2, 0.0) == []
    assert best(np.array([-np.inf, -0.5]), TIES[:2], 2, -np.inf) == [(1, -0.5)]


def test_of_equals_the_smaller_tie_comes_first():
    assert best(np.array([3, 5, 3, 3]), TIES, 3, 0.0) == [(1, 5.0), (3, 3.0), (2, 3.0)]


def test_a_new_row_takes_the_place_of_a_worse_one():
    lists = lists_of([(1, 5.0), (2, 2.0)])
    assert list(lists.offer(3, np.array([4.0, 0.0, 0.0, 0.0]), TIES, ALL)) == [0]
    assert (lists.listed(0), lists.values[0].tolist()) == ([1, 3], [5.0, 4.0])


def test_a_new_row_that_equals_the_worst_is_taken_only_with_a_smaller_tie():
    smaller, larger = lists_of([(1, 5.0), (2, 2.0)]), lists_of([(1, 5.0), (3, 2.0)])
    assert list(smaller.offer(3, np.array([2.0, 0.0, 0.0, 0.0]), TIES, ALL)) == [0]
    assert list(larger.offer(2, np.array([2.0, 0.0, 0.0, 0.0]), TIES, ALL)) == []


def test_a_short_list_takes_anything_above_the_floor_and_nothing_else():
    lists = lists_of([(1, 5.0)])
    assert list(lists.offer(2, np.zeros(4), TIES, ALL)) == []
    assert list(lists.offer(3, np.array([1.0, 0.0, 0.0, 0.0]), TIES, ALL)) == [0]
    assert lists.listed(0) == [1, 3]


def test_only_the_rows_among_which_it_is_offered_take_it_and_none_takes_it_twice():
    lists = lists_of([(3, 5.0)], [(0, 1.0)])
    assert list(lists.offer(3, np.full(4, 9.0), TIES, np.array([True, False, False, False]))) == []
    assert list(lists.offer(3, np.full(4, 9.0), TIES, np.array([True, True, False, False]))) == [1]


def test_who_lists_a_row_is_known_and_a_list_says_whether_it_changed():
    lists = lists_of([(1, 5.0), (2, 2.0)], [(2, 1.0)])
    assert lists.naming(np.array([2])) == {0, 1}
    assert lists.naming(np.array([1, 3])) == {0}
    assert not lists.put(1, [(2, 7.0)])
    assert lists.put(1, [(0, 7.0)])
