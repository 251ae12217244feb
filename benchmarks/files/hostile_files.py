"""How long /health takes while hostile files are estimated and indexed: ``python -m benchmarks.files.hostile_files``.

A real edge process with the default embedder and no language model; a reader may take two seconds. No API key is needed.
"""

from __future__ import annotations

import json
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import httpx2
import typer

from benchmarks.cluster import drop_settings_of_the_shell
from benchmarks.files.dear_files import many_operators, one_line, word_bomb
from benchmarks.files.hostile_formats import good, hostile
from benchmarks.machine import code, machine
from benchmarks.meters import percentile_ms
from benchmarks.under_load import edge_process
from shared.http.open_mode import CALLER

RESULT = Path(__file__).parent.parent / "results" / "hostile_files.json"
READER_SECONDS = 2
EVERY_S = 0.02
IDLE_S = 5.0
UPLOAD_S = 300.0
SETTLE_S = 600.0
NEAR_LIMIT = 32 * 2**20 - 4_096  # bytes: what an edge takes as its default, less the blank lines that make copies of a file differ


@dataclass
class Poll:
    """What a client that asks /health again and again saw: seconds of each answer, and what failed."""

    seconds: list[float] = field(default_factory=list)
    failed: int = 0

    def row(self) -> dict[str, float]:
        """Percentiles in ms."""
        return {
            "asked": len(self.seconds),
            "failed": self.failed,
            **{name: percentile_ms(self.seconds, q) for name, q in (("p50_ms", 50), ("p99_ms", 99), ("max_ms", 100))},
        }


def kinds(formats: Collection[str] = ()) -> list[tuple[str, bytes]]:
    """A file of each kind, (name, content): ten of each format, small ones that unfold, and ones near the upload limit.

    ``formats``: ten of each of these suffixes, and nothing else.
    """
    ten = [one for suffix, sound in good().items() if not formats or suffix in formats for one in hostile(suffix, sound)]
    return ten if formats else ten + _others()


def _others() -> list[tuple[str, bytes]]:
    return [
        ("operators.pdf", many_operators()),
        ("page-number.pdf", one_line(b"1" + b" " * 30_000 + b"x")),
        ("bomb.docx", word_bomb(200_000)),
        ("brackets.md", b"[\\" * 500_000),
        ("spaces.txt", b"a" + b" " * 50_000 + b"x"),
        ("one-row.csv", b"name,what\n" + b'"' + b"a,\n" * 300_000),
        ("columns.csv", b"a," * 100_000 + b"\n" + b"1," * 100_000),
        ("nested.html", b"<div>" * 100_000 + b"x"),
        ("tables.html", b"<table><tr><td>" * 20_000 + b"x"),
        ("comments.html", b"<!--" * 200_000),
        ("long-line.txt", _filled(b"word ")),
        ("short-lines.txt", _filled(b"a\r")),
        ("marks.txt", _filled("e\u0301".encode())),
        ("lists.md", _filled(b"- **a** [b](c)\n")),
        ("rows.csv", _filled(b"a,b\n")),
        ("paragraphs.html", _filled(b"<p>a")),
        ("random.pdf", b"%PDF-1.4\n" + random.Random(7).randbytes(NEAR_LIMIT - 9)),
    ]


def _filled(piece: bytes) -> bytes:
    return piece * (NEAR_LIMIT // len(piece))


@contextmanager
def polled(address: str) -> Iterator[Poll]:
    """Ask /health every 20 ms, on a connection of its own, as long as this is entered."""
    poll, stop = Poll(), threading.Event()

    def ask() -> None:
        with httpx2.Client(base_url=address, headers=CALLER, timeout=UPLOAD_S, trust_env=False) as http:
            while not stop.wait(EVERY_S):
                began = time.perf_counter()
                try:
                    poll.failed += not http.get("/health").is_success
                except httpx2.TransportError:
                    poll.failed += 1
                poll.seconds.append(time.perf_counter() - began)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield poll
    finally:
        stop.set()
        thread.join()


def attacked(http: httpx2.Client, made: Sequence[tuple[str, bytes]], files: int | None) -> dict[str, Any]:
    """Estimate and index so many files, each with a content of its own, and tell what became of them."""
    answers, sent = Counter[str](), list[str]()
    for number in range(files or len(made)):
        name, raw = made[number % len(made)]
        upload = {"file": (f"{number}-{name}", raw + b"\n" * (number // len(made)))}
        answers[f"estimate {http.post('/v1/estimate', files=upload, timeout=UPLOAD_S).status_code}"] += 1
        reply = http.post("/v1/documents", files=upload, timeout=UPLOAD_S)
        answers[f"documents {reply.status_code}"] += 1
        if reply.is_success:
            sent.append(reply.json()["document_id"])
    ends = time.perf_counter() + SETTLE_S
    while not http.get("/v1/status").json()["settled"] and time.perf_counter() < ends:
        time.sleep(0.5)
    views = [http.get(f"/v1/documents/{one}").json() for one in sent]
    became = Counter(f"{view['status']} {view.get('code') or ''}".strip() for view in views)
    return {"answers": dict(sorted(answers.items())), "became": dict(sorted(became.items()))}


def measured(folder: Path, made: Sequence[tuple[str, bytes]], files: int | None) -> dict[str, Any]:
    """/health when nothing happens and under attack."""
    with edge_process(folder, DGRAG_EDGE_READER_SECONDS=str(READER_SECONDS)) as (http, _):
        address = str(http.base_url)
        with polled(address) as idle:
            time.sleep(IDLE_S)
        began = time.perf_counter()
        with polled(address) as busy:
            found = attacked(http, made, files)
        seconds = time.perf_counter() - began
    return {
        "files": sum(found["became"].values()),
        "reader_seconds": READER_SECONDS,
        **found,
        "seconds": round(seconds, 1),
        "idle": idle.row(),
        "attacked": busy.row(),
    }


def main(
    files: Annotated[int | None, typer.Option("-n", min=1, help="Files, each estimated and indexed; one of each if not given.")] = None,
    formats: Annotated[str, typer.Option(help="Ten of each of these suffixes alone, as .doc,.xls.")] = "",
    out: Annotated[Path, typer.Option(help="Where the result is written.")] = RESULT,
) -> None:
    """Attack an edge with hostile files, print and write what /health took."""
    drop_settings_of_the_shell()
    with tempfile.TemporaryDirectory() as folder:
        row = measured(Path(folder), kinds(formats.split(",") if formats else ()), files)
    found = json.dumps({**code(), "machine": machine(), **row}, indent=1)
    typer.echo(found)
    out.write_text(found + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
