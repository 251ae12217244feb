"""The Cognizer's scores, worked out by hand: units on the axes, so that a cosine is a coordinate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.extraction.facts import Fact
from edge_node.memory.hypergraph import ChunkUnits, Hypergraph, Rows
from edge_node.memory.records import Support
from edge_node.strategies.fdrag import Lead, best_of_chunks, told_facts, unit_scores, unit_scores_by_chunk

QUESTION = np.array([0.6, 0.8, 0.0], np.float32)
AXES = np.eye(3, dtype=np.float32)


def chunk(name, axes, columns, shares):
    spans = tuple((10 * n, 10 * n + 10) for n in range(len(axes)))
    rows = Rows(np.array(columns, np.int64), np.array(shares, np.float32))
    return ChunkUnits(name, f"hash of {name}", spans, AXES[axes], rows)


GRAPH = Hypergraph.of(
    [
        chunk("a:0", [0, 2], [[0, 0], [1, 0]], [[1.0, 0.0], [0.75, 0.25]]),  # the first in hyperedge 0, the second in 1 and a little in 0
        chunk("b:0", [1], [[2, 0]], [[1.0, 0.0]]),
        chunk("c:0", [2], [[1, 0]], [[1.0, 0.0]]),
    ],
    3,
)
IN_A2 = (Support("a:0", 12, 19),)  # in the second sentence of a


def test_without_memories_a_unit_has_its_nearness_to_the_question():
    assert unit_scores(GRAPH, QUESTION, []).tolist() == pytest.approx([0.6, 0.0, 0.8, 0.0])


def test_a_memory_lifts_what_is_in_the_hyperedges_of_its_sentence():
    """Its sentence is in hyperedges 1 and 0: 0.9 · 1 for the first of a (0) and for c (1), 0.9 · 0.75 for its own; b shares none."""
    assert unit_scores(GRAPH, QUESTION, [Lead(0.9, IN_A2)]).tolist() == pytest.approx([0.6 + 0.9, 0.675, 0.8, 0.9])


def test_of_several_memories_the_best_counts_in_whatever_order_they_come():
    leads = [Lead(0.5, IN_A2), Lead(0.9, IN_A2), Lead(0.2, (Support("b:0", 0, 10),))]
    expected = [1.5, 0.675, 1.0, 0.9]
    assert unit_scores(GRAPH, QUESTION, leads).tolist() == pytest.approx(expected)
    assert unit_scores(GRAPH, QUESTION, leads[::-1]).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("supports", [(), (Support("gone:0", 0, 10),), (Support("b:0", 10, 20),)])
def test_a_memory_of_what_is_in_no_hyperedge_leads_nowhere(supports):
    assert unit_scores(GRAPH, QUESTION, [Lead(0.9, supports)]).tolist() == pytest.approx([0.6, 0.0, 0.8, 0.0])


def test_a_memory_that_is_unlike_the_question_pushes_nothing_away():
    assert unit_scores(GRAPH, QUESTION, [Lead(-0.5, IN_A2)]).tolist() == pytest.approx([0.6, 0.0, 0.8, 0.0])


def test_without_hyperedges_a_memory_lifts_its_own_chunk_and_nothing_else():
    leads = [Lead(0.5, IN_A2), Lead(0.9, IN_A2), Lead(-0.5, (Support("b:0", 0, 10),)), Lead(1.0, (Support("gone:0", 0, 10),))]
    assert unit_scores_by_chunk(GRAPH, QUESTION, leads).tolist() == pytest.approx([1.5, 0.9, 0.8, 0.0])


def test_nothing_is_found_where_nothing_is_grouped():
    empty = Hypergraph.of([], 3)
    assert best_of_chunks(empty, unit_scores(empty, QUESTION, [Lead(0.9, IN_A2)]), 5) == {}


def test_a_chunk_is_as_good_as_its_best_unit():
    assert best_of_chunks(GRAPH, np.array([0.1, 0.7, 0.3, -0.2], np.float32), 5) == pytest.approx({"a:0": 0.7, "b:0": 0.3, "c:0": -0.2})


def fact(subject, verb, said, preposition="", **fields):
    return Fact("a:0", 0, 9, subject, "concept", verb, verb, preposition, said, "concept", fields.get("negated", False))


def test_facts_that_share_most_with_the_question_come_first_each_once():
    facts = [
        fact("Ann Lee", "ran", "the school"),
        fact("Ann Lee", "built", "Orrin Mill"),
        fact("Ann Lee", "built", "Orrin Mill"),
        fact("Orrin Mill", "was sold", "Bo Ray", "to"),
        fact("Ann Lee", "did build", "Orrin Mill", negated=True),
        fact("the river", "froze", "over"),
    ]
    assert told_facts("When was Orrin Mill built by Ann Lee?", facts) == [
        "Ann Lee built Orrin Mill",
        "Ann Lee ran the school",
        "Orrin Mill was sold to Bo Ray",
    ]


PARTS = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 4)), max_size=8, unique_by=lambda part: part[0])


@settings(deadline=None)
@given(PARTS, st.lists(st.sampled_from([-1.0, 0.25, 0.5, 0.7, 2.0]), min_size=32, max_size=32), st.integers(0, 9))
def test_the_chunks_with_the_best_units_are_those_that_going_through_all_units_gives(parts, scores, k):
    graph = Hypergraph.of([chunk(f"{name}:0", [0] * n, np.zeros((n, 1)), np.ones((n, 1))) for name, n in parts], 3)
    of_units, best = np.array(scores[: len(graph)], np.float32), {}
    for chunk_id, score in zip(graph.chunk_ids, of_units.tolist(), strict=True):
        best[chunk_id] = max(score, best.get(chunk_id, score))
    expected = sorted(best.items(), key=lambda one: (-one[1], one[0]))[:k]
    assert list(best_of_chunks(graph, of_units, k).items()) == expected
