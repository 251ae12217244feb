"""What an edge spends on a textbook, everything included: ``python -m benchmarks.edges.indexing FILE...`` prints one JSON line.

A real edge process with the default models and no language model reads the texts of UltraDomain splits over HTTP; then its questions
are asked of ``/v1/retrieve``, which no language model answers. Seconds of processor are those of the edge and of the processes that it
starts, from its start on.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import httpx2
import orjson
import typer

from benchmarks.cluster import drop_settings_of_the_shell
from benchmarks.machine import code, machine
from benchmarks.meters import percentile_ms
from benchmarks.under_load import SETTLED_S, edge_process
from edge_node.extraction.parser_process import IDLE_S

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
WARM_UP = 3
ONE_MORE, ONE_MORE_CHARS = 6, 13_000  # documents that come one by one, of some 3,300 tokens
REST_S = IDLE_S + 2.0  # after which what is idle has ended


def cpu_s(pid: int) -> float:
    """Seconds of processor of a process and of all its children, ended ones too."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS_PER_S + sum(map(cpu_s, _children(pid)))


def memory_mb(pid: int) -> float:
    """What a process and its children hold that no other process holds, and their share of what others hold too; 0 once it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    own = next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
    return round(own + sum(map(memory_mb, _children(pid))), 1)


def _children(pid: int) -> list[int]:
    found = list[int]()
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended meanwhile
            found += map(int, children.read_text(encoding="ascii").split())
    return found


def texts_and_questions(files: Sequence[Path], most_chars: int) -> tuple[list[str], list[str]]:
    """The different texts of splits, as many as fit in ``most_chars`` (one at least), and all questions about these."""
    rows = [orjson.loads(line) for file in files for line in file.read_bytes().splitlines()]
    kept, used = dict[str, None](), 0
    for row in rows:
        text = row["context"]
        if text not in kept and (not kept or used + len(text) <= most_chars):
            kept[text] = None
            used += len(text)
    return list(kept), [row["input"] for row in rows if row["context"] in kept]


def measured(folder: Path, texts: list[str], questions: list[str], *, workers: int) -> dict[str, Any]:
    """Index the texts at a new edge, then ask."""
    with edge_process(folder, DGRAG_EDGE_WORKERS=str(workers)) as (http, process):
        empty_mb, began, cpu_before = memory_mb(process.pid), time.perf_counter(), cpu_s(process.pid)
        for number, text in enumerate(texts):
            http.post("/v1/documents", json={"name": f"{number}.md", "text": text}).raise_for_status()
        most_mb = _wait(http, process.pid)
        spent = {"cpu_s": round(cpu_s(process.pid) - cpu_before, 1), "wall_s": round(time.perf_counter() - began, 1)}
        seconds = []
        for question in questions:
            asked = time.perf_counter()
            http.post("/v1/retrieve", json={"question": question}).raise_for_status()
            seconds.append(time.perf_counter() - asked)
        status, one_more = http.get("/v1/status").json(), _one_more(http, process.pid, texts[0])
        time.sleep(REST_S)
        memory = {"empty_mb": empty_mb, "most_mb": most_mb, "idle_mb": memory_mb(process.pid)}
    retrieve = {f"retrieve_p{q}_ms": percentile_ms(seconds[WARM_UP:], q) for q in (50, 95)}
    counted = {name: status[name] for name in ("chunks", "tokens", "entities", "relations", "subgraphs")}
    share = round(spent["cpu_s"] / status["tokens"] * 100_000, 1)
    return {"start_cpu_s": round(cpu_before, 1), **counted, **spent, "cpu_s_per_100k_tokens": share, **one_more, **memory, **retrieve}


def _one_more(http: httpx2.Client, pid: int, text: str) -> dict[str, float]:
    """CPU of documents of ONE_MORE_CHARS each, added one by one; the first of them wakes what has slept."""
    spent = list[float]()
    for number in range(ONE_MORE):
        before, part = cpu_s(pid), text[number * ONE_MORE_CHARS :][:ONE_MORE_CHARS]
        http.post("/v1/documents", json={"name": f"more-{number}.md", "text": f"Chapter {number} again.\n\n{part}"}).raise_for_status()
        _wait(http, pid)
        spent.append(round(cpu_s(pid) - before, 3))
    return {"one_more_first_cpu_s": spent[0], "one_more_p50_cpu_s": percentile_ms(spent[1:], 50) / 1000}


def _wait(http: httpx2.Client, pid: int) -> float:
    """Until all is indexed; the most memory that was held, looked at once a second."""
    ends, most_mb = time.perf_counter() + SETTLED_S, 0.0
    while not http.get("/v1/status").json()["settled"]:
        if time.perf_counter() > ends:
            raise TimeoutError("the edge did not settle in an hour")
        time.sleep(1)
        most_mb = max(most_mb, memory_mb(pid))
    return most_mb


def main(
    files: Annotated[list[Path], typer.Argument(help="Splits of UltraDomain, as JSON lines.", exists=True, dir_okay=False)],
    chars: Annotated[int, typer.Option(min=1, help="At most so many characters of its texts.")] = 500_000,
    workers: Annotated[int, typer.Option(min=1, max=16, help="DGRAG_EDGE_WORKERS of the edge.")] = 1,
) -> None:
    """Index textbooks at a fresh edge, and print what it took."""
    drop_settings_of_the_shell()
    texts, questions = texts_and_questions(files, chars)
    with tempfile.TemporaryDirectory() as folder:
        found = measured(Path(folder), texts, questions, workers=workers)
    counts = {"texts": len(texts), "chars": sum(map(len, texts)), "questions": len(questions), "workers": workers}
    asked = {"files": [file.name for file in files], **counts}
    typer.echo(orjson.dumps({**code(), "machine": machine(), **asked, **found}))


if __name__ == "__main__":
    typer.run(main)
