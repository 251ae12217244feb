"""Descent on the simplex: its gradient, that the loss falls, what a set of units becomes, and what joins it later."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.memory.hypergraph import Rows, Shape, joined, prototypes, residuals
from edge_node.memory.training import descent, grown, moved, point_at, trained

SHAPE = Shape(softness=0.25, spread=0.0, margin=1.0, units=4, keep=0.1, steps=100)
SEEDS = st.integers(0, 2**32 - 1)


def drawn(seed, *shape):
    rows = np.random.default_rng(seed).standard_normal(shape)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def named(n):
    return [f"u{number:04}" for number in range(n)]


def whole(matrix):
    """A dense incidence as sparse rows."""
    return Rows(np.tile(np.arange(matrix.shape[1]), (len(matrix), 1)), matrix)


def dense(rows, m):
    found = np.zeros((len(rows.columns), m))
    np.add.at(found, (np.arange(len(found))[:, None], rows.columns), rows.values)
    return found


def started(units, m, shape):
    return point_at(joined(units, units[:m], shape), units, units[:m], shape)


def plane(*degrees):
    turns = np.radians(degrees)
    return np.stack([np.cos(turns), np.sin(turns)], axis=1)


def test_the_loss_within_hyperedges_is_the_mean_squared_distance_by_shares():
    units, shares = drawn(1, 12, 5), np.random.default_rng(2).dirichlet(np.ones(4), 12)
    point = point_at(whole(shares), units, units[:4], SHAPE)
    away = ((units[:, None] - point.prototypes) ** 2).sum(axis=2)
    assert point.intra == pytest.approx((shares * away).sum())
    assert point.loss == pytest.approx(point.intra + 0.125 * (shares**2).sum())


@pytest.mark.parametrize("spread", [0.0, 0.7])
def test_the_gradient_is_that_of_differences_along_the_simplex(spread):
    shape = replace(SHAPE, spread=spread)
    units, shares = drawn(3, 10, 5), np.random.default_rng(4).dirichlet(np.full(4, 3.0), 10)
    point = point_at(whole(shares), units, units[:4], shape)
    gradient = units @ point.toward.T + point.level + shape.softness * shares
    step = 1e-6
    for row, column in np.ndindex(10, 3):  # share moves from the last column to this one, so the row stays on the simplex
        aside = np.zeros_like(shares)
        aside[row, column], aside[row, 3] = step, -step
        ahead, behind = (point_at(whole(shares + sign * aside), units, units[:4], shape).loss for sign in (1, -1))
        assert gradient[row, column] - gradient[row, 3] == pytest.approx((ahead - behind) / (2 * step), abs=1e-5)


@given(SEEDS, st.integers(2, 60), st.integers(1, 9), st.integers(2, 8), st.floats(0.02, 4), st.floats(0.05, 1))
@settings(max_examples=50)
def test_the_loss_never_rises_and_rows_stay_on_the_simplex_at_any_rate_up_to_the_bound(seed, n, m, d, softness, part):
    shape = replace(SHAPE, softness=softness)
    units = drawn(seed, n, d)
    point = started(units, min(m, n), shape)
    for _ in range(8):
        lower = moved(units, point, shape, rate=part / softness)
        assert lower.loss <= point.loss + 1e-9 * n
        assert (lower.rows.values >= 0).all()
        assert lower.rows.values.sum(axis=1) == pytest.approx(1)
        point = lower


def test_the_loss_rises_at_ten_times_the_rate():
    """The null control of the test above: what it asserts is not true of any step."""
    units, losses = drawn(2, 40, 6), []
    point = started(units, 10, SHAPE)
    for _ in range(12):
        losses.append(point.loss)
        point = moved(units, point, SHAPE, rate=10 / SHAPE.softness)
    assert max(after - before for before, after in pairwise(losses)) > 0.05


def test_a_step_with_many_equal_prototypes_does_not_raise_the_loss_either():
    """Fifty copies of one prototype: a row holds 32 entries at most, and the step is the best of those."""
    units = np.concatenate([np.tile(drawn(5, 1, 4), (50, 1)), drawn(6, 30, 4)])
    points = list(descent(units, units[:60], SHAPE))
    assert points[0].rows.values.shape == (80, 32)
    assert all(after.loss <= before.loss + 1e-9 for before, after in pairwise(points))


@given(SEEDS, st.floats(0.05, 3))
@settings(max_examples=25)
def test_the_loss_falls_with_the_term_between_hyperedges_too(seed, spread):
    points = list(descent(drawn(seed, 30, 5), drawn(seed + 1, 8, 5), replace(SHAPE, spread=spread)))
    assert all(after.loss <= before.loss + 1e-6 * abs(before.loss) for before, after in pairwise(points))


def test_a_step_that_would_raise_the_loss_is_made_smaller():
    shape = replace(SHAPE, spread=3.0)
    units = drawn(7, 40, 6)
    points = list(descent(units, units[:10], shape))
    assert [number for number, point in enumerate(points) if moved(units, point, shape, rate=4).loss > point.loss] == [2, 6]
    assert points[3].loss < points[2].loss
    assert len(points) == 7  # and there is none behind the last, where no half of the rate helps


def test_units_of_two_subjects_become_two_hyperedges():
    units = plane(0, 5, 80, 85)
    points = list(descent(units, units[[0, 3]], SHAPE))
    assert dense(points[-1].rows, 2) == pytest.approx(np.array([[1, 0], [1, 0], [0, 1], [0, 1]]))


def test_a_unit_between_two_subjects_belongs_to_both():
    found = dense(list(descent(plane(0, 45, 90), plane(0, 90), SHAPE))[-1].rows, 2)
    assert found == pytest.approx(np.array([[1, 0], [0.5, 0.5], [0, 1]]))


@given(SEEDS, st.sampled_from([0.0, 0.1]))
@settings(max_examples=25)
def test_the_order_of_units_plays_no_part(seed, spread):
    shape = replace(SHAPE, spread=spread)
    units, keys = drawn(seed, 23, 4).astype(np.float32), named(23)
    order = np.random.default_rng(seed).permutation(23)
    one = trained(units, keys, shape, lambda _: None)
    other = trained(units[order], [keys[row] for row in order], shape, lambda _: None)
    assert one.losses == other.losses
    assert one.weights.tolist() == other.weights.tolist()
    assert one.rows.columns[order].tolist() == other.rows.columns.tolist()
    assert one.rows.values[order].tolist() == other.rows.values.tolist()


def test_what_is_trained_is_sparse_sums_to_one_and_has_no_empty_hyperedge():
    units = drawn(7, 200, 2).astype(np.float32)
    steps = []
    found = trained(units, named(200), replace(SHAPE, keep=0.4), steps.append)
    values, m = found.rows.values, len(found.weights)
    assert m < 50
    assert found.rows.columns.max() == m - 1
    assert found.weights == pytest.approx(dense(found.rows, m).sum(axis=0), abs=1e-5)
    assert (found.weights > 0).all()
    assert values.sum(axis=1) == pytest.approx(1, abs=1e-6)
    assert (values[:, 1:][values[:, 1:] > 0] >= 0.4).all()
    assert values.dtype == found.weights.dtype == np.float32
    assert steps == list(range(len(found.losses)))


def test_training_ends_when_the_loss_hardly_falls_or_the_steps_are_used_up():
    units, keys = drawn(8, 120, 6), named(120)
    falls = [1 - after / before for before, after in pairwise(trained(units, keys, SHAPE, lambda _: None).losses)]
    assert falls[-1] < 1e-4 <= min(falls[:-1])
    assert len(trained(units, keys, replace(SHAPE, steps=2), lambda _: None).losses) == 3
    assert len(trained(units, keys, replace(SHAPE, steps=0), lambda _: None).losses) == 1


def test_equal_units_share_a_hyperedge_and_the_others_are_gone():
    units = np.tile(plane(30), (9, 1))
    found = trained(units, named(9), replace(SHAPE, keep=0.6), lambda _: None)
    assert found.rows.columns.tolist() == [[0]] * 9
    assert found.weights.tolist() == [9]


def test_one_unit_is_a_hyperedge():
    found = trained(plane(10), ["only"], replace(SHAPE, spread=0.1), lambda _: None)
    assert (found.rows.columns.tolist(), found.rows.values.tolist(), found.weights.tolist()) == ([[0]], [[1]], [1])


def test_training_can_be_ended_between_two_steps():
    def stop(step):
        if step == 1:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        trained(drawn(9, 40, 5), named(40), SHAPE, stop)


def test_what_is_known_joins_and_a_new_subject_opens_a_hyperedge():
    """Those at 170° and 176° are far from both prototypes and near each other: the farthest opens one, and the other joins it."""
    rows, seeds = grown(plane(3, 170, 88, 176), plane(0, 90), replace(SHAPE, units=2), residual=0.5)
    assert seeds.tolist() == [3]
    assert rows.columns[:, 0].tolist() == [0, 2, 1, 2]
    assert rows.values[:, 0].tolist() == [1, 1, 1, 1]


def test_new_hyperedges_are_no_more_than_their_share_and_the_farthest_come_first():
    news = plane(180, 270, 225)  # squared distances to the prototype: 4, 2 and 3.4
    assert grown(news, plane(0), replace(SHAPE, units=2), residual=0.5)[1].tolist() == [0, 1]
    assert grown(news, plane(0), replace(SHAPE, units=3), residual=0.5)[1].tolist() == [0]
    assert grown(news, plane(0), replace(SHAPE, units=1), residual=2.5)[1].tolist() == [0]


def test_of_equally_far_units_the_first_opens_a_hyperedge():
    rows, seeds = grown(plane(180, 180, 180), plane(0), replace(SHAPE, units=1), residual=0.5)
    assert seeds.tolist() == [0]
    assert rows.columns[:, 0].tolist() == [1, 1, 1]


def test_nothing_new_changes_nothing():
    rows, seeds = grown(plane(), plane(0, 90), SHAPE, residual=0.5)
    assert (len(rows.columns), len(seeds)) == (0, 0)


def test_trained_units_that_come_again_join_where_they_were():
    units = drawn(10, 80, 6)
    found = trained(units, named(80), SHAPE, lambda _: None)
    middles, _ = prototypes(found.rows, units, len(found.weights))
    again, seeds = grown(units, middles, SHAPE, residual=float(residuals(found.rows, units, middles).max()) + 0.05)
    assert not len(seeds)
    assert np.mean(again.columns[:, 0] == found.rows.columns[:, 0]) > 0.9
