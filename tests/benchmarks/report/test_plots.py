from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.report import plots
from deploy.evaluation.intervals import Estimate

HALF = Estimate(0.5, 0.4, 0.6, 20)
POINTS = 72  # an inch


def drawn():
    one = plots.Panel("title", "axis", {"": {"local": HALF, "dgrag": HALF}}, share=True)
    parts = plots.Panel("", "seconds", {"gate": {"local": 1.0, "cloud": 2.0}, "cloud": {"cloud": 3.0}})
    yield "bars", lambda: plots.bars([one])
    yield "bars of zeros", lambda: plots.bars([plots.Panel("", "", {"": {"local": 0.0}})])
    yield "stacked", lambda: plots.stacked(parts)
    yield "lines", lambda: plots.lines([plots.Panel("hit", "", {"m = 1": {20: HALF, 40: HALF}, "m = 5": {20: HALF, 40: HALF}})] * 3, "size")
    yield "a line of one point", lambda: plots.lines([plots.Panel("hit", "", {"m = 1": {40: HALF}})], "size")
    yield (
        "dots",
        lambda: plots.dots(
            [plots.Panel("", "", {"overall": {"vs. a": HALF}, "overall (paper)": {"vs. a": 0.4}}, marks={"even": 0.5})], " (paper)"
        ),
    )
    yield "front", lambda: plots.front({"local": (HALF, HALF), "dgrag": (HALF, HALF)}, across="tokens", up="recall")
    yield "curve", lambda: plots.curve({"nearness": [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)]}, across="within", up="out")


@pytest.mark.parametrize("draw", [pytest.param(draw, id=name) for name, draw in drawn()])
def test_each_shape_is_a_picture_as_wide_as_the_page(draw):
    picture = ElementTree.fromstring(draw())
    assert picture.get("width") == f"{plots.WIDTH * POINTS:.1f}pt"


def test_equal_data_make_equal_pictures_in_which_letters_stay_text():
    (_, draw), *_ = drawn()
    assert draw() == draw()
    assert b">dgrag</text>" in draw()


def test_a_line_goes_from_left_to_right_whatever_came_first():
    points = {40: 0.5, 10: 0.2, 20: 0.3}
    sorted_ones = dict(sorted(points.items()))
    assert plots.lines([plots.Panel("", "", {"": points})], "size") == plots.lines([plots.Panel("", "", {"": sorted_ones})], "size")


def test_systems_and_others_never_share_a_colour():
    assert not set(plots.COLOURS.values()) & set(plots.OTHERS)
    assert plots.colour("BM25 (floor)", 0) == plots.MUTED
    assert plots.colour("dgrag", 5) == plots.COLOURS["dgrag"]


@given(st.dictionaries(st.text(max_size=3), st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1))
def test_whoever_is_not_on_the_front_is_beaten_by_one_who_is(points):
    best = plots.undominated(points)
    assert best
    for cost, gain in (points[name] for name in points if name not in best):
        assert any(points[name][0] <= cost and points[name][1] >= gain for name in best)
