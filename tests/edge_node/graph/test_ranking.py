"""Nearness, words and graph in one order."""

import pytest

from edge_node.graph.ranking import blended, relevance


def test_words_weigh_half_of_nearness():
    """c2: 0.4/0.8 of nearness and all of the words: (0.5 + 0.5) / 1.5."""
    assert relevance({"c1": 0.8, "c2": 0.4}, {"c2": 7.0}) == {"c1": pytest.approx(1 / 1.5), "c2": pytest.approx(1 / 1.5)}


def test_without_words_only_nearness_counts():
    assert relevance({"c1": 0.8, "c2": 0.4}, {}) == {"c1": 1.0, "c2": 0.5}


def test_chunks_that_point_away_are_not_relevant_rather_than_less():
    assert relevance({"c1": -0.2, "c2": -0.4}, {}) == {"c1": 0.0, "c2": 0.0}


def test_nothing_found_is_nothing_ranked():
    assert relevance({}, {}) == {}
    assert blended({}, {}) == {}


def test_without_support_relevance_alone_decides():
    order = blended({"c1": 1.0, "c2": 0.5}, {})
    assert order == {"c1": pytest.approx(0.1 * 1.3), "c2": pytest.approx(0.1 * 0.8)}


def test_support_counts_by_its_root():
    """A quarter of the best one's support counts half: (0.1 + 0.5) * (0.3 + 0.5)."""
    assert blended({"c1": 0.5, "c2": 0.5}, {"c1": 4.0, "c2": 1.0})["c2"] == pytest.approx(0.6 * 0.8)
