"""DGRAG's dual-level retrieval on a graph worked out by hand: pump – battery – lot, pump – ward."""

import pytest

from edge_node.graph.knowledge_graph import Graph, adjacency_of
from edge_node.graph.view import fact_lines
from edge_node.strategies.dgrag.search import Hits, chunk_support, neighbours, rank_by
from shared.records import Entity, Relation


def entity(key, *chunks):
    return Entity(key, key.title(), "concept", "", chunks, len(chunks))


def relation(source, target, weight, *chunks, keywords=("use",)):
    return Relation(source, target, "", keywords, weight, chunks)


GRAPH = Graph(
    {"battery": entity("battery", "c1", "c2"), "lot": entity("lot", "c2"), "pump": entity("pump", "c1"), "ward": entity("ward", "c3")},
    {
        ("battery", "pump"): relation("battery", "pump", 3.0, "c1"),
        ("battery", "lot"): relation("battery", "lot", 1.0, "c2"),
        ("pump", "ward"): relation("pump", "ward", 2.0, "c3"),
    },
)
SHAPE = adjacency_of(GRAPH)


def test_neighbours_that_join_two_hits_come_before_stronger_ones():
    hits = Hits((("battery", 0.9), ("lot", 0.8)), ())
    assert neighbours(hits, SHAPE, per_entity=1) == [(("battery", "lot"), 0.9)]


def test_a_relation_that_is_a_hit_is_no_neighbour_again():
    hits = Hits((("lot", 0.8),), ((("battery", "lot"), 0.7),))
    assert neighbours(hits, SHAPE) == []


def test_an_unknown_entity_has_no_neighbours():
    assert neighbours(Hits((("ghost", 0.9),), ()), {}) == []


def test_chunks_are_carried_by_their_entities_and_relations():
    """c2: lot 0.8 and battery 0.6/√2; c1: battery 0.6/√2."""
    support = chunk_support(Hits((("lot", 0.8), ("battery", 0.6)), ()), [], GRAPH)
    assert support == {"c2": pytest.approx(0.8 + 0.6 / 2**0.5), "c1": pytest.approx(0.6 / 2**0.5)}


def test_hits_that_left_the_graph_carry_nothing():
    assert chunk_support(Hits((("ghost", 0.9),), ((("a", "b"), 0.5),)), [], GRAPH) == {}


def test_equal_scores_are_ordered_by_name():
    assert rank_by({"b": 1.0, "a": 1.0, "c": 0.5}, 2) == ["a", "b"]


def test_facts_of_passages_that_are_shown_are_not_said_twice():
    edges = [("battery", "pump"), ("battery", "lot"), ("ghost", "pump")]
    assert fact_lines(edges, GRAPH, skip_chunks=frozenset({"c1"})) == ["Battery - use - Lot"]
