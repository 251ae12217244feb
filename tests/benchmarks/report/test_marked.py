import json
import re
from pathlib import Path

import pytest

from benchmarks.__main__ import tables
from benchmarks.errors import BenchmarkError
from benchmarks.report.marked import drawn, filled, remade
from benchmarks.report.papers import HEADLINES

ROOT = Path(__file__).parents[3]
PLOTS = ROOT / "docs" / "plots"
MOST_BYTES = 60_000
PLOT = "<!-- drawn of benchmarks/results/subgraphs.json benchmarks/results/paper.json: {} -->"
STORAGE = "<!-- made of {}: storage -->\n| by | hand |\n<!-- until here -->\n"


def test_no_figure_in_a_marked_table_of_the_results_is_written_by_hand():
    text = (ROOT / "docs" / "results.md").read_text()
    assert text.count("<!-- made of ") > 5
    assert remade(text, ROOT) == text


def _shape(svg):
    """A plot to a hundredth of a point, without the names that its library makes of coordinates: their last bits are the processor's."""
    return re.sub(rb"\d+\.\d+", lambda found: b"%.2f" % float(found[0]), re.sub(rb"(?<=[\"#])[mp][0-9a-f]{10}", b"", svg))


def test_each_headline_plot_stands_in_the_results_and_is_what_they_draw():
    text = (ROOT / "docs" / "results.md").read_text()
    made = drawn(text, ROOT)
    assert made.keys() == HEADLINES.keys() == {path.stem for path in PLOTS.iterdir()}
    committed = {name: (PLOTS / f"{name}.svg").read_bytes() for name in made}
    assert [name for name, svg in made.items() if _shape(svg) != _shape(committed[name])] == []  # else `python -m benchmarks tables`
    assert [name for name in made if f"](plots/{name}.svg)" not in text] == []
    assert [name for name, svg in made.items() if len(svg) > MOST_BYTES] == []


def test_a_plot_of_several_results_is_drawn_of_those_of_them_that_are_newer(tmp_path, result):
    assert f"drawn of benchmarks/results/subgraphs.json {tmp_path}/paper.json: two" in filled(PLOT.format("two"), tmp_path)


def test_the_command_writes_the_plots_beside_the_text(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"<!-- drawn of {ROOT}/benchmarks/results/levels.json: graphrag-levels -->")
    tables(tmp_path, page)
    written = (tmp_path / "plots" / "graphrag-levels.svg").read_bytes()
    assert _shape(written) == _shape((PLOTS / "graphrag-levels.svg").read_bytes())


def test_a_plot_that_nobody_draws_is_said():
    with pytest.raises(BenchmarkError, match="there is no plot 'two'"):
        drawn(PLOT.format("two"), ROOT)


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
