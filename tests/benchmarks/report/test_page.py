import pytest

from benchmarks.report.page import Chapter, cell_html, facts, page
from benchmarks.report.tables import Column, Figure, Section, Table
from deploy.evaluation.intervals import Estimate

TEMPLATE = "<title>$title</title>$lead<main>$body</main>"
TABLE = Table("t", "Shares & more", (Column("system"), Column("hit", "%")), (("<b>", Estimate(0.5, 0.4, 0.6, 9)), ("x", None)), "a <note>")
RUN = {"name": "tiny", "seed": 7}


def test_all_text_is_escaped():
    chapter = Chapter({**RUN, "commit": "<script>"}, (Section("<i>", "<u>", (Figure("f", '"caption"', b"svg"),), (TABLE,)),))
    html = page([chapter], TEMPLATE)
    for raw in ("<script>", "<i>", "<u>", "<b>", "<note>", '""'):
        assert raw not in html
    assert "Shares &amp; more" in html


def test_a_figure_is_inside_the_page():
    html = page([Chapter(RUN, (Section("S", "", (Figure("f", "c", b"abc"),)),))], TEMPLATE)
    assert "data:image/svg+xml;base64,YWJj" in html
    assert "http" not in html


def test_what_a_run_has_not_is_named_once_and_not_linked():
    html = page([Chapter(RUN, (Section("Peers"), Section("Routing", "", (), (TABLE,))))], TEMPLATE)
    assert "Not part of this run: Peers." in html
    assert 'href="#tiny-routing"' in html
    assert "tiny-peers" not in html


def test_an_estimate_shows_its_interval_and_its_size_and_nothing_is_a_dash():
    html = page([Chapter(RUN, (Section("S", "", (), (TABLE,)),))], TEMPLATE)
    assert '<td class="number">50.0 %<small>40.0–60.0, n = 9</small></td>' in html
    assert '<td class="number">–</td>' in html


@pytest.mark.parametrize("verdict", ["met", "missed", "met, not clearly"])
def test_a_verdict_can_be_seen(verdict):
    assert cell_html(verdict, "") == f'<span class="{verdict.partition(",")[0]}">{verdict}</span>'


def test_the_facts_of_a_run_name_machine_models_and_what_is_not_committed():
    run = RUN | {
        "commit": "abc",
        "dirty": True,
        "version": "1",
        "machine": {"cpu": "Abacus", "cores": 2},
        "models": {"generator": "small"},
        "limit": 3,
    }
    told = dict(facts(run))
    assert told["commit"] == "abc with changes that are not committed, version 1"
    assert told["machine"] == "Abacus, 2 cores"
    assert told["models"] == "generator: small"
    assert told["seed"] == "7, at most 3 questions"


def test_a_run_begins_with_what_a_reader_wants_and_its_hashes_are_folded():
    html = page([Chapter(RUN | {"code": {"answers": "c0de"}, "prompts": {"answer.md": "aabb"}}, ())], TEMPLATE)
    shown, _, folded = html.partition("<details>")
    assert ("<dt>seed</dt>" in shown, "c0de" in shown, "aabb" in shown) == (True, False, False)
    assert ("answers: c0de" in folded, "answer.md aabb" in folded) == (True, True)
