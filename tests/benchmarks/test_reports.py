"""An index whose reports the model writes, with services that are none."""

import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.runner import Runner
from benchmarks.stages import idle
from benchmarks.stages import index as index_stage
from tests.benchmarks import test_runner
from tests.benchmarks.test_runner import Quiet, config, noted

data, services = test_runner.data, test_runner.services  # fixtures
CONDITIONS = ["graphrag-c0", "graphrag-c2", "graphrag-ts", "graphrag-ss"]
BY_MODEL = {"DGRAG_EDGE_REPORTS": "model"}


class Words:
    def count(self, text):
        return len(text.split())


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(idle, "POLL_S", 0.0)
    monkeypatch.setattr(index_stage, "build_tokenizer", lambda _: Words())


def ran(tmp_path, data, environment=BY_MODEL, systems=CONDITIONS[:1]):
    progress = Quiet()
    asked = config(data, within=1, systems=systems).model_copy(update={"environment": environment})
    figures = Runner(asked, tmp_path / "work", progress).run(tmp_path / "out").figures
    return progress, figures


def test_an_index_is_there_when_the_model_has_written_all_reports(tmp_path, data, services):
    services.stale = [0] * 4 + [2, 5, 1, 0, 0, 0]  # four looks while documents are indexed
    progress, _ = ran(tmp_path, data)
    assert ("domain: reports", 7) in progress.begun
    assert services.stale == []
    begun = [what for what, _ in progress.begun]
    assert begun.index("domain: reports") < begun.index("domain: graphrag-c0")


def test_documents_are_indexed_with_plain_reports_and_the_writing_begins_after(tmp_path, data, services):
    ran(tmp_path, data)
    said = [environment.get("DGRAG_EDGE_REPORTS") for _, environment in services.starts]
    assert said[:2] == ["extractive", None]
    assert "extractive" not in said[1:]


def test_what_the_writing_took_stands_in_the_row_of_the_index(tmp_path, data, services):
    _, figures = ran(tmp_path, data)
    rows = figures["index"]
    assert [(row["edge"], row["writing_calls"], row["writing_tokens_in"], row["writing_tokens_out"]) for row in rows] == [
        ("harbour", 3, 90, 30),
        ("orchard", 3, 90, 30),
    ]
    assert all(row["wall_seconds"] >= row["writing_seconds"] >= 0 for row in rows)
    assert {row["model_tokens"] for row in rows} == {122}


def test_reports_of_each_level_are_counted_plain_and_as_the_model_wrote_them(tmp_path, data, services):
    """A plain report has a title of one word and a finding of four; the model adds four more, and its text of c2 was of no use."""
    _, figures = ran(tmp_path, data)
    assert [list(one.values()) for one in figures["index"][0]["reports"]] == [
        [0, 1, 5, 9, 1, 9],  # level, communities, tokens plain and as they are, by the model, its tokens
        [1, 2, 10, 14, 1, 9],
        [2, 1, 5, 5, 0, 0],
    ]


def test_writing_that_was_killed_goes_on_and_the_index_says_so(tmp_path, data, services, monkeypatch):
    async def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(index_stage, "idle", killed)
    with pytest.raises(KeyboardInterrupt):
        ran(tmp_path, data)
    monkeypatch.setattr(index_stage, "idle", idle.idle)
    _, figures = ran(tmp_path, data)
    assert [(row["resumed"], row["reused"], row["writing_calls"]) for row in figures["index"]] == [(True, False, 3)] * 2


def test_an_edge_that_does_not_tell_its_reports_stops_the_run(tmp_path, data, services, monkeypatch):
    monkeypatch.setattr(services, "opened", lambda path: None)
    with pytest.raises(BenchmarkError, match="does not tell its reports"):
        ran(tmp_path, data)


def test_with_plain_reports_nobody_waits_and_nothing_is_looked_at(tmp_path, data, services):
    progress, figures = ran(tmp_path, data, environment={})
    assert "domain: reports" not in [what for what, _ in progress.begun]
    assert not any("reports" in row or "writing_seconds" in row for row in figures["index"])
    assert not any("communities" in path for path in services.opens)


def test_all_conditions_share_one_index_that_plain_reports_have_not(tmp_path, data, services):
    ran(tmp_path, data, systems=CONDITIONS)
    assert len(services.added) == 2  # one of each edge, for reports, texts and passages alike
    (state,) = {row["state"] for row in noted(tmp_path / "work", "state")}
    written = {name for name, _ in services.starts}
    assert all(name.startswith(state) for name in written)
    ran(tmp_path, data, environment={})
    assert len(services.added) == 4
    assert not any(name.startswith(state) for name in {name for name, _ in services.starts} - written)
