"""Nothing that another wrote stands alone on a line of ours: a name forges no row, whatever a terminal takes for a line's end."""

import io
import unicodedata
from dataclasses import replace

import pytest

from deploy.cli import render
from deploy.cli.board import InertConsole
from deploy.cli.sending import EdgeStatus, Refused, SentDocument
from shared.records import Answer, ChunkId, Citation, DocumentId, EdgeId, EdgeReport, TraceStep
from shared.text.plain import one_line, plain

FORGED = "10/10 ready.md"
LINE_ENDS = ("\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")


def citation(name):
    return Citation(1, EdgeId(name), DocumentId("d"), name, ChunkId("d:0"), (0, 9), name, 0.7)


def answer(name):
    known = Answer("q", "Yes [1].", (citation(name),), "cloud", degraded=True, reason=name, coverage=name, would_ask=name)
    return replace(known, edges=(EdgeReport(EdgeId(name), "evidence", "late", 1, 0, 0, name),), trace=(TraceStep(name, 5, 1),))


def status(name):
    return EdgeStatus(name, folders=[{"folder": name, "error": name}])


PRINTED = {
    "a message": lambda name: [f"ward: {name}"],
    "a table": lambda name: [render.table(("document", "job"), [(name, name)])],
    "a table with cut columns": lambda name: [render.lines({"document": True}, [(name,)])],
    "failed documents": lambda name: render.failures(
        [Refused(name, kind="refused", reason=name), SentDocument(name, "d", status="parked", reason=name)]
    ),
    "what may leave": lambda name: render.shares([SentDocument("a.md", "d", share="full", labels=(name,), unnamed_labels=(name,))]),
    "an answer": lambda name: [render.answer(answer(name))],
    "folders": lambda name: render.folder_lines(status(name)),
    "services": lambda name: [render.cluster([(name, name, name, None)])],
}


def printed(show, name):
    to = io.StringIO()
    console = InertConsole(file=to, width=4000, highlight=False)
    for part in show(name):
        console.print(part, soft_wrap=isinstance(part, str))
    return to.getvalue()


@pytest.mark.parametrize("end", LINE_ENDS, ids=ascii)
@pytest.mark.parametrize("what", PRINTED)
def test_a_name_with_a_line_end_is_printed_on_the_line_of_its_own(what, end):
    name = f"c{end}{FORGED}"
    shown = printed(PRINTED[what], name)
    assert FORGED in shown
    assert len(shown.splitlines()) == len(printed(PRINTED[what], f"c {FORGED}").splitlines())
    assert not [line for line in shown.splitlines() if line.strip().startswith(FORGED)]


def test_null_control_where_a_name_is_printed_as_a_text_it_forges_a_row(monkeypatch):
    monkeypatch.setattr(render, "one_line", plain)
    shown = printed(PRINTED["a table with cut columns"], f"c\n{FORGED}")
    assert [line for line in shown.splitlines() if line.strip().startswith(FORGED)]


@pytest.mark.parametrize("end", LINE_ENDS, ids=ascii)
def test_a_text_of_several_lines_ends_them_in_one_way_only(end):
    assert plain(f"a{end}b") == "a\nb"
    assert one_line(f"a{end}b") == "a b"


def test_every_character_at_which_python_or_a_terminal_ends_a_line_is_known():
    breaks = {
        char for char in map(chr, range(0x11_0000)) if len(f"a{char}b".splitlines()) > 1 or unicodedata.category(char) in ("Zl", "Zp")
    }
    assert breaks <= set(LINE_ENDS)
    assert not [char for char in breaks if len(one_line(f"a{char}b").splitlines()) > 1]
