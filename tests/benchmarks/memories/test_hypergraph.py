"""The measurement itself, on sentences with made-up vectors."""

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.memories.hypergraph import (
    SHAPE,
    Run,
    added,
    by_mass,
    by_mean,
    dense,
    embedded,
    figures,
    plotted,
    read,
    runs,
    step_cost,
    table,
    textbook,
)
from edge_node.memory.hypergraph import Rows, joined
from edge_node.memory.training import moved, point_at
from shared.models.fake import HashEmbedder

TEXTS = ["Ann built the mill. Bob runs it. 1905.", "The Orrin Railway carried slate. It closed."]


def units_of(n, d=6):
    rows = np.random.default_rng(3).standard_normal((n, d)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), [f"k{number:03}" for number in range(n)]


def test_units_are_sentences_with_a_letter(tmp_path):
    rows = [{"doc_id": f"d{number}", "text": text} for number, text in enumerate(TEXTS)]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read(tmp_path, 10)
    assert [(one.document, one.text) for one in found[1:3]] == [("d0", "Bob runs it."), ("d1", "The Orrin Railway carried slate.")]
    assert len({one.key for one in found}) == len(found) == 4
    assert len(read(tmp_path, 3)) == 3
    assert embedded([one.text for one in found] * 20, HashEmbedder()).shape == (80, 64)


def test_the_textbook_takes_the_same_step():
    """With the rate 1/μ and the gradient of (μ/2)‖H‖² added, the dense form is what the product computes without a dense H."""
    units, _ = units_of(30)
    shape = replace(SHAPE, spread=0)
    rows = joined(units, units[:8], shape)
    start = dense(rows, 8)
    run = textbook(units, start, lambda *of: by_mass(*of) + shape.softness * start, rate=1 / shape.softness, steps=1)
    step = moved(units, point_at(rows, units, units[:8], shape), shape, rate=1 / shape.softness)
    assert run.losses[1] == pytest.approx(step.intra / 30, abs=1e-5)


@pytest.mark.parametrize("form", ["mass", "mean"])
def test_the_gradients_are_those_of_differences(form):
    units = units_of(9, 4)[0].astype(np.float64)
    shares = np.random.default_rng(1).dirichlet(np.ones(3), 9)

    def loss(matrix):
        weights = matrix.sum(axis=0)
        middles = matrix.T @ units / weights[:, None]
        each = (matrix * ((units[:, None] - middles) ** 2).sum(axis=2)).sum(axis=0)
        return (each if form == "mass" else each / weights).sum()

    weights = shares.sum(axis=0)
    middles = shares.T @ units / weights[:, None]
    found = {"mass": by_mass, "mean": by_mean}[form](units @ middles.T, (middles**2).sum(axis=1), weights)
    for row, column in np.ndindex(9, 2):
        aside = np.zeros_like(shares)
        aside[row, column], aside[row, 2] = 1e-6, -1e-6
        slope = (loss(shares + aside) - loss(shares - aside)) / 2e-6
        assert found[row, column] - found[row, 2] == pytest.approx(slope, abs=1e-6)


def test_figures_count_members_and_documents():
    """Hyperedge 0 has units 0, 1 and 2 of two documents, hyperedge 4 has unit 2 alone."""
    rows = Rows(np.array([[0, 0], [0, 0], [0, 4]]), np.array([[1.0, 0.0], [1.0, 0.0], [0.6, 0.4]]))
    found = figures(Run([1.0, 0.5, 0.4, 0.399], rows, 0.3), ["a", "a", "b"])
    assert (found["hyperedges"], found["of_one"], found["members_most"], found["members_median"]) == (2, 0.5, 3, 2)
    assert found["members"] == {"from 1": 1, "from 2": 1, "from 4": 0, "from 8": 0, "from 16": 0, "from 32": 0}
    assert (found["hyperedges_of_a_unit"], found["documents_of_a_hyperedge"]) == (1.333, 1.5)
    assert (found["steps"], found["cpu_s_a_step"], found["fall_done_at"]) == (3, 0.1, 2)
    assert found["curve"] == {0: 1.0, 1: 0.5, 2: 0.4, 3: 0.399}


def test_every_way_of_learning_is_run_and_shown():
    units, keys = units_of(60)
    found = runs(units, keys, SHAPE, np.random.default_rng(0), 4)
    rows = {label: figures(run, keys) for label, run in found.items()}
    assert len(rows) == table("some", rows).row_count == 8
    for run in found.values():
        assert run.rows.values.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert rows["k-means"]["hyperedges_of_a_unit"] == 1
    assert rows["ours"]["hyperedges_of_a_unit"] > 1
    assert found["random, rate 0.05"].losses[0] == found["mean form, random"].losses[0]
    assert plotted({"some": found}).startswith(b"<?xml")


def test_what_is_added_is_measured_against_what_is_trained_together():
    units, keys = units_of(100)
    found = added(units, keys, SHAPE)
    assert found["units"] == [80, 20]
    assert found["hyperedges"]["opened"] <= 5
    assert found["mean_squared_distance"]["added"] > 0


def test_a_step_is_measured_at_its_size():
    found = step_cost(*units_of(50), SHAPE)
    assert found["size"] == [50, 13, 6]
    assert found["peak_mb"] >= found["peak_mb_before"] > 0
