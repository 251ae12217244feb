"""A walk between entities and chunks, worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.graph.ranking import walk

CHUNKS_OF = {"ann": ("c1", "c2"), "mill": ("c2", "c3"), "everywhere": tuple(f"x{n}" for n in range(9_000))}
ENTITIES_OF = {"c1": ("ann",), "c2": ("ann", "mill"), "c3": ("mill",), "alone": ()}


def found(entities, chunks, **named):
    return walk(entities, chunks, lambda key: CHUNKS_OF.get(key, ()), lambda key: ENTITIES_OF.get(key, ()), **named)


def test_one_round_from_an_entity_reaches_its_chunks_alike():
    """Half of the mass walks, a quarter to each; half of that time is spent there."""
    assert found({"ann": 1.0}, {}, damping=0.5, rounds=1) == {"c1": 0.125, "c2": 0.125}


def test_the_second_hop_goes_through_a_shared_chunk():
    """ann, c2 (1/4), mill (1/16), c3 (1/64): half of that is spent there. c2 also gets 1/64 back, and 1/32 + 1/64 through ann."""
    spent = found({"ann": 1.0}, {}, damping=0.5, rounds=3)
    assert spent["c3"] == pytest.approx(1 / 128)
    assert spent["c2"] > spent["c1"] > spent["c3"]


def test_a_chunk_to_start_at_keeps_what_does_not_walk():
    assert found({}, {"alone": 2.0}, damping=0.8) == {"alone": pytest.approx(0.2)}


def test_an_entity_that_is_everywhere_leads_nowhere():
    assert found({"everywhere": 1.0}, {}) == {}


def test_without_a_start_nothing_is_reached():
    assert found({}, {}) == {}
    assert found({"ann": 0.0}, {}) == {}


def test_what_the_graph_lacks_is_passed_over():
    assert found({"ghost": 1.0}, {"gone": 1.0}, damping=0.5) == {"gone": 0.25}


@given(
    st.dictionaries(st.sampled_from(["ann", "mill"]), st.floats(0, 9)),
    st.dictionaries(st.sampled_from(["c1", "c2", "c3"]), st.floats(0, 9)),
    st.integers(0, 8),
)
def test_no_more_than_all_the_time_is_spent(entities, chunks, rounds):
    spent = found(entities, chunks, rounds=rounds)
    assert all(share >= 0 for share in spent.values())
    assert sum(spent.values()) <= 1 + 1e-9
