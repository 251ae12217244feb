"""PageRank of the KNN graph, and core chunks."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.strategies.ketrag.core import core, core_uniform, pagerank

STAR = np.array([[0, 1], [0, 2], [0, 3]])


def test_the_centre_of_a_star_of_four_has_nearly_half():
    """centre = .0375 + .85 * 3 leaves, leaf = .0375 + .85 / 3 centre: centre = .133125 / .2775 (eq. 1, alpha = .15)."""
    scores = pagerank(STAR, 4)
    assert scores == pytest.approx([0.479730, 0.173423, 0.173423, 0.173423], abs=1e-6)


def test_a_quarter_of_a_star_is_its_centre_and_a_little_more_is_two_chunks():
    keys = ["a", "b", "c", "d"]
    assert core(keys, pagerank(STAR, 4), share=0.25) == ("a",)
    assert len(core(keys, pagerank(STAR, 4), share=0.3)) == 2


def test_a_share_that_is_a_whole_number_but_for_rounding_is_that_number():
    assert len(core(list(map(str, range(30))), np.full(30, 1 / 30), share=0.1)) == 3  # 0.1 * 30 = 3.0000000000000004


def test_nothing_and_a_lone_chunk_have_a_pagerank():
    none = np.zeros((0, 2), dtype=np.int64)
    assert pagerank(none, 0).tolist() == []
    assert pagerank(none, 1) == pytest.approx([1.0])
    assert core([], pagerank(none, 0), share=0.8) == ()


@st.composite
def graphs(draw):
    n = draw(st.integers(2, 12))
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
    return n, np.array(sorted(draw(st.sets(st.sampled_from(pairs)))), dtype=np.int64).reshape(-1, 2)


@settings(max_examples=25, deadline=None)
@given(graphs())
def test_pagerank_sums_to_one_and_solves_its_equation(graph):
    n, edges = graph
    scores = pagerank(edges, n)
    moves = np.zeros((n, n))
    for a, b in edges:
        moves[a, b] = moves[b, a] = 1.0
    degrees = moves.sum(axis=1)
    moves = np.where(degrees[:, None] > 0, moves / np.maximum(degrees, 1)[:, None], 1 / n)
    assert scores.sum() == pytest.approx(1.0, abs=1e-9)
    assert scores == pytest.approx(0.15 / n + 0.85 * scores @ moves, abs=1e-7)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=20), st.floats(0, 1))
def test_core_chunks_are_the_best_and_of_equals_the_first_and_as_many_as_asked(values, share):
    scores = {f"c{place}": float(value) for place, value in enumerate(values)}
    keys = list(scores)
    chosen = core(keys, np.array([scores[key] for key in keys]), share=share)
    assert list(chosen) == sorted(keys, key=lambda key: (-scores[key], keys.index(key)))[: len(chosen)]
    assert len(chosen) == ceil(round(share * len(keys), 9))
    assert min((scores[key] for key in chosen), default=9) >= max((scores[key] for key in set(keys) - set(chosen)), default=0)


def test_a_uniform_core_is_a_matter_of_the_seed_and_another_chunk_moves_at_most_one():
    keys = [f"c{place}" for place in range(100)]
    before, after = core_uniform(keys, share=0.5, seed=1), core_uniform([*keys, "new"], share=0.5, seed=1)
    assert len(before) == 50
    assert len(set(before) - set(after)) <= 1
    assert before != core_uniform(keys, share=0.5, seed=2)
