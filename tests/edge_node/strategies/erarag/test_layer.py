"""What an insertion or a removal changes in a layer."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.strategies.erarag.segments import Bounds, segments
from edge_node.strategies.erarag.tree import EMPTY, Item, changed

BOUNDS = Bounds(2, 3)
WORKED = [Item(key, rank << 61) for key, rank in zip("abcdefg", [0, 0, 1, 3, 6, 7, 7], strict=True)]
TWO = Item("h", 2 << 61)
SMALL = st.builds(Item, st.integers(0, 80).map(str), st.just(0)).map(lambda item: Item(item.key, (int(item.key) * 37 % 16) << 60))
STEPS = st.lists(st.tuples(st.lists(SMALL, max_size=20), st.sets(st.integers(0, 80).map(str), max_size=20)), max_size=6)


def layer_of(items, bounds=BOUNDS):
    return changed(EMPTY, items, (), bounds=bounds).layer


def shown(layer):
    return [layer.segment(number) for number in range(len(layer.starts))]


def test_the_worked_layer_has_three_segments():
    assert shown(layer_of(WORKED)) == [("a", "b"), ("c", "d"), ("e", "f", "g")]


def test_one_more_item_replaces_two_segments_and_keeps_one():
    change = changed(layer_of(WORKED), [TWO], (), bounds=BOUNDS)
    assert change.new == [("a", "b", "c"), ("h", "d")]
    assert change.gone.tolist() == [0, 1]
    assert change.before.tolist() == [-1, -1, 2]


def test_taking_it_out_again_brings_back_what_was():
    grown = changed(layer_of(WORKED), [TWO], (), bounds=BOUNDS).layer
    back = changed(grown, (), {"h"}, bounds=BOUNDS)
    assert shown(back.layer) == shown(layer_of(WORKED))
    assert back.new == [("a", "b"), ("c", "d")]


def test_adding_what_is_there_changes_nothing():
    change = changed(layer_of(WORKED), [*WORKED, *WORKED], (), bounds=BOUNDS)
    assert (change.new, change.gone.tolist(), len(change.layer.keys)) == ([], [], 7)


def test_what_is_added_and_removed_at_once_stays():
    change = changed(layer_of(WORKED), [WORKED[0]], {"a"}, bounds=BOUNDS)
    assert (change.new, change.gone.tolist()) == ([], [])


def test_a_key_that_is_not_there_is_passed_over():
    assert changed(layer_of(WORKED), (), {"nobody"}, bounds=BOUNDS).new == []


def test_the_last_items_leave_an_empty_layer():
    change = changed(layer_of(WORKED), (), set("abcdefg"), bounds=BOUNDS)
    assert (shown(change.layer), change.new, change.gone.tolist()) == ([], [], [0, 1, 2])


def test_keys_of_one_position_stand_in_their_own_order():
    items = [Item(key, 5) for key in "dacb"]
    assert shown(layer_of(items)) == [("a", "b"), ("c", "d")]
    assert shown(changed(layer_of(items[:2]), items[2:], (), bounds=BOUNDS).layer) == shown(layer_of(items))


def test_the_highest_position_has_its_place():
    assert shown(layer_of([Item("a", 2**64 - 1), Item("b", 0)])) == [("b", "a")]


def test_nothing_added_to_an_empty_layer_is_an_empty_layer():
    change = changed(EMPTY, (), (), bounds=BOUNDS)
    assert (shown(change.layer), change.new, change.gone.tolist()) == ([], [], [])


@given(STEPS, st.sampled_from([Bounds(2, 3), Bounds(4, 7), Bounds(4, 16)]))
@settings(max_examples=25, deadline=None)
def test_whatever_the_steps_the_layer_is_that_of_what_is_there(steps, bounds):
    """Each change tells exactly the segments in which the layers before and after it differ."""
    layer, there = EMPTY, {}
    for added, removed in steps:
        before = shown(layer)
        there = {key: item for key, item in there.items() if key not in removed} | {item.key: item for item in added}
        change = changed(layer, added, removed, bounds=bounds)
        layer = change.layer
        built = layer_of(there.values(), bounds)
        assert shown(layer) == shown(built)
        assert np.array_equal(layer.starts, segments(layer.positions, bounds))
        assert set(change.new) == set(shown(layer)) - set(before)
        assert [before[number] for number in change.gone] == [one for one in before if one not in set(shown(layer))]
