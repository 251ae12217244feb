from pathlib import Path
from typing import get_args

import orjson
import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.journal import Journal
from benchmarks.peers import run
from benchmarks.peers.corpus import write
from benchmarks.peers.driver import ADAPTERS
from benchmarks.peers.run import PeersConfig, SystemName, figures, run_peers, units

PASSAGE = "Osric Vale{n} leads Harrow Mill{n}. Harrow Mill{n} grinds corn for Ann Lister. The mill is old and nobody else inspects it."
SMALL = {"sizes": [1000], "files": ["corpus.jsonl"], "questions": "questions.jsonl", "quality": "", "queries": 2, "new_tokens": 100}


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    (folder / "set").mkdir(parents=True)
    rows = [{"doc_id": f"d{n}", "title": "", "text": PASSAGE.format(n=chr(97 + n % 26) + chr(97 + n // 26))} for n in range(60)]
    rows = [{"doc_id": f"d{n}", "title": "", "text": PASSAGE.format(n=chr(97 + n % 26) + chr(97 + n // 26))} for n in range(60)]
    write(folder / "corpus.jsonl", rows)
    write(folder / "set" / "corpus.jsonl", rows[:9])
    asked = {"answers": ["corn"], "gold_doc_ids": ["d1"]}
    questions = [{"id": f"q{n}", "question": "Who leads Harrow Mill?"} | asked for n in range(5)]
    write(folder / "questions.jsonl", questions)
    write(folder / "set" / "questions.jsonl", questions[:1])
    return folder


def peers(config, data, tmp_path, told=lambda *_: None):
    with Journal(tmp_path / "journal.jsonl") as journal:
        return run_peers(PeersConfig(**config), data=data, work=tmp_path / "work", journal=journal, progress=told)


def test_every_system_has_an_adapter_and_runs_by_default():
    assert get_args(SystemName) == PeersConfig().systems == tuple(ADAPTERS)


def test_what_one_system_does_at_one_size_stands_together():
    config = PeersConfig(systems=("dgrag", "lightrag"), sizes=(1000, 2000))
    assert [unit.key for unit in units(config)][:4] == ["dgrag/index/1000", "dgrag/use/1000", "lightrag/index/1000", "lightrag/use/1000"]
    assert [unit.key for unit in units(config)][-2:] == ["dgrag/quality/0", "lightrag/quality/0"]


def test_real_vectors_are_made_anew_where_their_cost_is_measured():
    """From a cache, the second system would get its vectors for nothing."""
    cost, quality = units(PeersConfig(sizes=(1000,), systems=("dgrag",)))[::2]
    assert (cost.models(PeersConfig()), cost.models(PeersConfig(embedder="real"))) == ("instant", "embedding")
    assert quality.models(PeersConfig(embedder="real")) == "real"


def test_our_edge_with_its_own_spacy_is_measured_for_cost_only():
    keys = [unit.key for unit in units(PeersConfig(systems=("dgrag", "dgrag-spacy"), sizes=(1000,)))]
    assert keys == ["dgrag/index/1000", "dgrag/use/1000", "dgrag-spacy/index/1000", "dgrag-spacy/use/1000", "dgrag/quality/0"]


def test_the_clients_time_is_taken_from_every_meter():
    row = figures(
        {
            "cpu_s": 1.0,
            "client_cpu_s": 0.25,
            "add_cpu_s": 0.5,
            "add_client_cpu_s": 0.5,
            "ask_s": [[0.003, 0.001, 0.02], [0.005, 0.001, 0.03]],
        }
    )
    assert (row["own_cpu_s"], row["add_own_cpu_s"], row["ask_own_cpu_p50_ms"], row["ask_client_cpu_p50_ms"]) == (0.75, 0.0, 3.0, 1.0)
    assert row["ask_wall_p50_ms"] == 25.0
    assert "ask_s" not in row


@pytest.mark.model
def test_our_edge_is_driven_through_cost_and_quality_and_never_twice(data, tmp_path, monkeypatch):
    config = SMALL | {"systems": ["dgrag"], "quality": "set", "budgets": [500]}
    told: list[tuple[str, int, int]] = []
    rows = peers(config, data, tmp_path, lambda *said: told.append(said))
    index, use, quality = rows[:3]
    assert index["calls"]["extract"] == index["documents"]  # one chunk each
    assert index["entities"] >= 3
    assert index["prompt_tokens"]["extract"] > index["tokens"]
    assert 0 < index["own_cpu_s"] < index["cpu_s"]
    assert use["ask_texts_embedded"] >= 2  # one question at least
    assert use["add_calls"]["extract"] == 1
    assert use["context_chars"] > 100
    assert quality["quality"][0]["coverage"] == quality["quality"][0]["gold_recall"] == 1.0
    assert quality["calls"] == {}  # the product's default asks no model while it indexes
    assert {row["goal"] for row in rows[3:]} == {"indexing", "one more document", "calls", "tokens", "retrieval"}
    assert told[-1] == ("peers", 3, 3)
    monkeypatch.setattr(run, "model_server", None)  # a second run needs none
    assert peers(config, data, tmp_path)[:3] == rows[:3]


def test_a_system_that_fails_has_a_row_that_says_so_and_the_others_go_on(data, tmp_path, monkeypatch):
    class Failed:
        returncode, stdout = 1, b""

    monkeypatch.setattr(run, "build_tokenizer", lambda _: run_tokenizer())
    monkeypatch.setattr(run.subprocess, "run", lambda *_, **__: Failed)
    monkeypatch.setattr(run, "model_server", served)
    rows = peers(SMALL | {"systems": ["dgrag"]}, data, tmp_path)
    assert [(row["step"], row["error"].partition(";")[0]) for row in rows] == [
        ("index", "ended with status 1"),
        ("use", "its index could not be made"),  # and one that an earlier run has left is not taken for it
    ]
    assert not list((tmp_path / "work").glob("*/dgrag-used"))


def test_a_peer_that_cannot_be_installed_has_rows_that_say_so_and_the_others_go_on(data, tmp_path, monkeypatch):
    class Done:
        returncode, stdout = 0, b'{"entities": 1}\n'

    def python_of(system, work):
        if system == "lightrag":
            raise BenchmarkError("the packages of lightrag could not be had: no index", next_step="see that pip reaches one")
        return Path("python")

    monkeypatch.setattr(run, "build_tokenizer", lambda _: run_tokenizer())
    monkeypatch.setattr(run, "python_of", python_of)
    monkeypatch.setattr(run, "environment", lambda *_: {})
    monkeypatch.setattr(run, "goal_rows", lambda rows: [])
    monkeypatch.setattr(run.subprocess, "run", lambda *_, **__: Done)
    monkeypatch.setattr(run, "model_server", served)
    rows = peers(SMALL | {"systems": ["lightrag", "dgrag"]}, data, tmp_path)
    assert [(row["system"], row["step"], row.get("error", "").partition(" could")[0]) for row in rows] == [
        ("lightrag", "index", "the packages of lightrag"),
        ("lightrag", "use", "its index"),
        ("dgrag", "index", ""),
        ("dgrag", "use", ""),
    ]


def test_a_step_that_failed_is_tried_once_more_by_the_next_start(data, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "build_tokenizer", lambda _: run_tokenizer())
    monkeypatch.setattr(run, "model_server", served)
    tried = []

    def measure(self, unit, url):
        tried.append(unit.key)
        return {"system": unit.system, "step": unit.step, "size": unit.size, "error": "took more than 1800 s"}

    monkeypatch.setattr(run._Bench, "measure", measure)
    for _ in range(4):
        peers(SMALL | {"systems": ["dgrag"]}, data, tmp_path)
    assert tried == ["dgrag/index/1000", "dgrag/use/1000"] * 2


def test_each_journal_has_its_indexes_in_a_folder_of_its_own(data, tmp_path, monkeypatch):
    class Failed:
        returncode, stdout = 1, b""

    monkeypatch.setattr(run, "build_tokenizer", lambda _: run_tokenizer())
    monkeypatch.setattr(run.subprocess, "run", lambda *_, **__: Failed)
    monkeypatch.setattr(run, "model_server", served)
    for name in ("first", "second"):
        with Journal(tmp_path / name / "journal.jsonl") as journal:
            run_peers(
                PeersConfig(**SMALL | {"systems": ["dgrag"]}), data=data, work=tmp_path / "work", journal=journal, progress=lambda *_: 0
            )
    assert sorted(folder.parent.name for folder in (tmp_path / "work").glob("*/dgrag-1000")) == ["first", "second"]


def run_tokenizer():
    from shared.models.fake import WordTokenizer

    return WordTokenizer()


class served:  # noqa: N801 - stands for a function
    def __init__(self, *_):
        pass

    def __enter__(self):
        return "http://127.0.0.1:1"

    def __exit__(self, *_):
        pass


@pytest.mark.long
@pytest.mark.model
def test_our_edge_with_its_own_spacy_finds_the_entities_in_its_own_process(data, tmp_path):
    shared, own = (row for row in peers(SMALL | {"systems": ["dgrag", "dgrag-spacy"]}, data, tmp_path) if row["step"] == "index")
    assert own["entities"] >= 3
    assert own["own_cpu_s"] > shared["own_cpu_s"]  # a language is read there, and nothing is here


def test_contexts_of_chunks_alone_are_judged_apart(data, tmp_path, monkeypatch):
    class Done:
        returncode, stdout = 0, b'{"entities": 1}\n'

    def drive(command, **_):
        contexts = Path(command[command.index("--contexts") + 1])
        lines = [{"id": "q0", "budget": 500, "chunks_alone": alone, "context": text} for alone, text in ((False, "rye"), (True, "corn"))]
        write(contexts, lines)
        return Done

    monkeypatch.setattr(run, "build_tokenizer", lambda _: run_tokenizer())
    monkeypatch.setattr(run.subprocess, "run", drive)
    monkeypatch.setattr(run, "model_server", served)
    (row,) = peers(SMALL | {"systems": ["dgrag"], "sizes": [], "quality": "set", "budgets": [500]}, data, tmp_path)
    assert [(one["chunks_alone"], one["coverage"]) for one in row["quality"]] == [(False, 0.0), (True, 1.0)]


@pytest.mark.long
@pytest.mark.model
@pytest.mark.data
def test_the_real_peers_index_answer_and_take_one_more_document(data_folder, tmp_path):
    """Makes all virtual environments: needs pip's package index."""
    rows = peers({"sizes": [20_000], "queries": 3, "quality": ""}, data_folder, tmp_path)
    found = {(row["system"], row["step"]): row for row in rows if row["step"] != "goal"}
    assert [row for row in rows if "error" in row] == []
    for system in ("dgrag", "lightrag", "nano-graphrag", "fast-graphrag"):
        assert found[system, "index"]["entities"] > 100
        assert found[system, "index"]["calls"]["extract"] >= 20
        assert found[system, "use"]["context_chars"] > 1000
        assert found[system, "use"]["add_calls"]["extract"] >= 3
    assert found["nano-graphrag", "index"]["calls"]["report"] > 0
    assert orjson.dumps(rows)
