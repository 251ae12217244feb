import json
import sys
import threading
from collections import Counter
from pathlib import Path

import orjson
import pytest

from benchmarks import runner
from benchmarks.__main__ import main
from benchmarks.config import ModelsConfig, RunConfig
from benchmarks.errors import BenchmarkError
from benchmarks.journal import Journal
from benchmarks.link import LinkConfig
from benchmarks.peers.run import PeersConfig
from benchmarks.runner import Runner, locked
from benchmarks.stages import spread
from tests.benchmarks.fake_services import FakeFleet, running_services


class Quiet:
    """A progress board that may interrupt: after ``units`` of them, as Ctrl-C does."""

    def __init__(self, units=10**6):
        self.left = units
        self.begun = []

    def begin(self, what, total):
        self.begun.append((what, total))

    def at(self, done):
        self.left -= bool(done)
        if self.left <= 0:
            raise KeyboardInterrupt

    def say(self, text):
        raise AssertionError(text)


class Telling(Quiet):
    def __init__(self):
        super().__init__()
        self.said = []

    def say(self, text):
        self.said.append(text)


@pytest.fixture
def services(monkeypatch):
    with running_services() as found:
        monkeypatch.setattr(runner, "Fleet", found.fleet)
        for name in ("answering_code", "indexing_code"):  # of a tree that others may be changing
            monkeypatch.setattr(runner, name, lambda **_: "the-same-code")
        yield found


@pytest.fixture
def data(tmp_path):
    """Two domains, each with two documents of two questions."""
    for domain in ("harbour", "orchard"):
        rows = [
            {"input": f"{domain} {book} {number}?", "answers": ["In January."], "context": f"Text of {domain} {book}.", "label": domain}
            | {"context_id": f"{domain}{book}", "_id": f"{domain}{book}{number}", "length": 3, "meta": {"title": ""}}
            for book in range(2)
            for number in range(2)
        ]
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "data" / f"{domain}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "data"


def config(data, **changes):
    split = {"name": "domain", "kind": "domain", "files": ["*.jsonl"], "m": [1, 2]} | changes
    return RunConfig.model_validate({"name": "trial", "data": {"root": data}, "split": [split]})


def noted(work, stage):
    (journal,) = work.glob("trial-*/journal.jsonl")
    return [unit["row"] for unit in map(orjson.loads, journal.read_bytes().splitlines()) if unit["stage"] == stage]


EVERYTHING = {
    "within": 1,
    "out": 1,
    "systems": ["dgrag", "cloud", "local", "naive", "centralized"],
    "routing": True,
    "subgraph_entities": [40, 80],
    "storage": True,
    "retrieval": ["local", "centralized"],
}


def test_a_run_asks_every_system_the_same_questions_and_writes_figures_without_texts(tmp_path, data, services):
    result = Runner(config(data, **EVERYTHING), tmp_path / "work", Quiet()).run(tmp_path / "out")
    assert result.file == tmp_path / "out" / "trial.json"
    figures = orjson.loads(result.file.read_bytes())
    assert {(row["system"], row["scenario"]) for row in figures["systems"]} >= {
        (system, scenario) for system in EVERYTHING["systems"] for scenario in ("within", "out")
    }
    assert all(row["errors"] == 0 and row["metrics"]["rouge_l_recall"]["mean"] == 1.0 for row in figures["systems"])
    assert "harbour 0 0?" not in result.file.read_text()
    rows = [orjson.loads(line) for line in result.file.with_suffix(".answers.jsonl").read_bytes().splitlines()]
    asked = {system: {(row["question_id"], row["edge"]) for row in rows if row["system"] == system} for system in EVERYTHING["systems"]}
    assert set(map(len, asked.values())) == {4}
    assert len({frozenset(pairs) for pairs in asked.values()}) == 1
    assert {row["edge"] for row in rows if row["scenario"] == "out" and row["question_id"].startswith("harbour")} == {"orchard"}
    assert not services.running


def test_what_a_reader_is_to_answer_from_is_found_by_an_edge_and_read_by_the_runs_model(tmp_path, data, services):
    figures = Runner(config(data, within=1, systems=["reader"]), tmp_path / "work", Quiet()).run(tmp_path / "out").figures
    (row,) = figures["systems"]
    assert (row["asked"], row["errors"], row["metrics"]["em"]["mean"], row["metrics"]["tokens_out"]["mean"]) == (2, 0, 1.0, 3.0)
    assert [path.rpartition("/v1/")[2] for path, _ in services.asked] == ["retrieve", "/model/chat/completions"] * 2
    assert "The dock is closed in January." in services.asked[1][1]["messages"][-1]["content"]


def test_questions_within_and_out_of_domain_are_the_same_ones(tmp_path, data, services):
    Runner(config(data, within=1, out=1, systems=["dgrag"]), tmp_path / "work", Quiet()).run(tmp_path / "out")
    asked = Counter(body["question"] for path, body in services.asked if path.endswith("/v1/query"))
    assert sorted(asked.values()) == [2, 2]


def test_several_questions_are_asked_at_once_where_a_run_says_so(tmp_path, data, services):
    services.together = threading.Barrier(4)  # breaks, and with it the answers, where fewer are asked at once
    asked = config(data, within=2, systems=["dgrag"]).model_copy(update={"at_once": 4})
    figures = Runner(asked, tmp_path / "work", Quiet()).run(tmp_path / "out").figures
    assert [(row["asked"], row["errors"]) for row in figures["systems"] if row["scenario"] == "within"] == [(4, 0)]


def test_a_splits_own_settings_are_in_its_index_and_every_start_and_name_another_state(tmp_path, data, services):
    own = {"DGRAG_EDGE_SUMMARIES": "model"}
    plain = config(data, routing=True).split[0]
    both = plain.model_copy(update={"name": "written", "environment": own})
    asked = config(data, routing=True).model_copy(update={"split": (plain, both)})
    Runner(asked, tmp_path / "work", Quiet()).run(tmp_path / "out")
    assert {name.partition("-")[0]: environment.get("DGRAG_EDGE_SUMMARIES") for name, environment in services.starts} == {
        "domain": None,
        "written": "model",
    }


def test_systems_with_equal_settings_share_a_start_and_a_copy_keeps_the_index_whole(tmp_path, data, services):
    Runner(config(data, **EVERYTHING), tmp_path / "work", Quiet()).run(tmp_path / "out")
    names = [name.partition("-")[2].partition("-")[2] for name, _ in services.starts]  # without split and hash
    # both layouts are indexed; routing, dgrag, cloud and retrieval share a start; a bare copy; 80 entities; local; naive; central twice
    assert names == ["", "central", "", "naive-draft", "subgraphs-80", "", "naive", "central", "central"]
    assert [(source.count("-"), name.rpartition("-")[2]) for source, name in services.copies] == [(1, "draft"), (2, "80")]


def test_every_start_lets_all_labels_of_the_data_leave(tmp_path, data, services):
    Runner(config(data, routing=True), tmp_path / "work", Quiet()).run(tmp_path / "out")
    (policy,) = {environment["DGRAG_EDGE_POLICY_FILE"] for _, environment in services.starts}
    assert '"harbour" = "full"' in Path(policy).read_text()


def test_routing_is_measured_for_every_question_at_each_m(tmp_path, data, services):
    figures = Runner(config(data, routing=True), tmp_path / "work", Quiet()).run(tmp_path / "out").figures
    rows = {row["m"]: row for row in figures["routing"]}
    assert rows[1]["hit"]["n"] == 8
    assert rows[1]["hit"]["mean"] == 0.5  # the fake matches harbour first
    assert rows[2]["hit"]["mean"] == rows[2]["any_mismatch"]["mean"] == 1.0
    assert [body["m"] for path, body in services.asked] == [1, 2] * 8
    assert {body["min_score"] for path, body in services.asked} == {-1.0}  # whatever an answer's threshold is


def test_matching_by_cosine_alone_is_asked_of_a_cloud_without_lead_and_slots(tmp_path, data, services):
    figures = Runner(config(data, routing=True, routing_plain=True), tmp_path / "work", Quiet()).run(tmp_path / "out").figures
    assert [(row["m"], row["plain"], row["hit"]["n"]) for row in figures["routing"]] == [
        (1, False, 8),
        (2, False, 8),
        (1, True, 8),
        (2, True, 8),
    ]
    assert services.starts[-1][1]["DGRAG_CLOUD_MATCH_LEAD"] == "0"
    assert "DGRAG_CLOUD_MATCH_LEAD" not in services.starts[-2][1]


def test_storage_is_the_stopped_clouds_bytes_against_the_central_edges(tmp_path, data, services):
    figures = Runner(config(data, storage=True), tmp_path / "work", Quiet()).run(tmp_path / "out").figures
    (row,) = figures["storage"]
    assert (row["cloud_bytes"], row["centralised_bytes"], row["ratio"]) == (10, 100, 10.0)


def test_retrieval_is_measured_on_all_questions_and_counts_a_document_once(tmp_path, data, services):
    Runner(config(data, retrieval=["local"]), tmp_path / "work", Quiet()).run(tmp_path / "out")
    rows = noted(tmp_path / "work", "retrieval")
    assert len(rows) == 8
    assert rows[0]["found"] == ["d1"]
    assert rows[0]["covered"]
    assert 5 < rows[0]["context_tokens"] < 30


def test_federated_retrieval_notes_whom_the_cloud_asked(tmp_path, data, services):
    Runner(config(data, retrieval=["federated"]), tmp_path / "work", Quiet()).run(tmp_path / "out")
    assert {tuple(row["asked_edges"]) for row in noted(tmp_path / "work", "retrieval")} == {("orchard",)}


def test_a_site_that_answered_alone_has_not_retrieved_from_the_federation(tmp_path, data, services):
    services.away = True
    figures = Runner(config(data, retrieval=["federated"]), tmp_path / "work", Telling()).run(tmp_path / "out").figures
    assert figures["retrieval"][0]["errors"] == 8


def test_an_operator_asks_the_cloud_itself_and_no_edge(tmp_path, data, services):
    Runner(config(data, retrieval=["federated-operator"]), tmp_path / "work", Quiet()).run(tmp_path / "out")
    rows = noted(tmp_path / "work", "retrieval")
    assert {row["edge"] for row in rows} == {""}
    assert {tuple(row["asked_edges"]) for row in rows} == {("orchard",)}
    assert {path for path, _ in services.asked} == {"/cloud/v1/evidence"}


@pytest.mark.parametrize(("asked", "stage"), [({"within": -1, "systems": ["dgrag"]}, "answers"), ({"retrieval": ["local"]}, "retrieval")])
def test_what_failed_is_asked_again_by_the_next_start_and_nothing_else_is(tmp_path, data, services, asked, stage):
    services.failing = 3
    board = Telling()
    first = Runner(config(data, **asked), tmp_path / "work", board).run(tmp_path / "out").figures
    part = "systems" if stage == "answers" else "retrieval"
    assert (first[part][0]["errors"], first[part][0]["asked_again"]) == (3, 0)
    assert len(board.said) == 3
    assert all("try 1 of 3; the same command asks again" in line for line in board.said)
    before = len(services.asked)
    second = Runner(config(data, **asked), tmp_path / "work", Quiet()).run(tmp_path / "out").figures
    assert len(services.asked) == before + 3
    assert (second[part][0]["errors"], second[part][0]["asked_again"]) == (0, 3)


def test_what_fails_every_time_counts_as_an_error_at_last_and_is_left_alone(tmp_path, data, services):
    services.failing = 10**6
    for _ in range(4):
        board = Telling()
        figures = Runner(config(data, within=1, systems=["dgrag"]), tmp_path / "work", board).run(tmp_path / "out").figures
    assert board.said == []
    assert len(services.asked) == 2 * 3
    assert figures["systems"][0]["errors"] == 2
    assert figures["systems"][0]["metrics"]["rouge_l_recall"]["mean"] == 0.0


def test_a_cloud_that_cannot_match_stops_the_run_with_the_next_step_and_it_goes_on(tmp_path, data, services):
    services.failing = 1
    with pytest.raises(BenchmarkError, match="503") as error:
        Runner(config(data, routing=True), tmp_path / "work", Quiet()).run(tmp_path / "out")
    assert "goes on" in error.value.next_step
    figures = Runner(config(data, routing=True), tmp_path / "work", Quiet()).run(tmp_path / "out").figures
    assert figures["routing"][0]["hit"]["n"] == 8


def test_a_run_on_other_code_begins_anew_and_says_so(tmp_path, data, services, monkeypatch):
    asked = config(data, within=1, systems=["dgrag"])
    Runner(asked, tmp_path / "work", Quiet()).run(tmp_path / "out")
    before, indexed = len(services.asked), len(services.added)
    monkeypatch.setattr(runner, "answering_code", lambda **_: "other-code")
    board = Telling()
    figures = Runner(asked, tmp_path / "work", board).run(tmp_path / "out").figures
    assert len(services.asked) == 2 * before
    assert len(services.added) == indexed  # what only reads has changed
    assert "routing, answers and retrieval start anew" in board.said[0]
    assert figures["run"]["code"]["answers"] == "other-code"
    for name in ("answering_code", "indexing_code"):
        monkeypatch.setattr(runner, name, lambda **_: "code-that-writes")
    Runner(asked, tmp_path / "work", Telling()).run(tmp_path / "out")
    assert len(services.added) == 2 * indexed


def test_rows_name_the_code_that_made_them(tmp_path, data, services):
    figures = Runner(config(data, within=1, systems=["dgrag"], routing=True), tmp_path / "work", Quiet()).run(tmp_path / "out").figures
    assert {code for part in ("systems", "routing") for row in figures[part] for code in row["code"]} == {"the-same-code"}
    assert {row["code"] for stage in ("answers", "routing") for row in noted(tmp_path / "work", stage)} == {"the-same-code"}


def test_a_document_of_two_domains_has_both_as_owners(tmp_path, data, services):
    shared = data / "harbour.jsonl"
    (data / "pier.jsonl").write_text(shared.read_text().replace('"_id": "', '"_id": "pier-'))
    Runner(config(data, routing=True), tmp_path / "work", Quiet()).run(tmp_path / "out")
    owners = {row["question_id"]: row["owners"] for row in noted(tmp_path / "work", "routing")}
    assert (owners["harbour00"], owners["pier-harbour00"], owners["orchard00"]) == (["harbour", "pier"], ["harbour", "pier"], ["orchard"])


def test_code_that_changes_under_a_run_is_told_in_its_result(tmp_path, data, services, monkeypatch):
    asked = Runner(config(data, within=1, systems=["dgrag"]), tmp_path / "work", Quiet())
    monkeypatch.setattr(runner, "answering_code", lambda **_: "other-code")
    assert asked.run(tmp_path / "out").figures["skipped"][0]["what"] == "one code for all rows"


def test_a_limit_bounds_askings_and_questions(tmp_path, data, services):
    limited = config(data, within=-1, systems=["dgrag"], routing=True).model_copy(update={"limit": 3})
    Runner(limited, tmp_path / "work", Quiet()).run(tmp_path / "out")
    kinds = Counter(path.rpartition("/")[2] for path, _ in services.asked)
    assert kinds == {"match": 6, "query": 3}  # three questions at two m


def test_a_system_may_be_asked_more_than_the_others_and_never_other_questions_instead(tmp_path, data, services):
    asked = config(data, within=1, systems=["dgrag", "local"], more={"dgrag": 1})
    rows = Runner(asked, tmp_path / "work", Quiet()).run(tmp_path / "out").file.with_suffix(".answers.jsonl").read_text().splitlines()
    by_system = {name: {row["question_id"] for row in map(json.loads, rows) if row["system"] == name} for name in ("dgrag", "local")}
    assert by_system["local"] < by_system["dgrag"]
    assert len(by_system["dgrag"]) == 2 * len(by_system["local"])


@pytest.mark.parametrize("units", [1, 3, 9, 14, 20])
def test_an_interrupted_run_goes_on_and_does_no_unit_twice(tmp_path, data, services, units):
    whole = Runner(config(data, **EVERYTHING), tmp_path / "whole", Quiet()).run(tmp_path / "out-1")
    before = Counter((path.rpartition("/")[2], body["question"]) for path, body in services.asked)
    services.asked.clear()
    with pytest.raises(KeyboardInterrupt):
        Runner(config(data, **EVERYTHING), tmp_path / "work", Quiet(units)).run(tmp_path / "out-2")
    assert not services.running
    assert not (tmp_path / "out-2").exists()
    resumed = Runner(config(data, **EVERYTHING), tmp_path / "work", Quiet()).run(tmp_path / "out-2")
    assert Counter((path.rpartition("/")[2], body["question"]) for path, body in services.asked) == before
    same = [
        [{key: value for key, value in row.items() if key != "ms"} for row in figures[part]]
        for figures in (whole.figures, resumed.figures)
        for part in ("routing", "tokens", "storage")
    ]
    assert same[:3] == same[3:]


def test_a_finished_run_starts_nothing_again(tmp_path, data, services):
    first = Runner(config(data, **EVERYTHING), tmp_path / "work", Quiet()).run(tmp_path / "out")
    starts, asked = len(services.starts), len(services.asked)
    second = Runner(config(data, **EVERYTHING), tmp_path / "work", Quiet()).run(tmp_path / "out")
    assert (len(services.starts), len(services.asked)) == (starts, asked)
    assert first.figures["systems"] == second.figures["systems"]
    assert [session["ended"] for session in second.figures["run"]["sessions"]] == [True, True]
    assert second.figures["run"]["seconds"] == pytest.approx(sum(one["seconds"] for one in second.figures["run"]["sessions"]))


OVERVIEWS = ["graphrag-c0", "graphrag-ts", "graphrag-ss", "graphrag-federated"]


def overviews(data):
    return config(data, within=1, systems=OVERVIEWS)


def test_an_answer_about_everything_is_opened_at_its_edge_and_its_bytes_are_a_share_of_the_corpus(tmp_path, data, services):
    """Four documents of 18 characters; 10 bytes came from the one site that answered."""
    figures = Runner(overviews(data), tmp_path / "work", Quiet()).run(tmp_path / "out").figures
    metrics = {row["system"]: row["metrics"] for row in figures["systems"]}
    assert metrics["graphrag-federated"]["bytes_of_corpus"]["mean"] == pytest.approx(10 / (4 * 18))
    assert metrics["graphrag-federated"]["reports"]["mean"] == 2
    assert {metrics[system]["opened"]["mean"] for system in OVERVIEWS if system != "graphrag-ss"} == {1.0}
    assert "opened" not in metrics["graphrag-ss"]
    assert "bytes_of_corpus" not in metrics["graphrag-c0"]  # nothing left its site
    assert set(services.opens) == {"/harbour/v1/documents/d1", "/harbour/v1/reports/r1"}
    assert {(row["coverage"], *row["faults"]) for row in figures["coverage"]} == {("harbour (2 of 5 reports)",)}
    levels = {body.get("level") for path, body in services.asked if path.endswith("/v1/query") and body["mode"] == "global"}
    assert levels == {0, "text", None}


def test_conditions_that_read_whole_levels_share_a_start(tmp_path, data, services):
    Runner(overviews(data), tmp_path / "work", Quiet()).run(tmp_path / "out")
    read = [environment.get("DGRAG_EDGE_GLOBAL_READ_TOKENS") for _, environment in services.starts]
    assert read.count("0") == 1


def test_another_run_on_the_same_split_uses_its_index_again(tmp_path, data, services):
    Runner(config(data, routing=True), tmp_path / "work", Quiet()).run(tmp_path / "out")
    added = len(services.added)
    result = Runner(config(data, within=1, systems=["dgrag"]), tmp_path / "work", Quiet()).run(tmp_path / "out")
    assert len(services.added) == added == 2
    assert {row["edge"] for row in result.figures["index"]} == {"harbour", "orchard"}
    assert {row["reused"] for row in result.figures["index"]} == {True}
    assert result.figures["run"]["index_seconds_before"] == result.figures["index"][0]["wall_seconds"]


def test_an_index_that_a_killed_start_has_begun_is_told_and_is_still_this_runs(tmp_path, data, services, monkeypatch):
    add = FakeFleet.add

    async def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(FakeFleet, "add", killed)
    with pytest.raises(KeyboardInterrupt):
        Runner(config(data, routing=True), tmp_path / "work", Quiet()).run(tmp_path / "out")
    monkeypatch.setattr(FakeFleet, "add", add)
    figures = Runner(config(data, routing=True), tmp_path / "work", Quiet()).run(tmp_path / "out").figures
    assert {(row["reused"], row["resumed"]) for row in figures["index"]} == {(False, True)}
    assert figures["run"]["index_seconds_before"] == 0
    whole = Runner(config(data, routing=True), tmp_path / "whole", Quiet()).run(tmp_path / "out").figures
    assert {(row["reused"], row["resumed"]) for row in whole["index"]} == {(False, False)}


def test_a_text_that_changes_and_keeps_its_length_is_indexed_anew(tmp_path, data, services):
    Runner(config(data, routing=True), tmp_path / "work", Quiet()).run(tmp_path / "out")
    added = len(services.added)
    file = data / "harbour.jsonl"
    file.write_text(file.read_text().replace("Text of", "Talk of"))
    Runner(config(data, routing=True).model_copy(update={"seed": 8}), tmp_path / "work", Quiet()).run(tmp_path / "out")
    assert len(services.added) == 2 * added


def test_an_index_with_a_models_words_belongs_to_that_model(tmp_path, data, services):
    def indexed(generator, summaries):
        changes = {"models": ModelsConfig(generator=generator), "environment": {"DGRAG_EDGE_SUMMARIES": summaries}}
        Runner(config(data, routing=True).model_copy(update=changes), tmp_path / "work", Quiet()).run(tmp_path / "out")
        return len(services.added)

    assert indexed("small", "extractive") == indexed("standard", "extractive")
    assert indexed("small", "model") < indexed("standard", "model")


def test_peers_that_break_off_leave_the_rows_that_are_there(tmp_path, monkeypatch):
    def broken(*_, journal, **__):
        journal.add("peers", "dgrag/index/1000", {"system": "dgrag", "step": "index", "size": 1000, "error": "slow"})
        raise BenchmarkError("no data", next_step="get it")

    monkeypatch.setattr(runner, "run_peers", broken)
    asked = RunConfig(name="trial", peers=PeersConfig(enabled=True))
    skipped = []
    with Journal(tmp_path / "journal.jsonl") as journal:
        rows = Runner(asked, tmp_path, Quiet())._peers(journal, skipped)
    assert [row["error"] for row in rows] == ["slow"]
    assert skipped == [{"what": "the rest of peers", "why": "no data: get it"}]


def test_the_models_of_a_result_are_those_that_ran(tmp_path, data, services):
    changes = {"models": ModelsConfig(generator="http://127.0.0.1:1/v1"), "environment": {"DGRAG_MODEL_EMBEDDER": "another"}}
    asked = config(data, routing=True).model_copy(update=changes)
    told = Runner(asked, tmp_path / "work", Quiet()).run(tmp_path / "out").figures["run"]
    assert told["models"] == {"generator": "http://127.0.0.1:1/v1", "embedder": "another", "served": "fake"}


def test_bytes_over_a_link_are_noted_for_each_edge_and_start(tmp_path):
    with Journal(tmp_path / "journal.jsonl") as journal:
        for passed in ({"up": 10, "down": 20}, {"up": 1, "down": 2}):
            runner.note_carried(journal, "domain-1", "harbour", passed)
        assert journal.rows("link") == [
            {"state": "domain-1", "edge": "harbour", "up": 10, "down": 20},
            {"state": "domain-1", "edge": "harbour", "up": 1, "down": 2},
        ]


def test_where_a_result_comes_from_is_in_it(tmp_path, data, services):
    told = Runner(config(data, routing=True), tmp_path / "work", Quiet()).run(tmp_path / "out").figures["run"]
    assert {
        "name",
        "config",
        "seed",
        "limit",
        "commit",
        "dirty",
        "started",
        "seconds",
        "machine",
        "models",
        "prompts",
        "version",
    } <= told.keys()
    assert told["config"]["split"][0]["name"] == "domain"


def test_data_that_is_missing_is_said_before_anything_starts(tmp_path, data, services):
    with pytest.raises(BenchmarkError, match="nothing"):
        Runner(config(data, files=["nothing.jsonl"], routing=True), tmp_path / "work", Quiet()).run(tmp_path / "out")
    assert services.starts == []


def test_a_config_is_calibrated_by_a_run_of_its_own(tmp_path, data, services, monkeypatch, capsys):
    seen = {"refusals": 0, "samples": 5, "sufficiency": 0.9, "threshold": 0.6, "nearness": 0.8, "min_nearness": -1.0}
    services.gate = {"decision": "local", "confidence": seen, "similarity": {"mean": 0.7}}
    file = tmp_path / "run.toml"
    split = 'name = "domain"\nkind = "domain"\nfiles = ["*.jsonl"]\nwithin = 1\nout = 1\nsystems = ["cloud"]\nmore = { cloud = 1 }'
    file.write_text(f'name = "trial"\n[data]\nroot = "{data}"\n[[split]]\n{split}')
    places = ["--work", tmp_path / "work", "--out", tmp_path / "out"]
    monkeypatch.setattr(sys, "argv", ["benchmarks", "calibrate", *map(str, [file, *places])])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert "AUC" in said
    assert "any mismatch" in said
    environment = services.starts[-1][1]
    assert environment["DGRAG_EDGE_MIN_NEARNESS"] == "-1"  # nothing stops before its scores are taken
    assert {path.rpartition("/")[2] for path, _ in services.asked} == {"match", "query"}
    assert [name for name, _ in services.starts if "central" in name] == []
    calibrated = {body["question"] for path, body in services.asked if path.endswith("/v1/query")}
    services.asked.clear()
    monkeypatch.setattr(sys, "argv", ["benchmarks", "run", *map(str, [file, *places])])
    with pytest.raises(SystemExit):
        main()
    reported = {body["question"] for path, body in services.asked if path.endswith("/v1/query")}
    assert len(calibrated) == len(reported) == 4
    assert not calibrated & reported


def test_a_run_that_asks_everything_leaves_nothing_to_calibrate_on(tmp_path, data, services):
    asked = config(data, within=-1, out=1, systems=["dgrag"]).calibrating()
    with pytest.raises(BenchmarkError, match="none are left to calibrate on"):
        Runner(asked, tmp_path / "work", Quiet()).run(tmp_path / "out")


def test_two_runs_do_not_work_in_one_folder(tmp_path):
    with locked(tmp_path), pytest.raises(BenchmarkError, match="another run works"), locked(tmp_path):
        pass


def test_a_spread_covers_the_whole():
    assert spread(range(10), 5) == [0, 2, 4, 6, 8]
    assert spread([], 3) == []


@pytest.mark.parametrize("required", [True, False])
def test_a_run_without_the_link_that_was_asked_for_stops_or_goes_on_and_says_so(tmp_path, monkeypatch, required):
    monkeypatch.setattr(runner, "unable", lambda: "there is no `ip`")
    config = RunConfig(name="linked", peers=PeersConfig(enabled=True), link=LinkConfig(mbit=5, required=required))
    with Journal(tmp_path / "journal.jsonl") as journal:
        if required:
            with pytest.raises(BenchmarkError, match=r"\[link\] cannot be had: there is no `ip`"):
                Runner(config, tmp_path, Quiet())._link(journal)
        else:
            assert Runner(config, tmp_path, Quiet())._link(journal) is None
            assert journal.rows("skipped") == [{"what": "links of 5 Mbit/s between edges and cloud", "why": "there is no `ip`"}]
