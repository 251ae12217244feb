"""The ROC of a score, worked by hand."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.calibration.roc import Point, best_within, best_youden, roc

scores = st.lists(st.floats(-1, 1, allow_nan=False).map(lambda x: round(x, 1)), min_size=1, max_size=20)


def test_scores_that_part_the_kinds_have_an_area_of_one_and_a_point_without_a_mistake():
    curve = roc(within=[0.7, 0.9], out=[0.1, 0.3])
    assert curve.auc == 1.0
    assert best_youden(curve) == Point(0.7, within=0.0, out=1.0)


def test_a_score_that_says_the_contrary_has_an_area_of_zero():
    assert roc(within=[0.1], out=[0.9]).auc == 0.0


def test_equal_scores_tell_nothing_and_fall_together():
    curve = roc(within=[0.5, 0.5], out=[0.5])
    assert curve.auc == 0.5
    assert [(point.threshold, point.within, point.out) for point in curve.points] == [(0.5, 0.0, 0.0), (pytest.approx(0.5), 1.0, 1.0)]


def test_what_is_no_finite_number_is_left_out_and_counted():
    curve = roc(within=[0.9, math.nan], out=[math.inf, 0.1, -math.inf])
    assert (curve.auc, curve.within, curve.out, curve.left_out) == (1.0, 1, 1, 3)


@pytest.mark.parametrize(("within", "out"), [([], [0.1]), ([0.1], []), ([], []), ([math.nan], [0.5])])
def test_one_kind_alone_has_no_curve_and_no_best_point(within, out):
    curve = roc(within, out)
    assert (curve.points, curve.auc) == ((), None)
    assert best_youden(curve) is None
    assert best_within(curve, 0.09) is None


def test_the_wanted_share_is_kept_even_where_another_point_is_better():
    curve = roc(within=[0.2, 0.6, 0.7, 0.8], out=[0.1, 0.3, 0.5])
    assert best_youden(curve) == Point(0.6, within=0.25, out=1.0)
    assert best_within(curve, 0.09) == Point(0.2, within=0.0, out=1 / 3)


@given(within=scores, out=scores)
def test_shares_never_fall_from_threshold_to_threshold_and_end_at_all(within, out):
    points = roc(within, out).points
    assert (points[0].within, points[0].out) == (0.0, 0.0)
    assert (points[-1].within, points[-1].out) == (1.0, 1.0)
    assert all(a.threshold < b.threshold and a.within <= b.within and a.out <= b.out for a, b in pairwise(points))


@given(within=scores, out=scores)
def test_each_point_is_what_counting_says(within, out):
    for point in roc(within, out).points:
        assert point.within == sum(score < point.threshold for score in within) / len(within)
        assert point.out == sum(score < point.threshold for score in out) / len(out)


@given(within=scores, out=scores)
def test_the_area_is_the_share_of_pairs_in_the_right_order(within, out):
    pairs = [1.0 if away < home else 0.5 if away == home else 0.0 for home in within for away in out]
    assert roc(within, out).auc == pytest.approx(sum(pairs) / len(pairs))
