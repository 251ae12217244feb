"""Layers above layers: whatever came and went in whatever order, the tree is that of what is there."""

import asyncio

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.strategies.erarag.segments import Bounds, draw_hyperplanes, hash_codes, positions_of
from edge_node.strategies.erarag.tree import Item, Tree, node_key, rewritten, updated

BITS = 8
PLANES = np.rint(8 * draw_hyperplanes(BITS, 6, np.random.default_rng(1)))  # a lattice, so that a code never hangs on rounding
WORDS = ["pump", "ward", "gate", "lot", "night", "slate"]
PASSAGES = {f"d:{number}": f"{WORDS[number % 6]} {WORDS[number * 5 % 7 % 6]} {number % 4}" for number in range(120)}
KEYS = st.sets(st.sampled_from(sorted(PASSAGES)), max_size=40)
TEXTS = dict(PASSAGES)  # and those of all nodes that a test makes: a key names one text for ever
STEPS = st.lists(st.tuples(KEYS, KEYS), min_size=1, max_size=5)


def vector(text):
    """How often each word stands in the text, and how often the others do."""
    counts = [text.split().count(word) for word in WORDS]
    return np.array([6 * count - sum(counts) for count in counts], dtype=np.float32)


def items(texts):
    rows = np.array([vector(text) for text in texts.values()], dtype=np.float32).reshape(len(texts), 6)
    places = positions_of(list(texts), hash_codes(rows, PLANES), bits=BITS).tolist()
    return [Item(key, place) for key, place in zip(texts, places, strict=True)]


class Writer:
    """Summarises by joining: a node says the two first words of each child, cut to forty characters."""

    def __init__(self):
        self.asked = []

    async def __call__(self, level, segments, gone):
        self.asked.append((level, len(segments), len(gone)))
        made = {}
        for members in segments:
            text = " ".join(word for key in members for word in TEXTS[key].split()[:2])[:40]
            made[node_key(level, members, text)] = text
        TEXTS.update(made)
        return items(made)


def grown(steps, tree):
    writer = Writer()
    for added, removed in steps:
        tree = asyncio.run(updated(tree, items({key: PASSAGES[key] for key in sorted(added)}), removed, writer))
    return tree


def built(keys, tree):
    return grown([(keys, ())], tree)


def shown(tree):
    """Each level's segments with their nodes."""
    return [
        [(layer.segment(number), node) for number, node in enumerate(nodes)] for layer, nodes in zip(tree.layers, tree.nodes, strict=True)
    ]


def empty(bounds=Bounds(2, 3), most_levels=5):  # noqa: B008 - a value
    return Tree(bounds, most_levels)


def test_one_passage_has_one_node_and_no_more_levels():
    tree = built({"d:0"}, empty())
    assert [[segment for segment, _ in level] for level in shown(tree)] == [[("d:0",)]]


def test_no_passage_has_no_node():
    assert shown(built((), empty())) == [[]]


def test_another_level_is_made_as_long_as_a_level_has_too_many_nodes():
    """Alg. 3, note: a level of more than s_max nodes is cut again; the last one has s_max or fewer."""
    tree = built(PASSAGES, empty())
    counts = [len(nodes) for nodes in tree.nodes]
    assert len(counts) >= 3
    assert all(count > 3 for count in counts[:-1])
    assert counts[-1] <= 3
    assert [len(layer.keys) for layer in tree.layers] == [120, *counts[:-1]]


def test_no_level_is_higher_than_asked():
    assert len(built(PASSAGES, empty(most_levels=2)).nodes) == 2


def test_every_node_of_a_level_is_an_item_of_the_next():
    tree = built(PASSAGES, empty())
    assert all({node.key for node in nodes} == set(layer.keys) for nodes, layer in zip(tree.nodes, tree.layers[1:], strict=False))


def test_levels_fall_away_with_the_passages():
    tree = built(PASSAGES, empty())
    left = asyncio.run(updated(tree, (), set(PASSAGES) - {"d:0", "d:1"}, Writer()))
    assert shown(left) == shown(built({"d:0", "d:1"}, empty()))


def test_a_tree_is_left_as_it_was_when_writing_fails():
    class Broken(Exception):
        pass

    async def fail(level, segments, gone):
        raise Broken

    tree = built(PASSAGES, empty())
    before = shown(tree)
    with pytest.raises(Broken):
        asyncio.run(updated(tree, (), {"d:0"}, fail))
    assert shown(tree) == before


def test_one_passage_more_asks_for_a_few_nodes_a_level():
    """Of a tree of [4, 16]: at level 1 at most five, and not one where nothing differs."""
    tree = built(set(PASSAGES) - {"d:7"}, empty(Bounds(4, 16)))
    writer = Writer()
    asyncio.run(updated(tree, items({"d:7": PASSAGES["d:7"]}), (), writer))
    assert writer.asked[0][0] == 1
    assert 1 <= writer.asked[0][1] <= 5


def test_nothing_new_asks_for_no_node():
    tree = built(PASSAGES, empty())
    writer = Writer()
    again = asyncio.run(updated(tree, items(PASSAGES), {"nobody"}, writer))
    assert {(made, gone) for _, made, gone in writer.asked} == {(0, 0)}
    assert shown(again) == shown(tree)


def test_too_few_nodes_from_the_writer_are_an_error():
    async def idle(level, segments, gone):
        return []

    with pytest.raises(ValueError, match="zip"):
        asyncio.run(updated(empty(), items(PASSAGES), (), idle))


def test_a_new_text_of_a_node_renews_what_lies_above_it_and_nothing_else():
    writer = Writer()
    tree = asyncio.run(updated(empty(), items(PASSAGES), (), writer))
    old = tree.nodes[0][0]
    new = node_key(1, tree.layers[0].segment(0), "gate gate gate")
    TEXTS[new] = "gate gate gate"
    writer.asked.clear()
    result = asyncio.run(rewritten(tree, 1, {old.key: items({new: "gate gate gate"})[0], "gone since": Item("x", 0)}, writer))
    assert result.nodes[0] == (items({new: "gate gate gate"})[0], *tree.nodes[0][1:])
    assert result.layers[0] is tree.layers[0]
    assert set(result.layers[1].keys) == {node.key for node in result.nodes[0]}
    assert [level for level, _, _ in writer.asked] == list(range(2, len(result.nodes) + 1))


def test_a_new_text_at_the_top_renews_nothing_else():
    tree = built({"d:0", "d:1"}, empty())
    top = tree.nodes[0][0]
    result = asyncio.run(rewritten(tree, 1, {top.key: Item("new", 5)}, Writer()))
    assert result.nodes == ((Item("new", 5),),)


def test_a_node_has_another_key_with_another_level_member_or_text():
    keys = {node_key(*case) for case in [(1, ("a",), "t"), (2, ("a",), "t"), (1, ("b",), "t"), (1, ("a",), "u"), (1, ("a", "t"), "")]}
    assert len(keys) == 5


@given(STEPS, st.sampled_from([Bounds(2, 3), Bounds(4, 7)]))
@settings(max_examples=25, deadline=None)
def test_any_batches_in_any_order_make_one_tree(steps, bounds):
    """All levels, node for node."""
    tree, writer, there = empty(bounds), Writer(), set()
    for added, removed in steps:
        there = (there - removed) | added
        tree = asyncio.run(updated(tree, items({key: PASSAGES[key] for key in sorted(added)}), removed, writer))
    assert shown(tree) == shown(built(there, empty(bounds)))


@given(KEYS, KEYS)
@settings(max_examples=25, deadline=None)
def test_adding_and_taking_away_again_gives_back_the_same_nodes(there, passing):
    start = built(there, empty())
    assert shown(grown([(passing - there, ()), ((), passing - there)], start)) == shown(start)
