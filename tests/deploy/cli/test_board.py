"""Progress where nobody watches, and where somebody does."""

from __future__ import annotations

import io

from rich.console import Console

from deploy.cli.board import IndexBoard, SendBars
from deploy.cli.sending import EdgeStatus


def status(step: str, *, queued: int, indexed: int) -> EdgeStatus:
    return EdgeStatus("ward", documents={"queued": queued, "indexed": indexed}, pending_step=step, chunks=4)


def written(*, terminal: bool, statuses: list[EdgeStatus]) -> str:
    console = Console(file=io.StringIO(), force_terminal=terminal, width=100, highlight=False)
    with IndexBoard(console) as board:
        for each in statuses:
            board.show(each)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_in_a_log_each_step_and_each_tenth_is_told_once():
    statuses = [
        status("extract", queued=2, indexed=0),
        status("extract", queued=2, indexed=0),
        status("embed", queued=2, indexed=0),
        status("extract", queued=2, indexed=0),
        status("extract", queued=1, indexed=1),
    ]
    assert written(terminal=False, statuses=statuses).splitlines() == [
        "ward: extract (0/2 documents, 4 chunks, 0 entities, 0 tokens)",
        "ward: embed (0/2 documents, 4 chunks, 0 entities, 0 tokens)",
        "ward: extract (1/2 documents, 4 chunks, 0 entities, 0 tokens)",
    ]


def test_on_a_terminal_each_edge_has_one_row():
    text = written(terminal=True, statuses=[status("extract", queued=2, indexed=0), status("embed", queued=0, indexed=2)])
    assert "2/2 documents" in text
    assert "embed" in text


def test_an_edge_without_documents_is_shown_too():
    assert "0/0 documents" in written(terminal=True, statuses=[EdgeStatus("ward", settled=True)])


def test_send_bars_take_bytes():
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    with SendBars(console) as bars:
        bars.advance("sending", 10, 4)
        bars.advance("sending", 10, 6)
