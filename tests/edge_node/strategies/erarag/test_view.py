"""What searches may find of a tree."""

import numpy as np

from edge_node.strategies.erarag.nodes import TreeView
from edge_node.strategies.erarag.store import TreeNode


def node(key, level, *members):
    return TreeNode(key, level, members, (), False, key, np.ones(1, dtype=np.float32))


LOW, OTHER, TOP = node("n", 1, "a:0@f", "a:1@f"), node("m", 1, "b:0@f"), node("t", 2, "n", "m")
PASSAGES = {"a:0@f", "a:1@f", "b:0@f"}


def seen(view):
    return sorted(view.nodes), dict(view.parents)


def test_nodes_are_shown_with_all_that_lies_below_them():
    view = TreeView().grown([TOP, OTHER, LOW], PASSAGES)
    assert seen(view) == (["m", "n", "t"], {"a:0": "n", "a:1": "n", "b:0": "m", "n": "t", "m": "t"})


def test_a_node_of_which_a_passage_is_gone_or_another_is_not_shown_nor_what_lies_above_it():
    assert seen(TreeView().grown([TOP, OTHER, LOW], {"a:0@f", "a:1@0ld", "b:0@f"})) == (["m"], {"b:0": "m"})


def test_what_is_taken_out_is_no_parent_any_more():
    view = TreeView().grown([TOP, OTHER, LOW], PASSAGES).without({"n", "t"})
    assert seen(view) == (["m"], {"b:0": "m"})
    assert view.without(()) is view


def test_a_shown_node_is_replaced_even_where_its_passage_went_a_moment_ago():
    """Who hides the nodes above that passage finds them by it."""
    view, again = TreeView().grown([LOW], PASSAGES), node("n", 1, "a:0@f", "a:1@f")
    assert view.grown([again], ()).nodes["n"] is again


def test_each_node_above_some_passages_is_told_once_with_the_first_of_them():
    view = TreeView().grown([TOP, OTHER, LOW], PASSAGES)
    assert list(view.above(["a:1", "nobody:0", "a:0", "b:0"])) == [("n", "a:1"), ("t", "a:1"), ("m", "b:0")]
