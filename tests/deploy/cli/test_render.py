"""What people see, letter by letter."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console, Group, RenderableType

from deploy.cli import render
from deploy.cli.sending import EdgeStatus, Refused, SentDocument
from shared.records import (
    Answer,
    ChunkId,
    Citation,
    Confidence,
    DocumentId,
    EdgeId,
    EdgeReport,
    GateReport,
    Similarity,
    TraceStep,
)

CITATION = Citation(1, EdgeId("plant"), DocumentId("d"), "report.md", ChunkId("d:0"), (0, 9), "Lot L-7713 failed.", 0.714)
GATE = GateReport("escalate", "most samples lack information", Confidence(4, 5, 0.12, 0.5), Similarity(0.9, 0.8, 0.7, 0.8, 0.6))
FULL = Answer(
    "q1",
    "Lot L-7713 failed [1].",
    (CITATION,),
    "cloud",
    GATE,
    (EdgeReport(EdgeId("plant"), "evidence", "answered", 41.6, 2048, 3), EdgeReport(EdgeId("ward"), "evidence", "late", 2000, 0, 0, "2 s")),
    partial=True,
    reason="1 of 2 edges answered",
    trace=(TraceStep("samples", 1200.4, 1, 900, 60), TraceStep("cloud", 800, 0, 0, 0, 300, 1500)),
)
GOLDEN = """\
Lot L-7713 failed [1].

Sources ────────────────────────────────────────────────────────────────────────
[1] plant · report.md  0.71
    “Lot L-7713 failed.”

How ────────────────────────────────────────────────────────────────────────────
route: cloud (partial) – 1 of 2 edges answered
gate: escalate – most samples lack information
  confidence: nearest passage 1.00 (threshold -1.00), 4 of 5 samples lack
information, P(passages suffice) 0.12 (threshold 0.50)
  similarity: 0.80 (threshold 0.60; cosine 0.90, Jaccard 0.80, claims 0.70)

Asked ──────────────────────────────────────────────────────────────────────────
edge   status    passages  bytes    ms  why
plant  answered         3  2,048    42
ward   late             0         2000  2 s

Cost ───────────────────────────────────────────────────────────────────────────
step       ms  calls  tokens in  out  sent  received
samples  1200      1        900   60
cloud     800                          300     1,500
total              1        900   60   300     1,500
"""


def shown(what: RenderableType, *, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(what)
    assert isinstance(console.file, io.StringIO)
    return "".join(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines())


def test_a_full_answer_shows_all_that_is_known():
    assert shown(render.answer(FULL)) == GOLDEN


def test_a_global_answer_names_the_report_of_each_source_and_what_it_covers():
    cited = replace(CITATION, report="c0ffee", quote="")
    lines = shown(render.answer(Answer("q", "Lots fail [1].", (cited,), "global", coverage="1 of 2 sites answered: plant"))).splitlines()
    assert "[1] plant · report.md · report c0ffee  0.71" in lines
    assert lines[-2:] == ["route: global", "1 of 2 sites answered: plant"]


def test_of_sites_that_told_points_their_reports_are_counted():
    bank = EdgeReport(EdgeId("bank"), "reports", "answered", 41.6, 2048, 3, reports=12, reports_there=1040)
    mill = EdgeReport(EdgeId("mill"), "reports", "answered", 9, 80, 0, reports=0, reports_there=5)
    table = render.edges([bank, mill, EdgeReport(EdgeId("ward"), "reports", "late", 2000, 0, 0, "2 s")])
    assert shown(table).splitlines() == [
        "edge  status        reports  points  bytes    ms  why",
        "bank  answered  12 of 1,040       3  2,048    42",
        "mill  answered       0 of 5       0     80     9",
        "ward  late                        0         2000  2 s",
    ]


def test_steps_that_repeat_are_one_row_and_free_ones_none():
    """21.4 + 20 + 0.1 ms are 42 ms in all."""
    steps = [TraceStep("retrieve", 21.4), TraceStep("samples", 9.0, 1, 5), TraceStep("retrieve", 20), TraceStep("retrieve", 0.1)]
    rows = shown(render.trace([*steps, TraceStep("gate: confidence", 0.2)])).splitlines()[1:]
    assert [row.split() for row in rows] == [["retrieve", "×3", "42"], ["samples", "9", "1", "5"], ["total", "1", "5"]]


def test_a_degraded_answer_says_so_before_it_is_read_and_what_nothing_compared_has_no_score():
    lines = shown(render.answer(replace(FULL, degraded=True, citations=(replace(CITATION, score=0.0),)))).splitlines()
    assert lines[:3] == ["degraded – 1 of 2 edges answered", "", "Lot L-7713 failed [1]."]
    assert "[1] plant · report.md" in [line.rstrip() for line in lines]


def test_a_bare_answer_is_short():
    bare = Answer("q", "No document answers this question.", (), "cloud", answered=False)
    rule = "─" * 76
    assert shown(render.answer(bare)) == f"No document answers this question.\n\nHow {rule}\nroute: cloud (not answered)\n"


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int):
    assert max(len(line) for line in shown(render.answer(FULL), width=width).splitlines()) <= width


def test_a_gate_that_saw_refusals_only_shows_no_probability():
    gate = GateReport("escalate", "refusals", Confidence(5, 5, None, 0.4))
    assert [line.plain for line in render.gate(gate, Answer("q", "a", (), "cloud"))] == [
        "gate: escalate – refusals",
        "  confidence: nearest passage 1.00 (threshold -1.00), 5 of 5 samples lack information",
    ]


def test_a_question_that_stayed_though_the_gate_would_have_sent_it_away_says_so_and_why_once():
    gate = GateReport("escalate", "refusals", None)
    stayed = Answer("q", "a", (), "local", reason="filters keep it here; refusals")
    assert [line.plain for line in render.gate(gate, stayed)] == ["gate: would escalate"]


def test_terminal_escapes_and_markup_of_an_answer_are_text():
    hostile = Answer("q", "\x1b[2J[bold red]click[/] \u202egnp", (), "local")
    first = shown(render.answer(hostile)).splitlines()[0]
    assert first == "[2J[bold red]click[/] gnp"


@pytest.mark.parametrize("end", ["\n", "\u2028"])
def test_a_name_forges_no_row_among_sources_failures_and_cells(end):
    name = f"a{end}b.md"
    cited = replace(CITATION, document=name)
    failed = render.failures([Refused(name, "refused", f"over{end}the limit")])
    for made in (render.citation(cited), Group(*failed), render.table(("document",), [(name,)])):
        assert len([row for row in shown(made).splitlines() if "a b.md" in row]) == 1


def test_an_upload_says_what_failed_and_why():
    results = [
        SentDocument("a.md", "1", status="indexed"),
        SentDocument("b.md", "2", duplicate=True, status="indexed"),
        SentDocument("c.pdf", "3", status="parked", reason="no text layer", next_step="run OCR"),
        SentDocument("d.md", "4", status="replaced"),
        Refused("e.bin", "refused", "over the limit"),
        Refused("x.jsonl, line 3", "skipped", "not JSON"),
    ]
    assert shown(render.upload(results)) == (
        "documents                count\n"
        "indexed                      2\n"
        "of these known before        1\n"
        "replaced by a later one      1\n"
        "parked                       1\n"
        "refused                      1\n"
        "skipped rows                 1\n"
        "document         what     reason\n"
        "c.pdf            parked   no text layer – run OCR\n"
        "e.bin            refused  over the limit\n"
        "x.jsonl, line 3  skipped  not JSON\n"
    )


def test_an_upload_without_failure_is_one_table():
    assert shown(render.upload([SentDocument("a.md", "1", status="indexed")])) == "documents  count\nindexed        1\n"
    assert "replaced earlier documents" in shown(render.upload([SentDocument("a.md", "1", replaces=True)]))


def test_what_may_leave_is_said_once_for_each_set_of_labels():
    wrong = SentDocument("a.md", "1", labels=("patients", "paitents"), share="never", unnamed_labels=("paitents",))
    told = render.shares(
        [wrong, wrong, SentDocument("b.md", "2", share="full"), Refused("c.md", "refused", "too large"), SentDocument("d.md", "4")]
    )
    assert [line.plain for line in told] == [
        "labels patients, paitents: nothing leaves this site (never) – the policy does not name paitents",
        "without a label: passages may leave this site, and be quoted in answers elsewhere (full)",
        render.CHANGE_SHARING,
    ]
    parked = SentDocument("scan.png", "5", share="full", status="parked")
    assert [line.plain for line in render.shares([parked, SentDocument("b.md", "2", share="full")])] == [
        "without a label, parked: nothing leaves this site while it is parked; then "
        "passages may leave this site, and be quoted in answers elsewhere (full)",
        told[1].plain,
        render.CHANGE_SHARING,
    ]
    assert [line.style for line in told] == ["yellow", "", "dim"]
    assert render.shares([SentDocument("d.md", "4")]) == []


def test_the_cluster_shows_parked_documents():
    status = EdgeStatus("ward", documents={"queued": 1, "indexed": 3, "parked": 2}, chunks=9, entities=4, relations=5, summaries=1)
    table = shown(render.cluster([("cloud", "http://c", "ready", None), ("ward", "http://e", "ready", status)]), width=100)
    assert [line.split() for line in table.splitlines()] == [
        ["service", "url", "state", "documents", "entities", "relations"],
        ["cloud", "http://c", "ready"],
        ["ward", "http://e", "ready", "3/6,", "2", "parked", "4", "5"],
    ]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (EdgeStatus("e", settled=True), "ready"),
        (EdgeStatus("e"), "waiting"),
        (EdgeStatus("e", progress={"step": "summaries"}), "summaries"),
        (EdgeStatus("e", progress={"step": "extract", "done": 2, "total": 9}), "extract 2/9"),
        (EdgeStatus("e", progress={"step": "extract", "done": 0, "total": 0}), "extract"),
    ],
)
def test_the_step_of_an_edge_in_words(status: EdgeStatus, said: str):
    assert status.step == said
