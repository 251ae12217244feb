"""Prototypes, joining and how prototypes stand to each other, on vectors in the plane."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.memory import hypergraph
from edge_node.memory.hypergraph import Rows, Shape, inter, joined, projected, prototypes, pruned, residuals

SHAPE = Shape(softness=0.25, spread=0.0, margin=1.0, units=4, keep=0.1, steps=100)
SEEDS = st.integers(0, 2**32 - 1)


def drawn(seed, *shape):
    rows = np.random.default_rng(seed).standard_normal(shape)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def dense(rows, m):
    whole = np.zeros((len(rows.columns), m))
    np.add.at(whole, (np.arange(len(whole))[:, None], rows.columns), rows.values)
    return whole


def squared_distances(units, middles):
    return ((units[:, None] - middles) ** 2).sum(axis=2)


def test_a_prototype_is_the_mean_by_shares():
    rows = Rows(np.array([[0, 1], [1, 0]]), np.array([[0.75, 0.25], [1.0, 0.0]]))
    middles, weights = prototypes(rows, np.eye(2), 3)
    assert weights.tolist() == [0.75, 1.25, 0.0]
    assert middles.tolist() == [[1.0, 0.0], [0.2, 0.8], [0.0, 0.0]]


def test_many_hyperedges_have_the_prototypes_of_the_textbook():
    units = drawn(1, 900, 5)
    rows = projected(np.random.default_rng(2).standard_normal((900, 700)) * 3)
    whole = dense(rows, 700)
    middles, weights = prototypes(rows, units, 700)
    assert weights == pytest.approx(whole.sum(axis=0))
    assert (weights == 0).any()
    live = weights > 0
    assert middles[live] == pytest.approx((whole.T @ units)[live] / weights[live, None])
    assert not middles[~live].any()


def test_a_unit_is_in_two_hyperedges_where_its_distances_differ_by_less_than_the_softness():
    """D is 0 and 2 - 1.2 = 0.8: with μ = 1.6 the shares differ by 0.8/1.6, with μ = 0.8 by 1."""
    unit, middles = np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [0.6, 0.8]])
    soft = joined(unit, middles, Shape(1.6, 0, 1, 4, 0.1, 1))
    assert (soft.columns.tolist(), soft.values[0]) == ([[0, 1]], pytest.approx([0.75, 0.25]))
    assert joined(unit, middles, Shape(0.8, 0, 1, 4, 0.1, 1)).values[0, 0] == 1


@given(SEEDS, st.floats(0.02, 4))
@settings(max_examples=50)
def test_no_row_of_the_simplex_costs_less_than_the_joined_one(seed, softness):
    units, middles = drawn(seed, 3, 4), drawn(seed + 1, 7, 4) * 0.8
    away = squared_distances(units, middles)
    own = dense(joined(units, middles, Shape(softness, 0, 1, 4, 0.1, 1)), 7)
    others = np.random.default_rng(seed).dirichlet(np.full(7, 0.3), (200, 3))
    costs = (others * away + softness / 2 * others**2).sum(axis=2)
    assert ((own * away + softness / 2 * own**2).sum(axis=1) <= costs + 1e-9).all()


def test_a_unit_joins_alike_alone_and_among_many():
    units, middles = drawn(3, 2_500, 6), drawn(4, 40, 6)
    together = dense(joined(units, middles, SHAPE), 40)
    for row in (0, 1_023, 1_024, 2_499):
        assert dense(joined(units[[row]], middles, SHAPE), 40)[0] == pytest.approx(together[row])


def test_small_entries_go_but_never_the_largest():
    rows = Rows(np.array([[3, 1, 0], [2, 0, 1]]), np.array([[0.6, 0.2, 0.2], [0.35, 0.33, 0.32]]))
    kept = pruned(rows, 0.3)
    assert dense(kept, 4) == pytest.approx(np.array([[0, 0, 0, 1], [0.33, 0.32, 0.35, 0]]))
    assert pruned(rows, 0.9).columns.tolist() == [[3], [2]]
    assert pruned(rows, 0.0).values.tolist() == rows.values.tolist()


def test_a_residual_is_the_mean_squared_distance_by_shares():
    units, middles = drawn(5, 9, 4), drawn(6, 5, 4) * 0.7
    rows = joined(units, middles, SHAPE)
    assert residuals(rows, units, middles) == pytest.approx((dense(rows, 5) * squared_distances(units, middles)).sum(axis=1))


@pytest.mark.parametrize(
    ("middles", "margin", "loss"),
    [
        ([[1, 0], [0, 1]], 2.0, (2 - 2**0.5) / 2),  # unlike and near: pushed apart by what is missing to the margin
        ([[1, 0], [0, 1]], 1.0, 0.0),  # unlike and far enough
        ([[1, 0], [0.5, 0]], 0.0, 0.25),  # alike: drawn together by their distance
        ([[1, 0], [-1, 0]], 1.0, -1.0),  # opposite: the cosine is -1, and S Δ falls without end
        ([[0.3, 0.4]], 1.0, 0.0),
    ],
)
def test_prototypes_that_are_alike_attract_and_others_repel(middles, margin, loss):
    assert inter(np.array(middles, dtype=float), margin)[0] == pytest.approx(loss)


@given(SEEDS, st.sampled_from([0.0, 0.5, 1.0, 1.6]))
@settings(max_examples=20)
def test_the_gradient_between_prototypes_is_that_of_differences(seed, margin):
    middles = drawn(seed, 5, 3) * np.random.default_rng(seed).uniform(0.4, 1, (5, 1))
    _, gradient = inter(middles, margin)
    step = 1e-6
    for place in np.ndindex(middles.shape):
        aside = np.zeros_like(middles)
        aside[place] = step
        slope = (inter(middles + aside, margin)[0] - inter(middles - aside, margin)[0]) / (2 * step)
        assert gradient[place] == pytest.approx(slope, abs=1e-5)


def test_blocks_do_not_show(monkeypatch):
    units, middles = drawn(7, 11, 4), drawn(8, 8, 4)
    rows, (loss, gradient) = joined(units, middles, SHAPE), inter(middles, 1.2)
    summed = prototypes(rows, units, 8)
    monkeypatch.setattr(hypergraph, "BLOCK", 3)
    monkeypatch.setattr(hypergraph, "TOGETHER", 3)
    assert dense(joined(units, middles, SHAPE), 8) == pytest.approx(dense(rows, 8))
    assert inter(middles, 1.2)[0] == pytest.approx(loss)
    assert inter(middles, 1.2)[1] == pytest.approx(gradient)
    assert prototypes(rows, units, 8)[0] == pytest.approx(summed[0])


def test_float32_stays():
    units = drawn(9, 30, 4).astype(np.float32)
    rows = joined(units, units[:6], SHAPE)
    middles, weights = prototypes(rows, units, 6)
    _, gradient = inter(middles, 1.0)
    found = [rows.values, middles, weights, gradient, residuals(rows, units, middles), pruned(rows, 0.1).values]
    assert {array.dtype for array in found} == {np.dtype(np.float32)}
