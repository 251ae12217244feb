"""Shares by thresholds, the choice on one half, and summary matching by m and cosine."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.calibration import calibrate, render
from benchmarks.calibration.sweep import Matching, matching
from benchmarks.calibration.text import drawn, render_matching
from benchmarks.records import RoutingRow
from edge_node.calibration.signals import Signals, Thresholds, escalation


def seen(within, nearness, sufficiency=0.9, refusals=0.0, similarity=0.9):
    return Signals(within, False, nearness, 0.0, refusals, sufficiency, similarity)


HOME = [seen(True, nearness) for nearness in (0.7, 0.72, 0.74, 0.76)]
AWAY = [seen(False, nearness) for nearness in (0.2, 0.22, 0.24, 0.26)]


def test_shares_are_of_each_kind_and_named_by_the_step():
    rows = [seen(True, 0.7), seen(True, 0.7, sufficiency=0.3), seen(False, 0.2), seen(False, 0.6, refusals=1.0)]
    found = escalation(rows, Thresholds(min_nearness=0.45, max_refusals=0.4, min_sufficiency=0.5))
    assert (found.within, found.within_by) == (0.5, {"sufficiency": 0.5})
    assert (found.out, found.out_by) == (1.0, {"nearness": 0.5, "refusals": 0.5})


@pytest.mark.parametrize(("rows", "missing"), [([], "within"), (AWAY, "within"), (HOME, "out of")])
def test_one_kind_of_question_alone_cannot_be_swept(rows, missing):
    with pytest.raises(ValueError, match=f"asked {missing} its domain"):
        escalation(rows, Thresholds())


def test_nearness_alone_is_chosen_where_it_parts_the_kinds():
    found = calibrate([*HOME, *AWAY])
    assert found.chosen.thresholds == Thresholds(min_nearness=0.4)
    assert (found.chosen.within, found.chosen.out, found.checked.within, found.checked.out) == (0.0, 1.0, 0.0, 1.0)
    assert (found.chosen_on, found.checked_on) == (4, 4)


def test_a_choice_that_does_not_carry_over_shows_on_the_other_half():
    lucky = [seen(True, 0.7), seen(True, 0.1), seen(False, 0.2), seen(False, 0.8)]
    found = calibrate(lucky)
    assert (found.chosen.within, found.chosen.out) == (0.0, 1.0)
    assert (found.checked.within, found.checked.out) == (1.0, 0.0)


def test_the_wanted_share_comes_before_what_is_escalated_out_of_domain():
    rows = [*[seen(True, 0.42)] * 2, *HOME, *[seen(False, 0.43)] * 6]
    assert calibrate(rows, wanted_within=0.0).chosen.within == 0.0
    assert calibrate(rows, wanted_within=0.0).chosen.out == 0.0
    assert calibrate(rows, wanted_within=0.5).chosen.out == 1.0


def test_too_few_questions_leave_nothing_to_check():
    assert calibrate([HOME[0], AWAY[0]]).checked is None


def test_the_text_names_curve_choice_and_check():
    text = render(calibrate([*HOME, *AWAY]))
    assert "nearness: AUC 1.000 (4 within, 4 out, 0 not measured)" in text
    assert "min_nearness 0.40, max_unknown 1.0, max_refusals 1.0, min_sufficiency 0.00, min_similarity 0.00" in text
    assert "Checked on the other 4:" in text
    assert text.count("100% |*") >= 1


def test_the_text_says_when_a_score_was_never_measured():
    rows = [seen(True, 0.7, sufficiency=None), seen(False, 0.2, sufficiency=None)]
    text = render(calibrate(rows))
    assert "sufficiency: no curve (0 within, 0 out)" in text
    assert "Too few questions" in text


def test_an_empty_curve_draws_nothing():
    assert drawn(calibrate([seen(True, None), seen(False, None)]).curves[0].roc) == ""


def routed(m, domain, *edges):
    return RoutingRow("domain", 40, m, "q", (domain,), edges, tuple(0.9 - 0.2 * place for place in range(len(edges))), 0.0)


def test_matching_by_m_and_cosine():
    rows = [routed(1, "a", "a"), routed(1, "b", "a"), routed(3, "a", "a", "b", "b"), routed(3, "b", "a", "b", "c")]
    found = matching(rows, cosines=[0.0, 0.6, 1.0])
    assert found == [
        Matching(1, 0.0, 0.5, 0.5, 1.0, 2),
        Matching(1, 0.6, 0.5, 0.5, 1.0, 2),
        Matching(1, 1.0, 0.0, 0.0, 0.0, 2),
        Matching(3, 0.0, 1.0, 1.0, 2.5, 2),
        Matching(3, 0.6, 1.0, 1.0, 2.0, 2),
        Matching(3, 1.0, 0.0, 0.0, 0.0, 2),
    ]
    assert "1.00" in render_matching(found).splitlines()[1]


def test_either_owner_of_a_shared_document_is_a_hit_and_no_mismatch():
    row = replace(routed(2, "a", "b", "a"), owners=("a", "b"))
    assert matching([row], cosines=[0.0]) == [Matching(2, 0.0, 1.0, 0.0, 2.0, 1)]


def test_nothing_recorded_is_nothing_matched():
    assert matching([], cosines=[0.4]) == []


@given(st.lists(st.tuples(st.booleans(), st.floats(-1, 1), st.floats(0, 1), st.sampled_from([0, 0.2, 1.0]), st.floats(0, 1)), max_size=12))
def test_a_stricter_gate_never_escalates_less(rows):
    questions = [seen(*row) for row in rows] + [HOME[0], AWAY[0]]
    loose = escalation(questions, Thresholds(0.2, 1.0, 0.4, 0.3, 0.3))
    strict = escalation(questions, Thresholds(0.4, 0.2, 0.2, 0.5, 0.6))
    assert loose.within <= strict.within + 1e-9
    assert loose.out <= strict.out + 1e-9
