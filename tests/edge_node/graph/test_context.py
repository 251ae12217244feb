"""Exact token budgets."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.graph.local_search import fitting, part_of


def test_what_does_not_fit_is_skipped_and_something_smaller_may_follow():
    assert fitting(["a", "b", "c"], {"a": 6, "b": 5, "c": 4}.__getitem__, 10) == {"a": 6, "c": 4}


def test_a_key_is_taken_once():
    assert fitting(["a", "a"], lambda key: 1, 10) == {"a": 1}


def test_nothing_is_asked_for_once_the_budget_is_spent():
    keys = iter(["a", "b", "c"])
    assert fitting(keys, lambda key: 5, 5) == {"a": 5}
    assert list(keys) == ["c"]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 50), max_size=20), st.integers(-5, 200))
def test_a_budget_is_never_exceeded_and_nothing_is_left_out_that_would_fit(sizes, limit):
    taken = fitting(list(map(str, range(len(sizes)))), lambda key: sizes[int(key)], limit)
    left = limit - sum(taken.values())
    assert left >= min(limit, 0)
    assert all(size > left for place, size in enumerate(sizes) if str(place) not in taken)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 100_000), st.integers(0, 100))
def test_both_channels_together_never_get_more_than_the_limit(limit, percent):
    theta = percent / 100
    assert part_of(limit, theta) + part_of(limit, 1 - theta) <= limit
    assert part_of(limit, theta) == limit * percent // 100
