"""Verdicts read off the first token."""

import math

import pytest

from shared.text.refusals import most_probable_letter, probability_of


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
