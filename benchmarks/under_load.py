"""Questions while documents come in: a real edge process with the default models over HTTP, no language model."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx2

from benchmarks.meters import percentile_ms
from shared.http.open_mode import CALLER

SAMPLES = Path(__file__).parent.parent / "deploy" / "samples"
QUESTIONS = (
    "Which ward uses the Maristow infusion pump?",
    "What happened in November 2013?",
    "Who supplies the battery cabinet?",
    "How is the levee inspected?",
)
READY_S = 300.0  # a busy machine
SETTLED_S = 3600.0
IDLE_ROUNDS = 40
BEFORE_SHARE = 3  # one of so many documents is there before the others come


def wait_settled(edges: list[httpx2.Client]) -> list[dict[str, Any]]:
    """Until all is indexed and the cloud knows all summaries; what each edge says of itself then."""
    ends = time.perf_counter() + SETTLED_S
    while True:
        told = [edge.get("/v1/status").json() for edge in edges]
        if all(one["settled"] for one in told):
            return told
        if time.perf_counter() > ends:
            raise TimeoutError("the edges did not settle in an hour")
        time.sleep(0.5)


def sample_documents() -> list[tuple[str, str]]:
    """(name, text) of the documents that the project brings along."""
    files = sorted(path for path in SAMPLES.glob("*/*") if path.suffix in (".md", ".txt"))
    return [(f"{path.parent.name}-{path.name}", path.read_text(encoding="utf-8")) for path in files]


def edge_process(folder: Path, **more: str) -> AbstractContextManager[tuple[httpx2.Client, subprocess.Popen[bytes]]]:
    """A ready edge with its client; ``more``: variables of its environment. Raises AssertionError when it does not become ready."""
    return service_process("edge_node", "DGRAG_EDGE", folder, **{"OPENBLAS_NUM_THREADS": "1", "DGRAG_EDGE_SHARE": "full", **more})


@contextmanager
def service_process(module: str, prefix: str, folder: Path, **more: str) -> Iterator[tuple[httpx2.Client, subprocess.Popen[bytes]]]:
    """The same of any of our services; ``prefix``: of its variables."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    knobs = {f"{prefix}_STATE_DIR": str(folder), f"{prefix}_PORT": str(port), **more}
    with (folder / "log").open("wb") as log:
        command = [sys.executable, "-P", "-m", module]
        process = subprocess.Popen(command, env={**os.environ, **knobs}, stdout=log, stderr=log)  # noqa: S603 - our own command
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", headers=CALLER, timeout=30, trust_env=False) as http:
            _wait(lambda: _ready(http))
            yield http, process
    finally:
        process.terminate()
        process.wait(30)


def _ready(http: httpx2.Client) -> bool:
    try:
        return http.get("/ready").status_code == 200
    except httpx2.TransportError:
        return False


def _wait(condition: Callable[[], bool]) -> None:
    ends = time.perf_counter() + READY_S
    while not condition():
        assert time.perf_counter() < ends, "the service was not ready in time"
        time.sleep(0.1)


def ask(http: httpx2.Client, going_on: Callable[[int], bool]) -> dict[str, Any]:
    """Ask /health and /v1/retrieve in turn as long as ``going_on`` (given the round) says; wall in ms."""
    health: list[float] = []
    retrieve: list[float] = []
    number = 0
    while going_on(number):
        health.append(_seconds(lambda: http.get("/health")))
        question = QUESTIONS[number % len(QUESTIONS)]
        retrieve.append(_seconds(lambda question=question: http.post("/v1/retrieve", json={"question": question})))  # type: ignore[misc]
        number += 1
    rows = {f"{name}_p{q}_ms": percentile_ms(v, q) for name, v in (("health", health), ("retrieve", retrieve)) for q in (50, 95, 100)}
    return {"rounds": number, **rows}


def _seconds(call: Callable[[], httpx2.Response]) -> float:
    began = time.perf_counter()
    call().raise_for_status()
    return time.perf_counter() - began


def offer(http: httpx2.Client, documents: Sequence[tuple[str, str]]) -> None:
    """Send documents."""
    for name, text in documents:
        http.post("/v1/documents", json={"name": name, "text": text}).raise_for_status()


def settled(http: httpx2.Client) -> bool:
    """Everything is indexed."""
    return bool(http.get("/v1/status").json()["settled"])


def process_row(process: subprocess.Popen[bytes]) -> dict[str, float]:
    """CPU seconds so far, memory now and at its highest."""
    ticks = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    lines = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii").splitlines()
    memory = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines if line.startswith(("VmRSS", "VmHWM"))}
    cpu_s = (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")
    return {"cpu_s": cpu_s, "rss_mb": round(memory["VmRSS"], 1), "rss_peak_mb": round(memory["VmHWM"], 1)}


def under_load(folder: Path) -> dict[str, Any]:
    """Retrieval and health, idle and during ingestion; and what a document takes with the default models."""
    documents = sample_documents()
    first = documents[::BEFORE_SHARE]
    rest = [document for document in documents if document not in first]
    with edge_process(folder) as (http, process):
        empty = process_row(process)
        offer(http, first)
        _wait(lambda: settled(http))
        idle = ask(http, lambda number: number < IDLE_ROUNDS)
        before, began = process_row(process), time.perf_counter()
        offer(http, rest)
        during = ask(http, lambda number: number < 1 or number % 4 != 0 or not settled(http))
        wall, after = time.perf_counter() - began, process_row(process)
        tokens = http.get("/v1/status").json()["tokens"]
    return {
        "documents": len(rest),
        "tokens": tokens,
        "wall_s": round(wall, 2),
        "cpu_s": round(after["cpu_s"] - before["cpu_s"], 2),
        "rss_started_mb": empty["rss_mb"],
        "rss_peak_mb": after["rss_peak_mb"],
        "idle": idle,
        "during": during,
    }
