"""What the life of an index costs: documents added to a large one, a start on it, questions meanwhile, and the single pieces.

``python -m benchmarks.edges.life [--entities 10000] [--large 37000] [--out FILE]`` writes one JSON file. Models answer at once, and
their time is not counted, but for ``under_load``, which runs a real edge with spaCy and the default embedder.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks.edges.pieces import commit, partitioning, prompts
from benchmarks.edges.start_up import store_mb
from benchmarks.instant_edge import CHUNK_OVERLAP, CHUNK_TOKENS, add, instant_edge
from benchmarks.meters import Meter
from benchmarks.stand_ins import Models
from benchmarks.synthetic import NEW_NAMES, Names, documents
from benchmarks.under_load import sample_documents, under_load
from edge_node.node import EdgeNode
from shared.models.build import build_tokenizer
from shared.models.settings import ModelSettings
from shared.wire import DeltaBody

console = Console(stderr=True)
PASSAGES_A_DOCUMENT = 3  # about 3,000 tokens
SINGLE = 7  # documents that are added one by one
BATCHES = (10, 100)
PARTITION_EDGES = 100_000
VERSIONS = ("numpy", "graspologic-native", "nano-vectordb", "spacy", "onnxruntime")


def told_cloud(node: EdgeNode, epoch: str, known: int) -> dict[str, int]:
    """Summaries and bytes that a cloud which knows version ``known`` must be sent."""
    upserts = removals = size = 0
    while True:
        delta = node.graph.delta(epoch=epoch, version=known)
        if (upserts or removals) and not (delta.upserts or delta.removals):
            break
        size += len(DeltaBody.from_record(delta).model_dump_json())
        upserts, removals = upserts + len(delta.upserts), removals + len(delta.removals)
        if delta.version == node.graph.version():
            break
        known = delta.version
    return {"summaries": upserts, "removals": removals, "delta_bytes": size}


async def measured(node: EdgeNode, models: Models, batch: list[tuple[str, str]]) -> dict[str, Any]:
    """Add documents and wait for the settle."""
    epoch, known = node.graph.epoch(), node.graph.version()
    embedded, tokens = models.texts_embedded, node.documents.totals()["tokens"]
    with Meter(models.watch) as meter:
        await add(node, batch)
    corpus = node.documents.totals()["tokens"] - tokens
    counted = {"tokens": corpus, "texts_embedded": models.texts_embedded - embedded}
    return {"documents": len(batch), **meter.row(), **counted, **told_cloud(node, epoch, known)}


async def build(folder: Path, names: Names, passages: int) -> dict[str, Any]:
    """A new edge of so many passages: what a full rebuild costs."""
    models = Models()
    began = time.perf_counter()
    async with instant_edge(folder, models) as node:
        with Meter(models.watch) as meter:
            await add(node, list(documents(names, passages=passages, each=PASSAGES_A_DOCUMENT, prefix="base")))
        counts, totals = node.strategy.counts(), node.documents.totals()
    console.print(f"built {counts} in {time.perf_counter() - began:.0f} s")
    return {**meter.row(), **counts, "chunks": totals["chunks"], "tokens": totals["tokens"], "store_mb": store_mb(folder), "load": load()}


async def adding(folder: Path, names: Names) -> list[dict[str, Any]]:
    """1 (the median of SINGLE), then each of BATCHES documents, with the default settings; without a language model."""
    models = Models()
    async with instant_edge(folder, models) as node:
        single = [
            await measured(node, models, list(documents(names, passages=PASSAGES_A_DOCUMENT, each=PASSAGES_A_DOCUMENT, prefix=f"one-{k}")))
            for k in range(SINGLE)
        ]
        rows = [{key: median(row[key] for row in single[1:]) for key in single[0]}]
        rows[0]["cpu_s_each"] = [row["cpu_s"] for row in single]
        for size in BATCHES:
            batch = documents(names, passages=PASSAGES_A_DOCUMENT * size, each=PASSAGES_A_DOCUMENT, prefix=f"many-{size}")
            rows.append(await measured(node, models, list(batch)) | {"load": load()})
    return rows


async def asking(folder: Path, names: Names) -> list[dict[str, Any]]:
    """What a model would be sent for the same with ``extraction_share`` 1 and its own summaries, by the edge's count of tokens."""
    models = Models(tokenizer=build_tokenizer(ModelSettings()))
    rows = []
    async with instant_edge(folder, models, summaries="model") as node:
        await node.worker.news.until(lambda: node.strategy.stale == 0)
        for size in (1, *BATCHES):
            extraction, prompts, tokens = models.extraction_tokens, models.prompts, models.prompt_tokens
            batch = documents(names, passages=PASSAGES_A_DOCUMENT * size, each=PASSAGES_A_DOCUMENT, prefix=f"asked-{size}")
            row = await measured(node, models, list(batch))
            await node.worker.news.until(lambda: node.worker.idle and node.strategy.stale == 0)
            rows.append(
                {
                    "documents": size,
                    "corpus_tokens": row["tokens"],
                    "extraction_tokens": models.extraction_tokens - extraction,
                    "extraction_calls": size * PASSAGES_A_DOCUMENT,
                    "summary_calls": models.prompts - prompts,
                    "summary_tokens": models.prompt_tokens - tokens,
                    "ratio_extraction": round((models.extraction_tokens - extraction) / row["tokens"], 3),
                }
            )
    return rows


def started(folder: Path, index: str) -> dict[str, Any]:
    """A start in a process of its own."""
    command = [sys.executable, "-P", "-m", "benchmarks.edges.start_up", str(folder), index]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)  # noqa: S603 - our own command
    row: dict[str, Any] = json.loads(done.stdout)
    return row | {"load_average": load()}


def load() -> float:
    """How many processes have wanted a core during the last minute."""
    return round(os.getloadavg()[0], 2)


def commit_id() -> str:
    """The commit of this tree, with a mark if it was changed since."""
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, stdout=subprocess.PIPE, check=False, text=True).stdout.strip()  # noqa: S603 - our own command


def context() -> dict[str, Any]:
    """When, where and on what it was measured."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"cores": os.cpu_count(), "architecture": platform.machine(), "threads": os.environ.get("OMP_NUM_THREADS", "")},
        "commit": commit_id(),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in VERSIONS},
        "settings": {"chunk_tokens": CHUNK_TOKENS, "chunk_overlap": CHUNK_OVERLAP, "others": "defaults"},
        "load_average": load(),
    }


def measure(work: Path, entities: int, large: int) -> dict[str, Any]:
    """Everything, in folders under ``work``."""
    names, small, big = Names(), work / "small", work / "large"
    result: dict[str, Any] = {"context": context(), "rebuild": asyncio.run(build(small, names, entities // NEW_NAMES))}
    shutil.copytree(small, work / "asked")
    result["start_up"] = [started(small, index) for index in ("nano", "numpy")]
    result["adding"] = asyncio.run(adding(small, names))
    result["asking"] = asyncio.run(asking(work / "asked", names))
    console.print("pieces")
    result |= {"partition": partitioning(PARTITION_EDGES), "commit": commit(), "prompts": prompts(sample_documents())}
    (work / "served").mkdir()
    console.print("under load")
    result["under_load"] = under_load(work / "served") | {"load_average": load()}
    if large:
        names = Names()
        result["large"] = asyncio.run(build(big, names, large // NEW_NAMES))
        result["large_start_up"] = [started(big, index) for index in ("nano", "numpy")]
        result["large_adding"] = asyncio.run(adding(big, names))
    return result


def main(
    entities: Annotated[int, typer.Option(help="entities of the index that documents are added to")] = 10_000,
    large: Annotated[int, typer.Option(help="entities of a second one; 37,000 make 100,000 vectors; 0: none")] = 37_000,
    out: Annotated[Path, typer.Option(help="result file")] = Path("benchmarks/results/life.json"),
) -> None:
    """Measure, and write the figures as one JSON file."""
    with tempfile.TemporaryDirectory() as work:
        result = measure(Path(work), entities, large)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(result, indent=1), encoding="utf-8")
    console.print_json(json.dumps(result))


if __name__ == "__main__":
    typer.run(main)
