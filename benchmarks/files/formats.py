"""Whether facts in real files of many formats are found, with their page or row: ``python -m benchmarks.files.formats``.

A real edge process with the default embedder and no language model. It needs LibreOffice (``soffice``) and Tesseract's language data.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import httpx2
import typer

from benchmarks.cluster import drop_settings_of_the_shell
from benchmarks.files.format_files import Fact, Made, made
from benchmarks.machine import code, machine
from benchmarks.under_load import edge_process, settled
from edge_node.documents.readers import read
from edge_node.documents.text import suffix
from shared.records import place_of

RESULT = Path(__file__).parent.parent / "results" / "formats.json"
FIRST = 5  # passages
SETTLE_S = 1_800.0


def is_found(passage: dict[str, Any], fact: Fact) -> bool:
    """Whether a passage of the fact's file says it."""
    return passage["document"] == fact.file and fact.said in passage["text"]


def is_placed(passage: dict[str, Any], fact: Fact) -> bool:
    """Whether what says it stands where it was put."""
    start = passage["span"][0] + passage["text"].index(fact.said)
    return place_of([tuple(mark) for mark in passage["places"]], (start, start + len(fact.said))) == fact.place


def asked(http: httpx2.Client, facts: Sequence[Fact]) -> list[tuple[Fact, bool, bool]]:
    """Each fact with whether it is among the first passages, and with the right place."""
    rows = []
    for fact in facts:
        reply = http.post("/v1/retrieve", json={"question": fact.question, "top_k": FIRST})
        passages = [passage for passage in reply.raise_for_status().json()["evidence"][:FIRST] if is_found(passage, fact)]
        rows.append((fact, bool(passages), any(is_placed(passage, fact) for passage in passages)))
    return rows


def speeds(files: Sequence[Made]) -> dict[str, dict[str, float]]:
    """Of each format: files, KB together, and milliseconds of reading a file, without the child process."""
    took = defaultdict[str, list[float]](list)
    for one in files:
        began = time.perf_counter()
        read(one.name, one.raw)
        took[suffix(one.name)].append(1000 * (time.perf_counter() - began))
    sizes = Counter[str]()
    for one in files:
        sizes[suffix(one.name)] += len(one.raw)
    return {
        kind: {
            "files": len(each),
            "kb": round(sizes[kind] / 1000),
            "median_ms": round(statistics.median(each), 1),
            "max_ms": round(max(each), 1),
        }
        for kind, each in sorted(took.items())
    }


def measured(folder: Path, files: Sequence[Made]) -> dict[str, Any]:
    """Index all files at one edge, then ask for each fact."""
    began = time.perf_counter()
    with edge_process(folder) as (http, _):
        sent = [http.post("/v1/documents", files={"file": (one.name, one.raw)}, timeout=SETTLE_S) for one in files]
        documents = [reply.raise_for_status().json()["document_id"] for reply in sent]
        while not settled(http) and time.perf_counter() < began + SETTLE_S:
            time.sleep(1)
        indexed = time.perf_counter() - began
        views = [http.get(f"/v1/documents/{one}").json() for one in documents]
        rows = asked(http, [fact for one in files for fact in one.facts])
    by_kind = {kind: [row for row in rows if suffix(row[0].file) == kind] for kind in sorted({suffix(row[0].file) for row in rows})}
    return {
        "files": len(files),
        "status": Counter(view["status"] for view in views),
        "parked": {view["name"]: view["reason"] for view in views if view["status"] == "parked"},
        "index_s": round(indexed),
        **_counts(rows),
        "by_format": {kind: _counts(each) for kind, each in by_kind.items()},
        "missed": [f"{fact.file}: {fact.question} {fact.said} {fact.place}" for fact, _, placed in rows if not placed],
    }


def _counts(rows: Sequence[tuple[Fact, bool, bool]]) -> dict[str, int]:
    """How many facts are found; of those of formats with pages, slides, rows or records, ``with_place``, how many are ``placed``."""
    placed = [is_right for fact, _, is_right in rows if fact.place]
    return {"facts": len(rows), "found": sum(found for _, found, _ in rows), "with_place": len(placed), "placed": sum(placed)}


def main(out: Annotated[Path, typer.Option(help="Where the result is written.")] = RESULT) -> None:
    """Make the files, read, index and ask; print and write what came of it."""
    drop_settings_of_the_shell()
    with tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory() as folder:
        files = list(made(Path(work)))
        result = {**code(), "machine": machine(), **measured(Path(folder), files), "speed": speeds(files)}
    found = json.dumps(result, indent=1)
    typer.echo(found)
    out.write_text(found + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
