"""Nearness, words and graph in one order, for an edge and for the cloud."""

import numpy as np
import pytest

from edge_node.graph import ranking as at_edge
from shared.ranking import blended, relevance


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_words_weigh_half_of_nearness_in_the_type_that_came(kind):
    """Row 1: 0.4/0.8 of nearness and all of the words: (0.5 + 0.5) / 1.5."""
    near = relevance(np.array([0.8, 0.4, -0.2], dtype=kind), np.array([0.0, 7.0, 0.0], dtype=kind))
    assert (near.dtype, near.tolist()) == (kind, pytest.approx([1 / 1.5, 1 / 1.5, 0.0]))


def test_without_words_only_nearness_counts():
    assert at_edge.relevance({"c1": 0.8, "c2": 0.4}, {}) == {"c1": 1.0, "c2": 0.5}


def test_chunks_that_point_away_are_not_relevant_rather_than_less():
    assert at_edge.relevance({"c1": -0.2, "c2": -0.4}, {}) == {"c1": 0.0, "c2": 0.0}


def test_nothing_found_is_nothing_ranked():
    assert at_edge.relevance({}, {}) == at_edge.blended({}, {}) == {}


def test_without_support_relevance_alone_decides():
    assert blended(np.array([1.0, 0.5]), np.zeros(2)) == pytest.approx([0.1 * 1.3, 0.1 * 0.8])


def test_support_counts_by_its_root():
    """A quarter of the best one's support counts half: (0.1 + 0.5) * (0.3 + 0.5)."""
    assert blended(np.array([0.5, 0.5]), np.array([4.0, 1.0]))[1] == pytest.approx(0.6 * 0.8)


def test_support_by_facts_that_point_away_counts_as_none():
    assert blended(np.array([0.5, 0.5]), np.array([4.0, -1.0])) == pytest.approx(blended(np.array([0.5, 0.5]), np.array([4.0, 0.0])))


def test_an_edge_says_by_chunk_what_the_cloud_says_by_row():
    cosines, words, support = {"c1": 0.8, "c2": 0.4, "c3": 0.6}, {"c2": 7.0, "c3": 1.5}, {"c1": 1.0, "c3": 4.0}
    of_chunks = at_edge.blended(at_edge.relevance(cosines, words), support)
    near = relevance(np.array([0.8, 0.4, 0.6], dtype=np.float32), np.array([0.0, 7.0, 1.5], dtype=np.float32))
    of_rows = blended(near, np.array([1.0, 0.0, 4.0], dtype=np.float32))
    assert list(of_chunks.values()) == pytest.approx(of_rows.tolist(), rel=1e-6)
