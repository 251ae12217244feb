import json
import sys
from datetime import UTC, datetime
from itertools import groupby

import pytest

from benchmarks import evidence
from benchmarks.__main__ import main
from benchmarks.errors import BenchmarkError
from benchmarks.evidence import CONFIGS, DONE, ORDER, RECORD, Given, chosen, folder_of, indexed, made, planned

TODAY = datetime(2026, 11, 26, tzinfo=UTC)


def now():
    return TODAY


def test_each_shipped_configuration_is_run_but_the_tiny_ones():
    shipped = {file.stem for file in CONFIGS.glob("*.toml")} - {"descriptions"}
    assert set(ORDER) == {name for name in shipped if not name.startswith("tiny")}


def test_configurations_that_share_an_index_stand_one_after_another():
    first = [indexed(config, config.split[0]) if config.split else config.name for config in chosen(())]
    groups = [key for key, _ in groupby(first)]
    assert len(groups) == len(set(groups)) < len(first)


def test_a_killed_command_runs_what_is_left_in_the_same_folder(tmp_path):
    configs, ran = chosen(["tiny", "masked"]), []

    def killed_at_tiny(config):
        if config.name == "tiny":
            raise KeyboardInterrupt
        ran.append(config.name)

    folder = folder_of(tmp_path, TODAY, Given(1))
    with pytest.raises(KeyboardInterrupt):
        made(configs, folder, killed_at_tiny, Given(1), now=now)
    assert folder_of(tmp_path, TODAY, Given(1)) == folder
    made(configs, folder, lambda config: ran.append(config.name), Given(1), now=now)
    assert ran == ["masked", "tiny"]
    assert folder_of(tmp_path, TODAY, Given(0)) != folder  # other questions are other evidence


def test_other_code_begins_a_new_folder(tmp_path, monkeypatch):
    folder = folder_of(tmp_path, TODAY, Given(0))
    made(chosen(["tiny"]), folder, lambda config: None, Given(0), now=now)
    monkeypatch.setattr(evidence, "answering_code", lambda *, peers: "another")
    assert folder_of(tmp_path, TODAY, Given(0)) != folder


def test_one_that_fails_is_noted_and_tried_again_and_the_others_run(tmp_path):
    def run(config):
        if config.name == "link":
            raise BenchmarkError("no root", next_step="be root")

    configs = chosen(())
    record = made(configs, tmp_path / "a", run, Given(0), now=now)
    assert record["runs"]["link"] == "failed: no root"
    assert [name for name, outcome in record["runs"].items() if outcome == DONE] == [name for name in ORDER if name != "link"]
    assert not record["ended"]
    assert made(configs, tmp_path / "a", lambda config: None, Given(0), now=now)["ended"] == "2026-11-26T00:00:00+00:00"
    told = json.loads((tmp_path / "a" / RECORD).read_text())
    assert {"cpu", "cores", "memory_gb", "python"} <= told["machine"].keys()
    assert told["models"]["standard"]
    assert told["libraries"]["numpy"]
    assert told["code"]["commit"]


def test_hours_are_of_the_newest_result_and_an_index_counts_where_it_is_made(tmp_path):
    def result(name, folder, **run):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / f"{name}.json").write_text(json.dumps({"run": run | {"limit": 0}}))

    result("paper", "", seconds=36_000, index_seconds_before=0)
    result("paper", "2026-11-26-abcdefg", seconds=3_600, index_seconds_before=1_800)
    result("ablations", "", seconds=1_800, index_seconds_before=1_200)
    paper, ablations, mixed = planned(chosen(["paper", "ablations", "mixed"]), tmp_path)
    assert (paper.hours, paper.shares) == (1.5, "")
    assert (ablations.hours, ablations.shares) == (0.5, "paper")
    assert (mixed.hours, mixed.shares) == (None, "")


@pytest.mark.parametrize(("words", "code", "told"), [(["--list"], 0, "together"), (["--only", "oracle"], 1, "oracle")])
def test_the_list_runs_nothing_and_an_unknown_name_is_said(tmp_path, monkeypatch, capsys, words, code, told):
    monkeypatch.setattr(sys, "argv", ["benchmarks", "all", *words, "--out", str(tmp_path), "--work", str(tmp_path / "work")])
    with pytest.raises(SystemExit) as end:
        main()
    said = capsys.readouterr()
    assert (end.value.code, told in said.out + said.err) == (code, True)
    assert not list(tmp_path.iterdir())
