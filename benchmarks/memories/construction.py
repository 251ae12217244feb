"""What it costs to remember documents (FD-RAG Table 6): ``python -m benchmarks.memories.construction SET [--memory model]``.

SET is a folder with ``corpus.jsonl``. One edge indexes documents without memories, then makes them: tokens, seconds and memory of that,
beside what the index took. With 200 documents and the default model about 40 minutes. Writes ``results/construction.json`` and prints it.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import httpx2
import orjson
import typer

from benchmarks.cluster import Fleet, drop_settings_of_the_shell, until
from benchmarks.datasets.corpus import Corpus, write_data
from benchmarks.datasets.narrowed import fewer_documents
from benchmarks.datasets.passages import Passages
from benchmarks.datasets.splits import federated_split
from benchmarks.errors import BenchmarkError
from benchmarks.fdrag_systems import MEMORY, NO_MEMORY, STRATEGY
from benchmarks.machine import code, machine
from benchmarks.records import Split
from benchmarks.sharing import sharing
from benchmarks.stages.idle import LIMIT_S, left
from benchmarks.stages.remembering import counted
from benchmarks.systems import SAME_FOR_ALL
from deploy.lab.no_model import NO_MODEL
from shared.http.open_mode import CALLER

OUT, WORK = Path("benchmarks/results/construction.json"), Path(".dgrag-bench")
PAPER_TOKENS = 58  # that a model writes for 1,000 of a corpus (FD-RAG Table 6)
SEED = 7
PROC = Path("/proc")
MB = 1024  # kB


def costs(before: Mapping[str, Any], after: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """What memories took beside the index, from an edge's status before and after them; for 1,000 tokens of the documents too.

    >>> before = {"model_calls": 1, "tokens_in": 0, "tokens_out": 0}
    >>> after = {"tokens": 2000, "model_calls": 6, "tokens_in": 900, "tokens_out": 100, "memory": {"model": 4}}
    >>> found = costs(before, after, 30.0)
    >>> found["tokens_out_per_1000"], found["seconds_per_1000"], found["memories"], found["usable"]
    (50.0, 15.0, {'model': 4}, 0.8)
    """
    calls, read, written = (after[name] - before[name] for name in ("model_calls", "tokens_in", "tokens_out"))
    per, memories = max(1, after["tokens"]) / 1000, counted(after)
    return {
        "corpus_tokens": after["tokens"],
        "calls": calls,
        "usable": round(memories.get("model", 0) / calls, 3) if calls else None,  # each call writes one question
        "tokens_in": read,
        "tokens_out": written,
        "tokens_out_per_1000": round(written / per, 1),
        "paper_tokens_out_per_1000": PAPER_TOKENS,
        "seconds": round(seconds, 1),
        "seconds_per_1000": round(seconds / per, 2),
        "memories": memories,
    }


def peak_mb(leader: int, proc: Path = PROC) -> float:
    """The most memory that a process of a group has held so far; 0 where there is none, or the system does not tell."""
    peaks = [0.0]
    for folder in proc.glob("[0-9]*"):
        try:
            group = int((folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[2])
            told = (folder / "status").read_text(encoding="utf-8", errors="replace")
        except OSError:  # it has ended meanwhile
            continue
        if group == leader:
            peaks += [int(line.split()[1]) / MB for line in told.splitlines() if line.startswith("VmHWM:")]
    return round(max(peaks), 1)


async def built(corpus: Corpus, split: Split, work: Path, memory: str, generator: str) -> dict[str, Any]:
    """Index without memories, then make them. A state that is there is made anew: seconds of two sessions are none."""
    (edge,) = split.documents
    data, plain = work / "data" / "construction", {STRATEGY: "naive"}
    shutil.rmtree(data, ignore_errors=True)
    write_data(split, corpus, data)
    timeout = httpx2.Timeout(120.0, connect=10.0)
    async with (
        httpx2.AsyncClient(headers=CALLER, timeout=timeout, trust_env=False) as http,
        Fleet(work, generator, http, SAME_FOR_ALL | NO_MEMORY) as fleet,
    ):
        shutil.rmtree(fleet.state("construction"), ignore_errors=True)
        shared = sharing(data, [edge], "")
        cluster = await fleet.up("construction", [edge], {**shared, **plain})
        began = time.perf_counter()
        await fleet.add(edge, data / f"{edge}.jsonl")
        indexed, before, small = time.perf_counter() - began, await fleet.status(cluster.edges[edge]), peak_of(fleet, edge)
        began = time.perf_counter()
        cluster = await fleet.up("construction", [edge], {**shared, **plain, MEMORY: memory})

        async def ready() -> bool:
            return not left({edge: await fleet.status(cluster.edges[edge])})

        await until(ready, what="what the edge remembers", seconds=LIMIT_S)
        found = costs(before, await fleet.status(cluster.edges[edge]), time.perf_counter() - began)
        return found | {"index_seconds": round(indexed, 1), "index_peak_mb": small, "peak_mb": peak_of(fleet, edge)}


def peak_of(fleet: Fleet, edge: str) -> float:
    """The most memory that an edge of the running cluster has held."""
    members = orjson.loads((fleet.state("construction") / "cluster.json").read_bytes())["members"]
    return next((peak_mb(member["mark"]["pid"]) for member in members if member["name"] == edge and member["mark"]), 0.0)


def main(
    folder: Annotated[Path, typer.Argument(metavar="SET", exists=True, file_okay=False, help="A folder with corpus.jsonl.")],
    documents: Annotated[int, typer.Option(min=1, help="Of the set, evenly over it.")] = 200,
    memory: Annotated[str, typer.Option(help="plain or model.")] = "model",
    generator: Annotated[
        str, typer.Option(help="A name of the catalogue, or a server's URL; with --memory plain none is started.")
    ] = "standard",
    work: Annotated[Path, typer.Option(help="Where the state is made.")] = WORK,
    out: Annotated[Path, typer.Option(dir_okay=False, help="File for the JSON, written over.")] = OUT,
) -> None:
    """Make memories of documents, and say what it took."""
    drop_settings_of_the_shell()
    try:
        corpus = fewer_documents(Passages.read(folder, ""), documents, seed=SEED)
        split = federated_split(corpus, name="construction", count=0, seed=SEED)
        model = NO_MODEL if memory == "plain" else generator
        found = asyncio.run(built(corpus, split, work.resolve(), memory, model))
    except BenchmarkError as error:
        raise typer.BadParameter(f"{error.message}: {error.next_step}") from error
    named = {"set": folder.name, "documents": documents, "memory": memory, "generator": model}
    text = json.dumps({**named, **code(), "machine": machine(), **found}, indent=1)
    out.write_text(text + "\n", encoding="utf-8")
    typer.echo(text)


if __name__ == "__main__":
    typer.run(main)
