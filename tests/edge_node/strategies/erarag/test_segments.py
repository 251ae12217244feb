"""The cut of a layer is bounded, and a function of what is there; held against a plain reading of the rule."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.strategies.erarag.segments import Bounds, buckets, cut, merged, segments

BOUNDS = st.sampled_from([Bounds(2, 3), Bounds(4, 7), Bounds(4, 16), Bounds(7, 13), Bounds(2, 22)])
WORKED = [0, 0, 1, 3, 6, 7, 7]  # of three bits


@st.composite
def lists(draw, *, most=150):
    """Ascending positions: ranks of few bits, many of them equal and most of them in one corner, with and without bits below them."""
    bits = draw(st.integers(2, 16))
    corner = draw(st.integers(0, bits))
    near, anywhere = st.integers(0, 2 ** (bits - corner) - 1), st.integers(0, 2**bits - 1)
    ranks = draw(st.lists(st.one_of(near, near, anywhere), max_size=most))
    below = draw(st.sampled_from([0, 0xFFFF]))
    return sorted(rank << (64 - bits) | below * index for index, rank in enumerate(ranks))


def positions(values):
    return np.array(values, dtype=np.uint64)


def placed(ranks, bits=3):
    return positions([rank << (64 - bits) for rank in ranks])


def sizes(starts, n):
    return np.diff(starts, append=n).tolist()


def groups_of(values, bounds):
    """Groups as the module makes them: tuples of positions."""
    if len(values) <= bounds.s_max:
        return [tuple(values)] if values else []
    row = positions(values)
    starts = merged(buckets(row, bounds.s_max), row, bounds.s_min).tolist()
    return [tuple(values[start:end]) for start, end in zip(starts, [*starts[1:], len(values)], strict=True)]


# ---------------------------------------------------------------- the rule, read plainly


def plain_buckets(values, s_max, prefix=""):
    inside = [value for value in values if f"{value:064b}".startswith(prefix)]
    if not inside:
        return []
    if len(inside) <= s_max or len(prefix) == 64:
        return [(prefix, inside)]
    return [*plain_buckets(inside, s_max, prefix + "0"), *plain_buckets(inside, s_max, prefix + "1")]


def plain_groups(values, bounds):
    """Each small bucket joins the large one next to it among those on the other side of its prefix's last bit."""
    found = plain_buckets(values, bounds.s_max)
    large = [number for number, (_, inside) in enumerate(found) if len(inside) >= bounds.s_min]
    groups = {number: [] for number in large}
    for number, (prefix, inside) in enumerate(found):
        beside = [other for other in large if found[other][0].startswith(prefix[:-1])]
        home = number if number in groups else min(beside, key=lambda other: abs(other - number))
        groups[home].extend(inside)
    return [tuple(group) for group in groups.values()]


# ---------------------------------------------------------------- worked by hand


def test_an_overfull_prefix_is_split_by_the_next_hyperplane():
    """At most 3: 0 holds four of seven, so 00 {0, 0, 1} and 01 {3}; 1 holds three: {6, 7, 7}."""
    found = buckets(placed(WORKED), 3)
    assert found.starts.tolist() == [0, 3, 4]
    assert [64 - int(below).bit_length() for below in found.below] == [2, 2, 1]


def test_a_small_bucket_joins_the_side_from_which_one_bit_parts_it():
    """01 {3} is one bit from 00 {0, 0, 1}, so they make one group; 1 {6, 7, 7} is another."""
    assert merged(buckets(placed(WORKED), 3), placed(WORKED), 2).tolist() == [0, 4]


def test_of_two_large_neighbours_a_small_bucket_joins_that_which_shares_more_of_its_prefix():
    """Three each at 000, 110 and 111, one at 100: 100 and 11 have hyperplane 0 in common, 000 has not."""
    row = placed([0, 0, 0, 4, 6, 6, 6, 7, 7, 7])
    assert sizes(buckets(row, 3).starts, 10) == [3, 1, 3, 3]
    assert sizes(merged(buckets(row, 3), row, 2), 10) == [3, 4, 3]


def test_small_buckets_at_both_ends_join_the_only_large_one():
    """[2, 3]: 000 has one, 001 three and 01 one of the five of 0; 1 has one."""
    row = placed([0, 1, 1, 1, 2, 4])
    assert sizes(buckets(row, 3).starts, 6) == [1, 3, 1, 1]
    assert sizes(merged(buckets(row, 3), row, 2), 6) == [6]


def test_the_worked_list_makes_segments_of_two_two_and_three():
    """The group {0, 0, 1, 3} is one too large and is cut in two."""
    assert sizes(segments(placed(WORKED), Bounds(2, 3)), 7) == [2, 2, 3]


def test_a_second_item_makes_the_small_bucket_a_segment_of_its_own():
    assert sizes(segments(placed([0, 0, 1, 2, 3, 6, 7, 7]), Bounds(2, 3)), 8) == [3, 2, 3]


def test_copies_that_share_all_bits_are_cut_evenly():
    assert sizes(segments(positions([5] * 10), Bounds(2, 4)), 10) == [4, 3, 3]


@pytest.mark.parametrize(("n", "expected"), [(0, []), (1, [1]), (3, [3]), (7, [7])])
def test_a_layer_that_fits_is_one_segment(n, expected):
    assert sizes(segments(positions(range(n)), Bounds(4, 7)), n) == expected


def test_a_group_is_cut_into_as_few_parts_as_can_be():
    assert sizes(cut(np.array([0, 4, 11]), 21, 4), 21) == [4, 4, 3, 4, 3, 3]


@pytest.mark.parametrize(("s_min", "s_max"), [(1, 5), (2, 2), (4, 6), (0, 0), (5, 4)])
def test_bounds_that_no_split_can_keep_are_refused(s_min, s_max):
    with pytest.raises(ValueError, match=r"s_max >= 2 \* s_min - 1"):
        Bounds(s_min, s_max)


# ---------------------------------------------------------------- for every list


@given(lists(), BOUNDS)
@settings(max_examples=25, deadline=None)
def test_buckets_and_groups_are_those_of_the_plain_rule(values, bounds):
    if len(values) <= bounds.s_max:
        return
    found = buckets(positions(values), bounds.s_max)
    assert sizes(found.starts, len(values)) == [len(inside) for _, inside in plain_buckets(values, bounds.s_max)]
    assert groups_of(values, bounds) == plain_groups(values, bounds)


@given(lists(), BOUNDS)
@settings(max_examples=25, deadline=None)
def test_every_segment_is_within_the_bounds_and_every_item_in_one(values, bounds):
    starts = segments(positions(values), bounds)
    held = sizes(starts, len(values))
    assert sum(held) == len(values)
    if len(values) >= bounds.s_min:
        assert all(bounds.s_min <= size <= bounds.s_max for size in held)


def test_every_number_of_items_is_cut_within_the_bounds():
    rng = np.random.default_rng(5)
    drawn = [np.sort(rng.integers(0, 2**64, n, dtype=np.uint64)) for n in range(4, 200)]
    assert all(4 <= size <= 7 for row in drawn for size in sizes(segments(row, Bounds(4, 7)), len(row)))


@given(lists(), BOUNDS, st.data())
@settings(max_examples=25, deadline=None)
def test_one_item_changes_a_bounded_number_of_groups(values, bounds, data):
    """A bucket that becomes large takes from two groups and makes three; one that splits makes as many as large ones fit into it."""
    item = data.draw(st.one_of(st.sampled_from(values), st.integers(0, 2**64 - 1)) if values else st.integers(0, 2**64 - 1))
    before, after = Counter(groups_of(values, bounds)), Counter(groups_of(sorted([*values, item]), bounds))
    assert (after - before).total() <= max(3, (bounds.s_max + 1) // bounds.s_min)
    assert (before - after).total() <= 2
