import random
from dataclasses import asdict

import pytest

from benchmarks.records import AnswerRow, Step
from benchmarks.report import memory
from benchmarks.summary import summarise
from edge_node.answering.fast_path import SHADOW

QUESTIONS = 24


def rows():
    rng = random.Random(3)
    for number in range(QUESTIONS):
        report = {"kind": "template", "score": rng.uniform(0.4, 1), "threshold": 0.0, "answer": rng.choice("xy"), "why_not": SHADOW}
        steps = (Step("remember", 12.0, 0, 0, 0, 0, 0), Step("samples", 9000.0, 1, 300, 40, 0, 0))
        row = AnswerRow("hotpotqa", "within", "fdrag-slow", "a", f"q{number}", "?", ("x",), "", True, "local", 9.1, False, None, steps, ())
        yield asdict(row) | {"answer": rng.choice("xy"), "memory": report}
        fast = number % 3 == 0
        yield asdict(row) | {
            "system": "fdrag",
            "route": "memory" if fast else "local",
            "seconds": 0.02 if fast else 9.0,
            "answer": "x",
            "memory": report | {"threshold": 0.92, "why_not": "" if fast else "its score is below the threshold"},
        }


@pytest.fixture(scope="module")
def told():
    return summarise({"answers": list(rows())}, {"name": "fdrag", "seed": 1, "config": {}})


def test_the_fast_path_stands_by_system_with_what_held_it_back(told):
    fast, why = memory.fast_path(told).tables
    assert [row[1] for row in fast.rows] == ["fdrag-slow", "fdrag"]
    assert [round(row[2].mean, 2) for row in fast.rows] == [0.0, 0.33]
    assert fast.rows[1][-2:] == (0.02, 9.0)
    assert ("hotpotqa", "fdrag", "its score is below the threshold", 16) in why.rows


def test_every_threshold_and_extreme_has_a_row_and_two_plots(told):
    section = memory.thresholds(told)
    table = section.tables[0]
    assert {row[2] for row in table.rows} == {*memory.CURVES.values(), *memory.EXTREMES.values()}
    assert {row[1] for row in table.rows} == {"fdrag-slow"}
    assert [figure.name for figure in section.figures] == ["thresholds-hotpotqa-fdrag-slow", "pareto-hotpotqa-fdrag-slow"]
    assert all(figure.svg.startswith(b"<?xml") for figure in section.figures)


def test_where_no_model_answered_nothing_is_said_of_one(told):
    section = memory.thresholds(told | {"run": told["run"] | {"models": {"generator": "unknowing"}}})
    assert {row[2] for row in section.tables[0].rows} == {*memory.CURVES.values(), "always the memory"}
    assert [figure.name for figure in section.figures] == ["thresholds-hotpotqa-fdrag-slow"]
    assert "no model answered" in section.text


def test_a_kind_that_may_never_answer_is_told_so(told):
    chosen = memory.thresholds(told).tables[1]
    assert [row[:2] for row in chosen.rows] == [("template", "never"), ("model", "never"), ("learned", "never")]


def test_a_result_of_before_has_neither_section(result):
    assert not any((section.tables or section.figures) for section in (memory.fast_path(result), memory.thresholds({})))
