import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.metrics import bootstrap as module
from benchmarks.metrics.bootstrap import bootstrap, ratio
from deploy.evaluation.intervals import Estimate, wilson

SAMPLES = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30)


def test_one_value_is_its_own_interval():
    assert bootstrap([0.25], seed=1) == Estimate(0.25, 0.25, 0.25, 1)


def test_the_interval_of_a_fair_coin_is_the_binomial_one():
    """100 tosses, half of them heads: 1.96 * sqrt(0.25 / 100) = 0.098 to each side."""
    estimate = bootstrap([0.0, 1.0] * 50, seed=0)
    assert (estimate.mean, estimate.n) == (0.5, 100)
    assert estimate.low == pytest.approx(0.402, abs=0.015)
    assert estimate.high == pytest.approx(0.598, abs=0.015)


def test_the_same_seed_gives_the_same_interval_and_another_one_another():
    values = [0.1, 0.9, 0.4, 0.7, 0.2]
    assert bootstrap(values, seed=3) == bootstrap(values, seed=3)
    assert bootstrap(values, seed=3) != bootstrap(values, seed=4)


def test_drawing_in_blocks_gives_what_drawing_at_once_gives(monkeypatch):
    values = [0.1, 0.9, 0.4]
    whole = bootstrap(values, seed=0)
    monkeypatch.setattr(module, "BLOCK_CELLS", 7)
    assert bootstrap(values, seed=0) == whole


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.inf]])
def test_what_is_no_number_has_no_mean(values):
    with pytest.raises(ValueError, match="finite numbers"):
        bootstrap(values, seed=0)


@settings(deadline=None)  # the machine is shared
@given(SAMPLES)
def test_the_interval_lies_within_the_values(values):
    estimate = bootstrap(values, seed=0, resamples=50)
    slack = 1e-9 * max(1.0, max(map(abs, values)))
    assert min(values) - slack <= estimate.low <= estimate.high <= max(values) + slack


def test_25_times_the_values_have_a_fifth_of_the_interval():
    values = [0.0, 0.2, 0.3, 0.9, 1.0]
    few, many = bootstrap(values, seed=0), bootstrap(values * 25, seed=0)
    assert (many.high - many.low) / (few.high - few.low) == pytest.approx(1 / 5, abs=0.03)


def test_two_askings_of_each_question_make_the_interval_no_narrower():
    values = [0.0, 0.2, 0.3, 0.9, 1.0]
    once, twice = bootstrap(values, seed=0), bootstrap(values * 2, seed=0, of=[*range(5), *range(5)])
    assert (twice.mean, twice.low, twice.high, twice.n) == pytest.approx((once.mean, once.low, once.high, 5))


def test_a_question_that_is_asked_more_often_weighs_more():
    """q1 three times 1, q2 once 0: the mean is that of askings, and a sample of two questions can be all q1 or all q2."""
    assert bootstrap([1.0, 1.0, 1.0, 0.0], seed=0, of=["q1", "q1", "q1", "q2"]) == Estimate(0.75, 0.0, 1.0, 2)


def test_a_ratio_of_sums_lies_within_its_interval():
    found = ratio([1.0, 0.0, 3.0], [2.0, 2.0, 4.0], seed=3)
    assert (found.mean, found.n) == (0.5, 3)
    assert found.low <= found.mean <= found.high


def test_wilsons_interval_is_that_of_the_textbook():
    """Newcombe 1998, table I: 81 of 263 has 0.2553 to 0.3662, 0 of 20 has 0 to 0.1611, 1 of 29 has 0.0061 to 0.1718."""
    found = [wilson([1.0] * ones + [0.0] * (n - ones)) for ones, n in ((81, 263), (0, 20), (1, 29))]
    assert [(round(one.low, 4), round(one.high, 4)) for one in found] == [(0.2553, 0.3662), (0.0, 0.1611), (0.0061, 0.1718)]


def test_wilsons_interval_counts_a_question_once():
    once, twice = wilson([1.0, 0.0, 1.0]), wilson([1.0, 0.0, 1.0] * 2, of=[1, 2, 3] * 2)
    assert twice == once
