"""Progress where nobody watches, and where somebody does."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.progress import Progress
from rich.text import Text

from deploy.cli.board import IndexBoard, Patience, SendBars, err, out
from deploy.cli.sending import EdgeStatus


def status(step: str, *, queued: int, indexed: int) -> EdgeStatus:
    return EdgeStatus("ward", documents={"queued": queued, "indexed": indexed}, progress={"step": step}, chunks=4)


class Clock:
    """A clock that stands until it is moved."""

    seconds = 0.0

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds


def written(*, terminal: bool, statuses: list[EdgeStatus], step_s: float = 0.0) -> str:
    console, clock = Console(file=io.StringIO(), force_terminal=terminal, width=100, highlight=False), Clock()
    with IndexBoard(console, clock) as board:
        for each in statuses:
            board.show(each)
            clock.seconds += step_s
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_in_a_log_a_line_every_five_seconds_tells_what_is_new():
    """Shown at 0, 2, 4, 6 and 8 s: the line at 0 s silences those until 5 s, the one at 6 s those until 11 s."""
    statuses = [
        status("extract", queued=2, indexed=0),
        status("embed", queued=2, indexed=0),
        EdgeStatus("plant", settled=True),
        status("extract", queued=1, indexed=1),
        status("embed", queued=1, indexed=1),
    ]
    assert written(terminal=False, statuses=statuses, step_s=2.0).splitlines() == [
        "indexing: ward 0/2 extract",
        "indexing: ward 1/2 extract, plant 0/0 ready",
    ]


def test_in_a_log_what_has_not_changed_is_not_told_again():
    same = [status("extract", queued=2, indexed=0)] * 3
    assert written(terminal=False, statuses=same, step_s=6.0).splitlines() == ["indexing: ward 0/2 extract"]


def test_on_a_terminal_each_edge_has_one_row():
    text = written(terminal=True, statuses=[status("extract", queued=2, indexed=0), status("embed", queued=0, indexed=2)])
    assert "2/2 documents" in text
    assert "embed" in text


def test_an_edge_without_documents_is_shown_too():
    assert "0/0 documents" in written(terminal=True, statuses=[EdgeStatus("ward", settled=True)])


@pytest.mark.parametrize(("seconds", "said"), [(1.0, ""), (9.0, "the model reads")])
def test_after_some_seconds_it_is_said_why_it_takes_long(seconds, said):
    clock = Clock()
    bars = Progress(get_time=clock.monotonic)
    row = bars.add_task("thinking …")
    clock.seconds = seconds
    assert Patience("the model reads").render(bars.tasks[row]).plain == said


def test_send_bars_take_bytes():
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    with SendBars(console) as bars:
        bars.advance("sending", 10, 4)
        bars.advance("sending", 10, 6)


def test_no_escape_sequence_of_another_site_reaches_the_terminal(capsys):
    hostile = "ward\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"
    out().print(hostile, markup=False)
    out().print(Text(hostile))
    err().print(f"{hostile} refused", markup=False)
    told = capsys.readouterr()
    assert told.out == "ward]0;owned[2J31m\n" * 2
    assert told.err == "ward]0;owned[2J31m refused\n"


def test_null_control_a_console_of_rich_lets_escape_sequences_through(capsys):
    Console(highlight=False).print("ward\x1b[2J", markup=False)
    assert "\x1b[2J" in capsys.readouterr().out
