"""Who goes first among equals."""

from __future__ import annotations

from edge_node.strategies.ketrag.knn import tie_of


def test_a_tie_is_the_same_on_every_machine():
    assert tie_of("c1") == 0x43F000A36F6D744E


def test_ties_do_not_follow_the_order_of_ids():
    keys = [f"c{number}" for number in range(20)]
    assert sorted(keys, key=tie_of) != keys
    assert sorted(keys, key=lambda key: tie_of(key, seed=1)) != sorted(keys, key=tie_of)


def test_half_a_surrogate_pair_has_a_tie():
    assert 0 <= tie_of("\ud83d") < 2**64
