"""The gate's arithmetic."""

import math

import pytest

from edge_node.answer.agreement import mean_pairwise_jaccard, medoid, most_probable_letter, probability_of, words


def test_three_texts_of_which_two_are_equal_overlap_to_a_third():
    """Pairs: 1, 0, 0."""
    assert mean_pairwise_jaccard(["pump stopped", "stopped PUMP", "lot recalled"]) == pytest.approx(1 / 3)


def test_citation_markers_are_no_words():
    assert words("Juniper Ward [3].") == words("juniper ward [1, 2]")


def test_texts_without_words_agree_fully():
    assert mean_pairwise_jaccard(["", "[1]"]) == 1.0


def test_tokens_that_begin_a_word_count_for_it():
    """0.3 + 0.3 for yes against 0.2 for no."""
    first = {"Yes": math.log(0.3), " y": math.log(0.3), "NO": math.log(0.2), "Maybe": math.log(0.2)}
    assert probability_of(first, "yes", ["no"]) == pytest.approx(0.75)


@pytest.mark.parametrize("first", [None, {}, {"Maybe": -0.1}, {"": -0.1, " ": -0.2}])
def test_a_distribution_without_the_words_says_nothing(first):
    assert probability_of(first, "yes", ["no"]) is None


def test_the_most_probable_letter_may_carry_a_stop_or_blanks():
    assert most_probable_letter({" C.": -0.2, "A": -1.0}, 3) == 2


def test_a_letter_beyond_the_answers_is_not_chosen():
    assert most_probable_letter({"E": -0.1, "b": -0.5}, 2) == 1
    assert most_probable_letter({"E": -0.1}, 2) is None


def test_the_medoid_is_nearest_to_all_others():
    assert medoid([[1, 0.9, 0.1], [0.9, 1, 0.8], [0.1, 0.8, 1]], range(3)) == 1
    assert medoid([[1, 0.5], [0.5, 1]], range(2)) == 0
