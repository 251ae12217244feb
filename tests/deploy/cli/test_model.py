"""``dgrag model`` as typed."""

import json
import sys
from typing import NamedTuple

import pytest

from deploy.cli import model
from deploy.cli.main import run as run_command
from shared.models.catalogue import catalogue, model_named
from shared.models.serve import ServeOptions, parse


class Result(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("DGRAG_MODEL_DIR", str(tmp_path))

    def invoke(*words):
        with pytest.raises(SystemExit) as caught:
            run_command(["model", *words])
        return Result(int(caught.value.code or 0), *capsys.readouterr())

    return invoke


@pytest.fixture
def everything_is_there(monkeypatch):
    asked = []

    def fetch(wanted, models_dir, progress, *, sources):
        asked.append((wanted.name, models_dir, sources.given))
        progress("file", "done", 1, 1)
        return models_dir / wanted.name

    monkeypatch.setattr(model, "fetch_model", fetch)
    monkeypatch.setattr(model, "located", lambda wanted, models_dir: models_dir / wanted.name)
    return asked


def test_without_names_the_defaults_are_fetched(run, everything_is_there, tmp_path):
    result = run("fetch", "--json")
    assert json.loads(result.stdout) == {name: str(tmp_path / name) for name in ("standard", "minilm")}


def test_names_folder_and_file_are_passed_on(run, everything_is_there, tmp_path):
    (tmp_path / "w.gguf").touch()
    assert run("fetch", "smoke", "--dir", str(tmp_path / "d"), "--from", str(tmp_path / "w.gguf")).exit_code == 0
    assert everything_is_there == [("smoke", tmp_path / "d", tmp_path / "w.gguf")]


def test_an_unknown_name_ends_with_one_line_and_status_one(run):
    result = run("fetch", "huge")
    assert result.exit_code == 1
    assert "dgrag: there is no model 'huge' to fetch (choose one of standard, small, smoke, minilm, use-multilingual)" in result.stderr


def test_a_path_that_does_not_exist_is_refused(run):
    assert run("fetch", "--from", "nowhere.gguf").exit_code == 2


def test_the_list_tells_which_models_are_there(run, tmp_path):
    listed = json.loads(run("list", "--json").stdout)
    assert listed["dir"] == str(tmp_path)
    assert [(row["name"], row["fetched"]) for row in listed["models"]] == [(name, False) for name in catalogue()]


def test_the_list_is_a_line_a_model(run, everything_is_there):
    lines = run("list").stdout.splitlines()
    assert lines[0].split()[:4] == ["standard", "fetched", "1117", "MB"]
    assert len(lines) == len(catalogue()) + 1


def test_serving_replaces_the_process_by_the_server(run, everything_is_there, monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(model.os, "execv", lambda path, words: seen.append((path, words)))
    assert run("serve", "small", "--port", "8091").exit_code == 0
    path, words = seen[0]
    assert (path, words[0]) == (sys.executable, sys.executable)
    assert words[words.index("--model") + 1] == str(tmp_path / "small" / model_named("small").files[0].name)
    assert words[words.index("--port") + 1] == "8091"


def test_what_no_option_gives_is_the_servers_own_default(run, everything_is_there, monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(model.os, "execv", lambda path, words: seen.append(words))
    run("serve", "small")
    weights = tmp_path / "small" / model_named("small").files[0].name
    assert parse(seen[0][4:]) == ServeOptions(weights, "small")


def test_a_model_that_is_not_fetched_cannot_be_served(run):
    for name, steps in (("small", 1), ("standard", 2)):
        result = run("serve", name)
        told = " ".join(result.stderr.split())
        assert (result.exit_code, f"dgrag model fetch {name}" in told, told.count("`dgrag ")) == (1, True, steps)
    assert "`dgrag up --model small`" in told


def test_an_embedder_is_not_served(run, everything_is_there):
    result = run("serve", "minilm")
    assert (result.exit_code, "nodes run it by themselves" in result.stderr) == (1, True)
