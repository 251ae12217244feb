"""Scores out of answers, and the gate's order replayed on them."""

import pytest

from benchmarks.calibration.signals import signals_of
from benchmarks.records import AnswerRow
from edge_node.calibration.signals import Signals, Thresholds, stopped_by

CONFIDENCE = {
    "refusals": 1,
    "samples": 5,
    "sufficiency": 0.7,
    "threshold": 0.5,
    "nearness": 0.6,
    "min_nearness": 0.45,
    "unknown": 0.1,
    "max_unknown": 0.2,
}
SIMILARITY = {"cosine": 0.9, "jaccard": 0.6, "semantic": 0.9, "mean": 0.8, "threshold": 0.55}
GATE = {"decision": "local", "reason": "", "confidence": CONFIDENCE, "similarity": SIMILARITY, "samples": [], "selected": 0}
SEEN = Signals(within=True, escalated=False, nearness=0.6, unknown=0.1, refusals=0.2, sufficiency=0.7, similarity=0.8)


def row(gate, scenario="within", error=""):
    return AnswerRow("domain", scenario, "dgrag", "a", "q", "?", ("!",), "", True, "local", 1.0, False, gate, (), (), error)


def test_an_answers_gate_becomes_four_scores():
    assert signals_of(row(GATE)) == SEEN


def test_what_was_too_far_away_has_a_nearness_only():
    gate = {"decision": "escalate", "confidence": CONFIDENCE | {"refusals": 0, "samples": 0, "sufficiency": None}, "similarity": None}
    assert signals_of(row(gate, "out")) == Signals(
        within=False, escalated=True, nearness=0.6, unknown=0.1, refusals=None, sufficiency=None, similarity=None
    )


@pytest.mark.parametrize("unfit", [row(None), row(GATE, "mixed"), row(GATE, error="late")])
def test_answers_without_a_gate_a_label_or_success_tell_nothing(unfit):
    assert signals_of(unfit) is None


@pytest.mark.parametrize(
    ("limits", "step"),
    [
        (Thresholds(), None),
        (Thresholds(min_nearness=0.61), "nearness"),
        (Thresholds(max_unknown=0.09), "unknown"),
        (Thresholds(max_unknown=0.1), None),
        (Thresholds(max_refusals=0.0), "refusals"),
        (Thresholds(max_refusals=0.2), None),
        (Thresholds(min_sufficiency=0.71), "sufficiency"),
        (Thresholds(min_similarity=0.81), "similarity"),
        (Thresholds(min_nearness=0.6, max_refusals=0.2, min_sufficiency=0.7, min_similarity=0.8), None),
        (Thresholds(min_sufficiency=0.9, min_similarity=0.9), "sufficiency"),
    ],
)
def test_the_first_step_that_fails_stops_a_question(limits, step):
    assert stopped_by(SEEN, limits) == step


def test_what_an_earlier_step_hid_stays_escalated_however_loose_the_gate():
    far = Signals(within=True, escalated=True, nearness=0.3, unknown=None, refusals=None, sufficiency=None, similarity=None)
    unsure = Signals(within=True, escalated=True, nearness=0.6, unknown=0.1, refusals=0.0, sufficiency=0.1, similarity=None)
    assert (stopped_by(far, Thresholds()), stopped_by(unsure, Thresholds())) == ("nearness", "sufficiency")


def test_a_step_that_was_switched_off_hides_nothing():
    assert (
        stopped_by(
            Signals(within=True, escalated=False, nearness=0.6, unknown=0.1, refusals=0.0, sufficiency=None, similarity=0.8), Thresholds()
        )
        is None
    )


def test_a_looser_similarity_lets_pass_what_only_the_similarity_had_stopped():
    seen = Signals(within=True, escalated=True, nearness=0.6, unknown=0.1, refusals=0.0, sufficiency=0.9, similarity=0.4)
    assert (stopped_by(seen, Thresholds(min_similarity=0.5)), stopped_by(seen, Thresholds(min_similarity=0.4))) == ("similarity", None)


def test_refusals_alone_never_stop_where_all_may_refuse():
    silent = Signals(within=True, escalated=False, nearness=0.6, unknown=0.1, refusals=1.0, sufficiency=None, similarity=1.0)
    assert stopped_by(silent, Thresholds(max_refusals=1.0)) is None
    assert stopped_by(silent, Thresholds(max_refusals=0.8)) == "refusals"
