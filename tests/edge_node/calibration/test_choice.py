"""Which thresholds are chosen, from scores alone."""

from hypothesis import given
from hypothesis import strategies as st

from edge_node.calibration.choice import LEAST, WANTED_WITHIN, Scored, chosen, limits_of, nearness_bar
from edge_node.calibration.signals import Signals, Thresholds
from edge_node.settings import GateSettings

NOW = limits_of(GateSettings())
OF_GENERATOR = frozenset({"min_sufficiency", "max_refusals", "min_similarity"})


def row(kind, *, sufficiency=0.9, refusals=0.0, similarity=0.9, nearness=0.7):
    return Scored(kind, Signals(kind == "own", False, nearness, 0.0, refusals, sufficiency, similarity))


def rows_of(own, hidden):
    return [row("own", sufficiency=value) for value in own] + [row("hidden", sufficiency=value) for value in hidden]


def test_a_model_that_is_sure_of_nothing_gets_a_bar_between_its_own_questions_and_the_others():
    found = chosen(rows_of([0.2, 0.22, 0.24] * 4, [0.02, 0.04] * 4), NOW, OF_GENERATOR)
    assert (found.own_before.escalated, found.own_after.escalated) == (12, 0)
    assert (found.other_before.escalated, found.other_after.escalated) == (8, 8)
    assert 0.04 < found.after["min_sufficiency"] < 0.2
    assert found.after["min_similarity"] == NOW.min_similarity


def test_thresholds_that_do_as_well_as_any_stay():
    found = chosen(rows_of([0.9] * 10, [0.1] * 5), NOW, OF_GENERATOR)
    assert found.after == found.before == {name: getattr(NOW, name) for name in OF_GENERATOR}


def test_a_bar_that_keeps_the_own_questions_is_not_raised_for_the_sake_of_others():
    found = chosen(rows_of([0.9] * 10, [0.5] * 5), NOW, OF_GENERATOR)
    assert (found.after["min_sufficiency"], found.other_after.escalated) == (NOW.min_sufficiency, 0)


def test_a_step_that_sends_own_questions_away_is_loosened_and_never_the_check_of_sentences():
    rows = [row("own", similarity=0.3) for _ in range(10)] + [row("hidden", sufficiency=0.1)] * 5
    assert chosen(rows, NOW, OF_GENERATOR).after["min_similarity"] == 0.0
    refused = [row("own", refusals=1.0) for _ in range(10)] + [row("hidden", sufficiency=0.1)] * 5
    found = chosen(refused, NOW, OF_GENERATOR)
    assert (found.own_after.escalated, found.after["max_refusals"]) == (10, NOW.max_refusals)


def test_questions_that_the_model_refuses_to_answer_count_for_the_bar_as_any():
    rows = (
        [row("own", sufficiency=0.2, refusals=1.0) for _ in range(9)] + [row("own", sufficiency=0.4)] + [row("hidden", sufficiency=0.1)] * 5
    )
    assert chosen(rows, NOW, OF_GENERATOR).after["min_sufficiency"] == 0.15


def test_what_a_person_has_given_is_not_chosen():
    found = chosen(rows_of([0.2] * 10, [0.1] * 5), NOW, frozenset({"min_similarity"}))
    assert set(found.after) == {"min_similarity"}
    assert found.own_after.escalated == 10


def test_nearness_is_half_way_between_other_fields_and_own_questions_of_which_one_in_twenty_may_be_lost():
    own = [row("own", nearness=0.1)] + [row("own", nearness=0.6 + n / 100) for n in range(19)]
    foreign = [row("foreign", nearness=0.2 - n / 100) for n in range(5)]
    assert nearness_bar([*own, *foreign]) == 0.4
    assert nearness_bar([*own, row("foreign", nearness=0.9)]) == 0.6  # they overlap: own questions come first
    found = chosen([*own, *foreign], Thresholds(min_nearness=-1.0), frozenset({"min_nearness"}))
    assert (found.after, found.other_after.escalated) == ({"min_nearness": 0.4}, 5)


scores = st.lists(st.floats(0, 1), min_size=LEAST, max_size=10)


@given(scores, scores)
def test_own_questions_never_fare_worse_than_wanted_where_they_need_not(own, hidden):
    found = chosen(rows_of(own, hidden), NOW, OF_GENERATOR)
    assert found.own_after.escalated <= WANTED_WITHIN * len(own)
    assert found.own_after.low <= found.own_after.escalated / len(own) <= found.own_after.high
