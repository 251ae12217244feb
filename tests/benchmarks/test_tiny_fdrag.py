"""The tiny twin of FD-RAG's runs with real services and a scripted model: that every part of the way is there, not how well."""

import pytest

from tests.benchmarks import test_tiny_graphrag

pytestmark = [pytest.mark.process, pytest.mark.model, pytest.mark.long]  # a minute: CI has fifteen
run = test_tiny_graphrag.run  # a fixture


def test_each_system_answers_and_what_was_looked_at_is_told_for_every_threshold(run):
    figures = run("tiny-fdrag")
    assert {row["system"]: row["errors"] for row in figures["systems"]} == {"fdrag-slow": 0, "fdrag-federated": 0}
    remembered = {row["state"].rpartition("-")[2]: row["template"] for row in figures["memories"]}
    assert remembered.keys() == {"remembering", "answers"}
    assert min(remembered.values()) > 0
    assert {row["name"] for row in figures["pareto"]} == {"guarded", "unguarded", "slow", "memory", "oracle"}
    (slow,) = [row for row in figures["memory"] if row["system"] == "fdrag-slow"]
    assert slow["coverage"]["mean"] == 0.0
    assert slow["why_not"]
