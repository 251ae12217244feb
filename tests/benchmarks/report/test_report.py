import re
from dataclasses import asdict
from html.parser import HTMLParser

import orjson
import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.records import AnswerRow
from benchmarks.report import PARTS, chapter, compare, headlines, load, report
from benchmarks.report.page import facts
from benchmarks.summary import summarise

VOID = {"meta", "img", "br"}


class Balanced(HTMLParser):
    """Fails where a tag is closed that is not the open one."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def sections(result):
    return chapter(result).sections


@pytest.fixture(scope="module")
def written(result, journal, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    (folder / "invented.json").write_bytes(orjson.dumps(result))
    (folder / "invented.answers.jsonl").write_bytes(b"\n".join(map(orjson.dumps, journal["answers"])))
    report([folder / "invented.json"], folder / "out")
    return folder


def only(result, **parts):
    """The result with no other parts than these."""
    return {part: [] for part in result} | parts


def test_every_part_of_the_run_has_its_section(sections):
    empty = [section.title for section in sections if not (section.tables or section.figures)]
    levels = "Reports of the model on each level (GraphRAG §3.6, Table 3)"
    others = [levels, "Memory before models (FD-RAG §5)", "Thresholds of the fast path (FD-RAG §5.3)"]
    assert empty == ["Thresholds (DGRAG Fig. 11)", "Answers about everything (GraphRAG §2.6)", *others]


def test_the_page_is_whole_and_asks_nobody_for_anything(written):
    html = (written / "out" / "index.html").read_text(encoding="utf-8")
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    assert not re.search(r"(?:src|href)=\"(?!data:|#)", html)
    assert "<script" not in html
    assert "$" not in re.sub(r"base64,[^\"]*", "", html)


def test_each_link_of_the_contents_leads_somewhere(written):
    html = (written / "out" / "index.html").read_text(encoding="utf-8")
    assert set(re.findall(r'href="#([^"]+)"', html)) == set(re.findall(r'<h3 id="([^"]+)"', html))


def test_each_table_is_a_csv_and_each_figure_an_svg_named_after_the_run(written, sections):
    wanted = {f"{table.name}.csv" for part in sections for table in part.tables} | {
        f"{figure.name}.svg" for part in sections for figure in part.figures
    }
    assert {path.name for path in (written / "out").iterdir()} == wanted | {"index.html"}
    assert all(name.startswith("invented-") for name in wanted)


def test_names_of_files_are_names_of_one_table_each(sections):
    names = [table.name for section in sections for table in section.tables]
    assert len(set(names)) == len(names)


def test_the_papers_figures_stand_beside_ours(sections):
    tables = {table.name: table for section in sections for table in section.tables}
    assert 0.708 in tables["invented-escalation"].rows[1]
    assert 117.0 in tables["invented-storage"].rows[0]
    assert 0.39 in next(row for row in tables["invented-tokens"].rows if row[1:3] == ("all", "dgrag"))
    assert 0.688 in next(row for row in tables["invented-wins-domain-within"].rows if row[0] == "dgrag vs. naive")
    assert ("BM25 (floor)", "", 0.592, 0.768, 0.9, 0.656, 0.936) in [row[:7] for row in tables["invented-retrieval-hotpotqa"].rows]


@pytest.mark.parametrize("part", [{"documents": 200}, {"asked": 60}, {"among": ["multihop/musique"]}, {"limit": 15}])
def test_the_floors_of_a_whole_set_do_not_stand_beside_a_part_of_it(result, part):
    split = {"name": "hotpotqa", "set": "multihop/hotpotqa"}
    for more, floors in (({}, 3), (part, 0)):
        run = result["run"] | {"config": {"split": [split | more]}, "limit": more.get("limit", 0)}
        tables = {table.name: table for section in chapter(result | {"run": run}).sections for table in section.tables}
        assert sum("(floor)" in str(row[0]) for row in tables["invented-retrieval-hotpotqa"].rows) == floors


def test_calls_of_a_peer_are_added_up_and_one_that_failed_is_named(sections):
    tables = {table.name: table for section in sections for table in section.tables}
    assert tables["invented-peers-index"].rows[0][:5] == ("dgrag", 100_000, 101_962, 0.44, 99)
    covered = [(*row[:3], row[3].mean, row[3].n) for row in tables["invented-peers-quality"].rows]
    assert covered == [("dgrag", "hotpotqa", 1000, 0.8, 60), ("lightrag, chunks alone", "hotpotqa", 1000, 0.7, 60)]
    assert tables["invented-peers-failed"].rows == (("nano-graphrag", "index", 100_000, "took more than 600 s"),)


def test_what_passed_over_a_link_is_counted_and_a_transfer_that_was_timed_is_not_drawn_twice(sections, result):
    tables = {table.name: table for section in sections for table in section.tables}
    assert ("domain-1", "harbour", 4_000_000, 9_000) in tables["invented-links"].rows
    (found,) = [section for section in sections if section.title.startswith("Time by component")]
    assert "5 Mbit/s with 15 ms each way" in found.text
    assert "measured with its transfers" in found.text
    without = result | {"run": {name: value for name, value in result["run"].items() if name != "link"}}
    (computed,) = [section for section in chapter(without).sections if section.title.startswith("Time by component")]
    assert "50 Mbit/s, the paper's link: computed, not measured" in computed.text
    assert computed.figures[0].svg != found.figures[0].svg


def test_seconds_of_questions_that_were_asked_side_by_side_are_not_shown(result):
    together = result | {"run": result["run"] | {"config": result["run"]["config"] | {"at_once": 4}}}
    ours, theirs = ({table.name: table.columns for part in chapter(one).sections for table in part.tables} for one in (result, together))
    gone = {(name, column.title) for name, columns in ours.items() for column in columns if column not in theirs.get(name, columns)}
    assert gone == {("invented-costs-domain", "seconds a question"), ("invented-routing", "time"), ("invented-retrieval-hotpotqa", "time")}
    assert ours.keys() - theirs.keys() == {"invented-components"}
    assert "not shown" in dict(facts(together["run"]))["seconds of questions"]


def test_an_index_of_an_earlier_run_is_told_and_its_time_stands_beside_the_runs(sections, written):
    tables = {table.name: table for section in sections for table in section.tables}
    assert {row[-1] for row in tables["invented-index"].rows} == {"by an earlier run"}
    html = (written / "out" / "index.html").read_text(encoding="utf-8")
    assert "took 34 min + 20 min for an index that an earlier run has made" in html


def test_headlines_are_the_goals_of_the_run(result):
    found = {row[0]: row[-1] for row in headlines(result).rows}
    assert found["cloud storage below centralised, 40 entities a subgraph, split domain"] == "met"
    assert found["CPU s to index 100k tokens"] == "met"


def test_an_empty_run_is_a_page_that_says_what_it_has_not(result, tmp_path):
    bare = only(result, run={"name": "bare"})
    (tmp_path / "bare.json").write_bytes(orjson.dumps(bare))
    html = report([tmp_path / "bare.json"], tmp_path / "out").read_text(encoding="utf-8")
    assert "Not part of this run: Goals; Answers against references" in html


def test_answers_to_questions_without_references_can_be_reported(tmp_path):
    row = AnswerRow("podcast", "within", "local", "a", "q", "?", (), "Yes.", True, "local", 1.0, False, None, (), ())
    (tmp_path / "bare.json").write_bytes(orjson.dumps(summarise({"answers": [asdict(row)]}, {"name": "bare", "config": {}})))
    report([tmp_path / "bare.json"], tmp_path / "out")
    assert (tmp_path / "out" / "bare-quality-podcast.csv").exists()
    assert not (tmp_path / "out" / "bare-quality-podcast.svg").exists()


def test_files_have_plain_names_whatever_a_result_says(result, tmp_path):
    rows = [row | {"split": "<img src=x>"} for row in result["systems"]]
    (tmp_path / "odd.json").write_bytes(orjson.dumps(only(result, run={"name": "../a<b>"}, systems=rows)))
    written = report([tmp_path / "odd.json"], tmp_path / "out").parent
    names = {path.stem for path in written.iterdir()}
    assert "a-b-costs-img-src-x" in names
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in names)


def test_a_calibration_is_shown_for_each_split_and_one_of_before_for_all(result):
    one = result["calibration"][0]
    titles = [
        [
            table.title
            for section in chapter(only(result, run=result["run"], calibration=found)).sections
            for table in section.tables
            if "thresholds" in table.title
        ]
        for found in ([one, one | {"split": "other"}], {name: value for name, value in one.items() if name != "split"})
    ]
    assert titles == [["Chosen thresholds, split domain", "Chosen thresholds, split other"], ["Chosen thresholds"]]


def test_all_askings_and_their_questions_are_both_counted(sections):
    (table,) = [table for section in sections for table in section.tables if table.name == "invented-quality-domain"]
    (row,) = [row for row in table.rows if row[0].startswith("all") and row[1] == "dgrag"]
    assert (row[0], row[2].n) == ("all, 48 askings", 24)


def test_one_result_against_itself_differs_nowhere(written):
    said = compare(written / "invented.json", written / "invented.json").splitlines()
    assert {line.rpartition("  ")[2] for line in said[2:-1]} == {"no", "not known"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "is no JSON"),
        (b"[]", "it is no object"),
        (b"{}", "it lacks run"),
        (orjson.dumps({key: [] for key in PARTS} | {"run": {}}), "its run has no name"),
        (orjson.dumps({key: [] for key in PARTS}), "its run has no name"),
    ],
)
def test_a_file_that_is_no_result_is_named_with_the_next_step(tmp_path, content, said):
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(BenchmarkError, match=said) as caught:
        load(tmp_path / "x.json")
    assert "NAME.json" in caught.value.next_step


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(BenchmarkError, match="cannot be read"):
        load(tmp_path / "none.json")


def test_two_results_of_one_name_are_not_put_on_one_page(written, tmp_path):
    with pytest.raises(BenchmarkError, match="two results are named 'invented'"):
        report([written / "invented.json"] * 2, tmp_path / "out")


def test_runs_with_nothing_in_common_cannot_be_compared(written, result, tmp_path):
    (tmp_path / "bare.json").write_bytes(orjson.dumps({part: [] for part in result} | {"run": {"name": "bare"}}))
    with pytest.raises(BenchmarkError, match="in common"):
        compare(written / "invented.json", tmp_path / "bare.json")


def test_a_torn_line_of_answers_is_an_error_with_the_files_name(result, tmp_path):
    (tmp_path / "a.json").write_bytes(orjson.dumps(result))
    (tmp_path / "a.answers.jsonl").write_bytes(b'{"split"')
    with pytest.raises(BenchmarkError, match="has a line that is no JSON"):
        compare(tmp_path / "a.json", tmp_path / "a.json")
