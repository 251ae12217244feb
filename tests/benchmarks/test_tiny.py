"""The whole way with real processes: services, model, embedder, spaCy; killed on the way, and gone on with."""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import orjson
import pytest

from shared.errors import FetchError
from shared.models.catalogue import model_named
from shared.models.fetch import located
from shared.models.settings import ModelSettings
from tests.support.models import no_model
from tests.support.waiting import eventually

pytestmark = [pytest.mark.process, pytest.mark.model, pytest.mark.long]
ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "benchmarks" / "configs" / "tiny.toml"
LIMIT_S = 900  # on a busy machine; alone it takes about a minute


def command(folder):
    places = ("--work", folder / "work", "--out", folder / "out", "--data", ROOT / "benchmarks" / "configs", "--limit", 1)
    return [sys.executable, "-m", "benchmarks", "run", str(CONFIG), *map(str, places)]


def units(folder):
    found = list((folder / "work").glob("tiny-*/journal.jsonl"))
    lines = found[0].read_bytes().splitlines(keepends=True) if found else []
    return [orjson.loads(line) for line in lines if line.endswith(b"\n")]


def killed_when(folder, enough):
    """Start the run, and kill it without a warning as soon as its journal says so."""
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command(folder), cwd=ROOT, stdout=log, stderr=log)
        reached = eventually(lambda: process.poll() is not None or enough(units(folder)), limit_s=LIMIT_S)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert reached
    assert process.returncode == -signal.SIGKILL, (folder / "log").read_text()


def members(folder):
    return [
        member["mark"]["pid"]
        for file in (folder / "work").glob("clusters/*/cluster.json")
        for member in orjson.loads(file.read_bytes())["members"]
        if member["mark"]
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    try:
        for name in ("small", "minilm"):
            located(model_named(name), ModelSettings().dir)
    except FetchError:
        no_model("the small model is not fetched: `dgrag model fetch small minilm`")
    folder = tmp_path_factory.mktemp("tiny")
    killed_when(folder, lambda done: any(unit["stage"] == "answers" for unit in done))
    left = members(folder)
    assert left  # the services outlive a kill that nobody could handle …
    done = subprocess.run(command(folder), cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    for pid in left:  # … and are stopped by the next run
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    (folder / "said").write_text(done.stdout)
    return folder


def test_no_unit_is_done_twice_though_the_run_was_killed(folder):
    done = Counter((unit["stage"], unit["key"]) for unit in units(folder))
    assert set(done.values()) == {1}
    assert Counter(stage for stage, _ in done)["start"] == 2


def test_each_part_of_the_result_has_its_figures(folder):
    figures = orjson.loads((folder / "out" / "tiny.json").read_bytes())
    assert {row["system"] for row in figures["systems"]} == {"dgrag", "local"}
    assert [row["errors"] for row in figures["systems"]] == [0] * len(figures["systems"])
    assert {(row["layout"], row["edge"]) for row in figures["index"]} == {
        ("edges", "harbour"),
        ("edges", "orchard"),
        ("edges", "observatory"),
        ("central", "central"),
    }
    assert sum(row["documents"] for row in figures["index"]) == 18
    assert figures["storage"][0]["ratio"] > 0
    assert figures["routing"][0]["m"] == 1
    assert figures["routing"][0]["hit"]["mean"] == 1.0  # one question, of a file unlike the others
    assert figures["retrieval"][0]["recall@5"]["mean"] == 1.0
    assert {row["against"] for row in figures["wins"]} == {"local"}
    assert figures["run"]["models"]["generator"] == "small"


def test_the_run_says_where_its_result_is(folder):
    assert "tiny.json" in (folder / "said").read_text()


def test_nothing_runs_any_more(folder):
    assert members(folder) == []


def test_the_result_becomes_a_page(folder):
    pytest.importorskip("matplotlib")
    words = [sys.executable, "-m", "benchmarks", "report", str(folder / "out" / "tiny.json"), "--out", str(folder / "page")]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    assert "harbour" in (folder / "page" / "index.html").read_text()
