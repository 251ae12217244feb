"""The measurement itself, at a size at which it says nothing."""

import json

import numpy as np
import pytest

from benchmarks.memories.recall import drawn, main, measured, questions, spread
from edge_node.memory.recall import RecallIndex


def test_half_of_the_questions_are_found_at_once_and_all_without_a_floor():
    found = measured(300, 40, np.random.default_rng(0))
    assert (found["memories"], found["questions"]) == (300, 40)
    assert (found["answer"]["hit"], found["nearest"]["hit"]) == (0.5, 1.0)
    assert found["tenth_withheld"]["hit"] < 0.5


def test_a_question_in_other_words_has_the_name_and_the_words_of_its_memory_but_one():
    memories, vectors = drawn(50, np.random.default_rng(1))
    index = RecallIndex.of(memories, vectors)
    for asked in questions(memories, vectors, 20, np.random.default_rng(2))[1::2]:
        (best,) = index.best(asked.vector, index.anchors_of(asked.text), k=1, alpha=0.7, floor=0.92)
        assert best.memory.anchors - index.anchors_of(asked.text) == {best.memory.question.split()[-1].rstrip("?")}


def test_times_are_told_by_their_median_and_their_95th_percentile():
    assert spread([1.0, 2.0, 3.0]) == {"p50_ms": 2.0, "p95_ms": pytest.approx(2.9)}


def test_what_is_printed_is_written(tmp_path, capsys):
    main(memories=100, asked=10, out=tmp_path / "recall.json")
    assert json.loads(capsys.readouterr().out) == json.loads((tmp_path / "recall.json").read_text())
