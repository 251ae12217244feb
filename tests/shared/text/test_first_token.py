"""Verdicts read off the first token."""

import math

import pytest

from shared.text.refusals import probability_of


def test_tokens_that_begin_a_word_count_for_it():
    """0.3 + 0.3 for yes against 0.2 for no."""
    first = {"Yes": math.log(0.3), " y": math.log(0.3), "NO": math.log(0.2), "Maybe": math.log(0.2)}
    assert probability_of(first, "yes", ["no"]) == pytest.approx(0.75)


@pytest.mark.parametrize("first", [None, {}, {"Maybe": -0.1}, {"": -0.1, " ": -0.2}])
def test_a_distribution_without_the_words_says_nothing(first):
    assert probability_of(first, "yes", ["no"]) is None
