import json
import os
import sys

import pytest

from benchmarks.__main__ import main
from benchmarks.report import PARTS

BARE = {key: [] for key in PARTS} | {"run": {"name": "paper"}}


def ended(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["benchmarks", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code


def run_file(tmp_path, text):
    file = tmp_path / "run.toml"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('name = "a"\n[[split]]\nname = "d"\nkind = "domain"\nfiles = ["x"]\nsystems = ["oracle"]', "there is no system 'oracle'"),
        ('name = "a"\n[[split]]\nname = "d"\nkind = "odd"\nfiles = ["x"]', "'domain', 'mixed', 'federated'"),
        ('name = "a"\n[data]\nroot = "DATA"\n[[split]]\nname = "d"\nkind = "federated"\nset = "multihop/none"\nrouting = true', "none"),
        ('name = "a"\n[data]\nroot = "DATA"\n[[split]]\nname = "d"\nkind = "domain"\nfiles = ["*.jsonl"]\nrouting = true', "*.jsonl"),
        ('name = "a"\n[data]\nroot = "DATA/away"\n[[split]]\nname = "d"\nkind = "domain"\nfiles = ["*.jsonl"]\nrouting = true', "away"),
    ],
)
def test_what_cannot_be_run_ends_with_one_and_a_clear_line(tmp_path, monkeypatch, capsys, text, told):
    file = run_file(tmp_path, text.replace("DATA", str(tmp_path)))
    assert ended(monkeypatch, "run", file, "--work", tmp_path / "work", "--out", tmp_path / "out") == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("error: ")
    assert told in lines[0]
    assert lines[1].startswith("  next: ")
    assert len(lines) == 2


def test_wrong_usage_ends_with_two(monkeypatch, capsys):
    assert ended(monkeypatch, "run") == 2
    assert ended(monkeypatch, "fly") == 2


def test_a_negative_seed_is_refused_before_the_file_is_read(tmp_path, monkeypatch, capsys):
    assert ended(monkeypatch, "run", tmp_path / "none.toml", "--seed", "-1") == 2
    assert "--seed" in capsys.readouterr().err


def test_a_result_without_answers_cannot_be_calibrated(tmp_path, monkeypatch, capsys):
    result = tmp_path / "paper.json"
    result.write_text(json.dumps(BARE))
    assert ended(monkeypatch, "calibrate", result) == 1
    assert "paper.answers.jsonl cannot be read" in capsys.readouterr().err


def test_what_is_no_result_cannot_be_calibrated(tmp_path, monkeypatch, capsys):
    (tmp_path / "paper.json").write_text("[]")
    assert ended(monkeypatch, "calibrate", tmp_path / "paper.json") == 1
    assert "is no result of a run" in capsys.readouterr().err


def answer(scenario, nearness, number):
    confidence = {"refusals": 0, "samples": 5, "sufficiency": 0.9, "threshold": 0.6, "nearness": nearness, "min_nearness": 0.45}
    gate = {"decision": "local", "reason": "", "confidence": confidence, "similarity": None, "samples": [], "selected": 0}
    named = {"split": "domain", "scenario": scenario, "system": "dgrag", "edge": "a", "question_id": f"{scenario}{number}", "question": "?"}
    said = {"references": ["x"], "answer": "x", "answered": True, "route": "local", "seconds": 1.0, "escalated": False, "gate": gate}
    return named | said | {"steps": [], "asked_edges": [], "error": ""}


def test_summary_matching_is_told_by_threshold_for_either_half(tmp_path, monkeypatch, capsys):
    figures = {"m": 1, "min_cosine": 0.4, "hit": 0.9, "any_mismatch": 0.125, "edges": 1.25, "questions": 8}
    rows = [{"split": "domain", "half": half, **figures} for half in (0, 1)]
    (tmp_path / "paper.json").write_text(json.dumps(BARE | {"matching": rows}))
    (tmp_path / "paper.answers.jsonl").write_text("".join(json.dumps(answer(kind, 0.5, 1)) + "\n" for kind in ("within", "out")))
    assert ended(monkeypatch, "calibrate", tmp_path / "paper.json") == 0
    said = capsys.readouterr().out
    assert "split domain, every other question, to choose on" in said
    assert "split domain, the other half, to check on" in said
    assert said.count("12.5%") == 2


def test_a_result_with_answers_is_calibrated_from_the_file_beside_it(tmp_path, monkeypatch, capsys):
    rows = [answer("within", 0.8 + number / 100, number) for number in range(4)]
    rows += [answer("out", 0.1 + number / 100, number) for number in range(4)]
    (tmp_path / "paper.json").write_text(json.dumps(BARE))
    (tmp_path / "paper.answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert ended(monkeypatch, "calibrate", tmp_path / "paper.json") == 0
    said = capsys.readouterr().out
    assert "The gate by threshold, split domain:" in said
    assert "AUC" in said


def test_settings_of_the_shell_are_dropped_before_anything_reads_them(tmp_path, monkeypatch):
    monkeypatch.setenv("DGRAG_MODEL_EMBEDDER", "another")
    monkeypatch.setenv("DGRAG_MODEL_DIR", str(tmp_path))
    assert ended(monkeypatch, "run", tmp_path / "none.toml") == 1
    assert "DGRAG_MODEL_EMBEDDER" not in os.environ
    assert os.environ["DGRAG_MODEL_DIR"] == str(tmp_path)


def test_answers_are_scored_anew_and_by_bertscore_whose_model_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        "benchmarks.metrics.bertscore.bertscore", lambda model: lambda answers, references: [float(len(x)) for x in answers]
    )
    file = tmp_path / "paper.json"
    file.write_text(json.dumps(BARE | {"skipped": [{"what": "a link", "why": "no root"}]}))
    rows = [
        answer("within", 0.8, n) | {"references": ["no"], "answer": "No, they support no statement.", "answered": n > 0} for n in (0, 1)
    ]
    file.with_suffix(".answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert ended(monkeypatch, "score", file) == 0
    assert "bertscore_recall" not in json.loads(file.read_text())["systems"][0]["metrics"]
    assert ended(monkeypatch, "score", file, "--bertscore", "models/encoder") == 0
    found = json.loads(file.read_text())
    metrics = found["systems"][0]["metrics"]
    assert (metrics["accuracy"]["mean"], metrics["bertscore_recall"]["mean"]) == (0.5, 15.0)  # a refusal is no answer, whatever its words
    assert (found["run"]["bertscore"], found["skipped"]) == ("models/encoder", [{"what": "a link", "why": "no root"}])
    assert [json.loads(line)["bertscore_recall"] for line in file.with_suffix(".answers.jsonl").read_text().splitlines()] == [0.0, 30.0]


def looked_at(number):
    memory = {"kind": "template", "score": 0.9, "threshold": 0.0, "answer": "x", "why_not": "", "question": "?"}
    return answer("within", 0.5, number) | {"system": "fdrag-slow", "gate": None, "memory": memory}


def test_thresholds_of_memories_are_chosen_from_the_answers_of_all_the_results(tmp_path, monkeypatch, capsys):
    for name, numbers in (("a", range(30)), ("b", range(30, 60))):
        (tmp_path / f"{name}.answers.jsonl").write_text("".join(json.dumps(looked_at(number)) + "\n" for number in numbers))
    assert ended(monkeypatch, "memory", tmp_path / "a.json", tmp_path / "b.json") == 0
    said = capsys.readouterr().out
    assert "60 questions" in said
    assert "DGRAG_EDGE_MEMORY_THRESHOLD=template=0.9\n" in said


def test_a_result_at_whose_questions_no_memory_was_looked_says_what_to_run(tmp_path, monkeypatch, capsys):
    (tmp_path / "a.answers.jsonl").write_text(json.dumps(answer("within", 0.5, 1)) + "\n")
    assert ended(monkeypatch, "memory", tmp_path / "a.json") == 1
    assert "next: run fdrag-slow" in capsys.readouterr().err
