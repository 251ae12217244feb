import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.calibration.looked import Looked, looked
from benchmarks.calibration.pareto import swept
from benchmarks.calibration.thresholds import HITS, render, thresholds
from edge_node.answering.fast_path import SHADOW


def one(number, score, *, passes=True, right=True, slow=False, kind="template", calls=1.0):
    return Looked(f"q{number}", kind, score, passes, right, slow, calls, 0.01, 10.0)


def point(points, name, threshold=None):
    (found,) = [each for each in points if (each.name, each.threshold) == (name, threshold)]
    return found


def test_at_a_threshold_a_memory_answers_and_the_rest_goes_to_the_model():
    rows = [
        one(0, 0.95),
        one(1, 0.85, right=False, slow=True),
        one(2, 0.95, passes=False, right=False, slow=True),
        one(3, -1.0, right=False),
    ]
    points = swept(rows, seed=1, grid=(0.9,))
    guarded, unguarded = point(points, "guarded", 0.9), point(points, "unguarded", 0.9)
    assert (guarded.coverage.mean, guarded.fast_accuracy.mean, guarded.accuracy.mean, guarded.calls.mean) == (0.25, 1.0, 0.75, 0.75)
    assert (unguarded.coverage.mean, unguarded.fast_accuracy.mean, unguarded.accuracy.mean) == (0.5, 0.5, 0.5)
    assert guarded.seconds.mean == pytest.approx((0.01 + 3 * 10.0) / 4)


def test_the_extremes_are_never_always_and_only_where_it_is_right():
    points = swept([one(0, 0.5), one(1, 0.5, right=False, slow=True), one(2, 0.5, right=False)], seed=1, grid=())
    assert [(each.name, round(each.coverage.mean, 2), round(each.accuracy.mean, 2)) for each in points] == [
        ("slow", 0.0, 0.33),
        ("memory", 1.0, 0.33),
        ("oracle", 0.33, 0.67),
    ]
    assert point(points, "slow").fast_accuracy is None


def test_nothing_asked_is_nothing_swept():
    assert swept([], seed=1) == []


@given(st.lists(st.tuples(st.floats(-1, 1), st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=12))
def test_a_higher_threshold_covers_no_more_and_no_way_to_choose_beats_the_oracle(drawn):
    rows = [one(n, score, passes=passes, right=right, slow=slow) for n, (score, passes, right, slow) in enumerate(drawn)]
    points = swept(rows, seed=1, grid=(0.0, 0.5, 1.0))
    for name in ("guarded", "unguarded"):
        covered = [each.coverage.mean for each in points if each.name == name]
        assert covered == sorted(covered, reverse=True)
    assert max(each.accuracy.mean for each in points) == point(points, "oracle").accuracy.mean


REPORT = {"kind": "template", "score": 0.7, "threshold": 0.0, "answer": "Ann Lee", "why_not": SHADOW}
STEPS = [{"step": "remember", "ms": 12.0, "calls": 0}, {"step": "samples", "ms": 900.0, "calls": 1}]
ROW = {"system": "fdrag-slow", "error": "", "references": ["Ann Lee"], "question_id": "q", "steps": STEPS, "answer": "Bo", "seconds": 1.5}


def test_a_row_has_both_answers():
    assert list(looked([ROW | {"memory": REPORT}])) == [Looked("q", "template", 0.7, True, True, False, 1.0, 0.012, 1.5)]


def test_what_a_guard_holds_back_does_not_pass_and_where_nothing_is_near_nothing_does():
    held, nothing = looked([ROW | {"memory": REPORT | {"why_not": "the answer stands in the question"}}, ROW | {"memory": None}])
    assert (held.passes, held.right) == (False, True)
    assert (nothing.kind, nothing.score, nothing.passes, nothing.right) == ("", -1.0, False, False)


@pytest.mark.parametrize(
    "change",
    [{"system": "fdrag"}, {"error": "504"}, {"references": []}, {"memory": REPORT | {"threshold": 0.92}}],
)
def test_what_was_not_answered_both_ways_is_left_out(change):
    assert list(looked([ROW | {"memory": REPORT} | change])) == []


def halves(scores, right, **fields):
    """The same questions twice, so that both halves have them."""
    pairs = [(score, good) for score, good in zip(scores, right, strict=True) for _ in range(2)]
    return [one(number, score, right=good, **fields) for number, (score, good) in enumerate(pairs)]


def test_the_lowest_score_is_taken_at_which_precision_is_surely_high():
    """Twenty right ones have a lower bound of 0.84; with eight wrong ones below them it is under 0.8."""
    rows = halves([0.9] * HITS + [0.6] * 8, [True] * HITS + [False] * 8)
    (template, model, learned) = thresholds(rows)
    assert (template.least, template.chosen.hits, template.checked.hits) == (0.9, HITS, HITS)
    assert template.checked.precision.mean == 1.0
    assert (model.least, learned.least) == (None, None)


def test_too_few_hits_are_never_enough():
    (template, *_) = thresholds(halves([0.95] * (HITS - 1), [True] * (HITS - 1)))
    assert (template.least, template.chosen.hits, template.checked) == (None, HITS - 1, None)


def test_a_question_of_two_systems_is_in_one_half():
    (template, *_) = thresholds([row for row in halves([0.9] * HITS, [True] * HITS) for _ in range(2)])
    assert template.chosen.questions == template.checked.questions == HITS


def test_what_is_chosen_is_told_as_a_setting():
    said = render(thresholds(halves([0.9] * HITS, [True] * HITS)))
    assert said.splitlines()[-1] == "DGRAG_EDGE_MEMORY_THRESHOLD=template=0.9"
    assert "model: nothing to choose by, it stays as it is; chosen on 20 questions, 0 hits" in said


def test_a_kind_that_was_mostly_wrong_is_never_to_answer_and_without_any_hit_there_is_no_setting():
    assert render(thresholds(halves([0.9] * HITS, [False] * HITS))).endswith("DGRAG_EDGE_MEMORY_THRESHOLD=template=2")
    assert "DGRAG" not in render(thresholds([one(0, 0.9, passes=False)]))


def test_intervals_are_finite_for_one_question():
    assert all(math.isfinite(each.accuracy.low) for each in swept([one(0, 0.9)], seed=1))
