from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.metrics.wins import FLIPS_AT_MOST, wins
from benchmarks.records import Judgement

ONE = Judgement("domain", "within", "q1", "cs", "dgrag", "local", "diversity", first="dgrag", p_first=0.9)


def both(question, ours_first, theirs_first):
    first = replace(ONE, question_id=question, p_first=ours_first)
    return [first, replace(first, first="local", p_first=theirs_first)]


def test_a_pair_is_won_when_the_mean_of_both_orders_is_above_a_half():
    """q1: (0.9 + 1 - 0.4) / 2 = 0.75 wins; q2: (0.6 + 1 - 0.9) / 2 = 0.35 loses; q3: (0.5 + 1 - 0.5) / 2 ties."""
    (row,) = wins([*both("q1", 0.9, 0.4), *both("q2", 0.6, 0.9), *both("q3", 0.5, 0.5)], seed=0)
    assert (row["split"], row["scenario"], row["system"], row["against"], row["criterion"]) == (
        "domain", "within", "dgrag", "local", "diversity",
    )  # fmt: skip
    assert row["win"]["mean"] == pytest.approx((1 + 0 + 0.5) / 3)
    assert row["win"]["n"] == 3


def test_a_judge_that_always_takes_the_first_one_gives_ties_and_shows_its_bias():
    (row,) = wins([*both("q1", 1.0, 1.0), *both("q2", 1.0, 1.0)], seed=0)
    assert (row["win"]["mean"], row["position_bias"]["mean"], row["flips"]["mean"]) == (0.5, 0.5, 1.0)


def test_a_judge_that_always_takes_the_same_answer_has_no_bias():
    (row,) = wins(both("q1", 1.0, 0.0), seed=0)
    assert (row["win"]["mean"], row["position_bias"]["mean"], row["flips"]["mean"]) == (1.0, 0.0, 0.0)


def test_a_judge_that_likes_a_place_decides_nothing_however_its_margins_fall():
    """0.56 in the first place and 0.45 in the second is won by a hundredth. The raw figures stay; the row says that they mean nothing."""
    (row,) = wins([*both("q1", 0.56, 0.55), *both("q2", 0.57, 0.55), *both("q3", 0.9, 0.1)], seed=0)
    assert row["undecided"]
    assert (row["win"]["mean"], row["flips"]["mean"]) == (1.0, pytest.approx(2 / 3))
    assert row["margin"]["mean"] == pytest.approx((0.01 + 0.02 + 0.8) / 3)


def test_a_judge_whose_verdicts_hang_on_the_order_as_often_as_not_still_decides():
    (row,) = wins([*both("q1", 0.56, 0.55), *both("q2", 0.9, 0.1)], seed=0)
    assert (row["flips"]["mean"], row["undecided"]) == (FLIPS_AT_MOST, False)


def equal(question):
    return [replace(one, tied=True) for one in both(question, 0.5, 0.5)]


def test_equal_answers_are_ties_that_say_nothing_of_the_judge():
    """A judge that always takes the first place, asked about one pair of four: its bias is 0.5 and not an eighth."""
    (row,) = wins([*both("q1", 1.0, 1.0), *equal("q2"), *equal("q3"), *equal("q4")], seed=0)
    assert (row["win"]["mean"], row["win"]["n"], row["equal"]) == (0.5, 4, 3)
    assert (row["position_bias"]["mean"], row["flips"]["mean"], row["flips"]["n"]) == (0.5, 1.0, 1)


def test_a_judge_that_was_never_asked_has_no_bias_to_show():
    (row,) = wins(equal("q1"), seed=0)
    assert (row["win"]["mean"], row["position_bias"], row["flips"], row["equal"]) == (0.5, None, None, 1)
    assert not row["undecided"]


def test_a_pair_judged_in_one_order_only_does_not_count():
    (row,) = wins([ONE, *both("q2", 0.2, 0.9)], seed=0)
    assert (row["win"]["mean"], row["win"]["n"]) == (0.0, 1)
    assert wins([ONE], seed=0) == []


def test_each_criterion_and_each_edge_is_its_own():
    first, second = both("q1", 0.9, 0.1)
    elsewhere = [replace(first, edge="art"), replace(second, edge="art")]
    other = [replace(first, criterion="overall"), replace(second, criterion="overall")]
    rows = wins([first, second, *elsewhere, *other], seed=0)
    assert [(row["criterion"], row["win"]["n"]) for row in rows] == [("diversity", 2), ("overall", 1)]


PROBABILITY = st.floats(0, 1)


@settings(deadline=None)  # the machine is shared
@given(st.lists(st.tuples(PROBABILITY, PROBABILITY), min_size=1, max_size=8))
def test_what_one_system_wins_the_other_one_loses(judged):
    ours = [one for number, pair in enumerate(judged) for one in both(str(number), *pair)]
    theirs = [replace(one, system="local", against="dgrag") for one in ours]
    (won,), (lost,) = wins(ours, seed=0), wins(theirs, seed=0)
    assert won["win"]["mean"] + lost["win"]["mean"] == pytest.approx(1)
    assert won["margin"]["mean"] == pytest.approx(-lost["margin"]["mean"])
    assert won["undecided"] == lost["undecided"]
    assert won["position_bias"] == lost["position_bias"]
    assert -0.5 <= won["position_bias"]["mean"] <= 0.5
    assert won["flips"] == lost["flips"]
