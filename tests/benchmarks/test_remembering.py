"""Runs whose edges remember, with services that are none."""

import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.runner import Runner
from benchmarks.stages import idle
from tests.benchmarks import test_runner
from tests.benchmarks.test_runner import Quiet, config, noted

data, services = test_runner.data, test_runner.services  # fixtures
REMEMBERING = {"within": 1, "systems": ["naive", "fdrag", "fdrag-no-cognizer", "fdrag-federated"]}


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(idle, "POLL_S", 0.0)


def ran(tmp_path, data, **changes):
    progress = Quiet()
    Runner(config(data, **(REMEMBERING | changes)), tmp_path / "work", progress).run(tmp_path / "out")
    return progress


def test_questions_wait_until_all_edges_remember_what_they_will(tmp_path, data, services):
    services.stale = [0] * 4 + [3, 0, 2, 0, 0, 0]  # four looks while the index is made
    progress = ran(tmp_path, data, systems=["fdrag"])
    assert ("domain: memories", 3) in progress.begun
    assert services.stale == []


def test_what_is_remembered_is_noted_once_for_each_state_and_edge(tmp_path, data, services):
    ran(tmp_path, data)
    rows = noted(tmp_path / "work", "memories")
    assert [(row["edge"], row["template"]) for row in rows] == [("harbour", 4), ("orchard", 4)] * 2
    assert [row["state"].rpartition("-")[2] for row in rows[1::2]] == ["remembering", "answers"]
    assert not any({"waiting", "looked", "fast"} & row.keys() for row in rows)


def test_a_system_without_memories_waits_for_none(tmp_path, data, services):
    ran(tmp_path, data, systems=["naive"])
    assert noted(tmp_path / "work", "memories") == []


def test_states_that_the_cloud_is_told_of_keep_their_graph_and_the_others_are_bare(tmp_path, data, services):
    ran(tmp_path, data)
    made = {name.rpartition("-")[2]: source.rpartition("-")[2] for source, name in services.copies}
    assert made["remembering"] == "naive"  # the bare one
    assert made["answers"] not in ("naive", "draft")


def test_memories_that_never_come_stop_the_run_with_what_to_do(tmp_path, data, services, monkeypatch):
    monkeypatch.setattr(idle, "LIMIT_S", -1.0)
    services.stale = [0] * 4 + [1] * 8
    with pytest.raises(BenchmarkError, match="2 memories are not made yet"):
        ran(tmp_path, data, systems=["fdrag"])
