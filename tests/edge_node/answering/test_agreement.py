"""The gate's arithmetic."""

import pytest

from edge_node.answering.gate import mean_pairwise_jaccard, words


def test_three_texts_of_which_two_are_equal_overlap_to_a_third():
    """Pairs: 1, 0, 0."""
    assert mean_pairwise_jaccard(["pump stopped", "stopped PUMP", "lot recalled"]) == pytest.approx(1 / 3)


def test_citation_markers_are_no_words():
    assert words("Juniper Ward [3].") == words("juniper ward [1, 2]")


def test_texts_without_words_agree_fully():
    assert mean_pairwise_jaccard(["", "[1]"]) == 1.0
