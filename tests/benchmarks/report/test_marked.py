import json
from pathlib import Path

import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.report.marked import filled, remade

ROOT = Path(__file__).parents[3]
STORAGE = "<!-- made of {}: storage -->\n| by | hand |\n<!-- until here -->\n"


def test_no_figure_in_a_marked_table_of_the_results_is_written_by_hand():
    text = (ROOT / "docs" / "results.md").read_text()
    assert text.count("<!-- made of ") > 5
    assert remade(text, ROOT) == text


@pytest.fixture
def result(tmp_path):
    """A result whose ratio no shipped one has."""
    known = json.loads((ROOT / "benchmarks" / "results" / "paper.json").read_text())
    known["storage"][0]["ratio"] = 250.0
    (tmp_path / "paper.json").write_text(json.dumps(known))
    return known


def test_a_table_is_made_of_the_newer_result_and_names_it(tmp_path, result):
    text = filled(STORAGE.format("benchmarks/results/paper.json"), tmp_path)
    assert f"made of {tmp_path}/paper.json: storage" in text
    assert "250 ×" in text
    assert f"commit {result['run']['commit'][:7]}" in text
    assert "by | hand" not in text


def test_a_table_of_a_run_that_the_folder_lacks_stays_made_of_what_it_was(tmp_path, monkeypatch, result):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    text = filled(STORAGE.format("paper.json"), Path("empty"))
    assert "made of paper.json" in text
    assert "250 ×" in text


def test_a_table_that_a_result_has_not_is_said():
    with pytest.raises(BenchmarkError, match=r"paper\.json has no table 'levels'"):
        remade("<!-- made of benchmarks/results/paper.json: levels -->\n<!-- until here -->", ROOT)
