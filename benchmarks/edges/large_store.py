"""What a large edge takes beside its models: ``python -m benchmarks.edges.large_store DATA [--passages 100000] [--steps 4]``.

The documents of ``benchmarks.edges.large_edge``, at an edge in this process with models that answer at once: names are found by capitals,
and vectors are hashed words. Store, indexes, graph and settles are the real ones. Seconds of the stand-ins are left out. After each step
the textbooks' questions are asked, a document is added, changed and deleted; in the end the edge is opened anew. One JSON line a step.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from benchmarks.edges.indexing import WARM_UP
from benchmarks.edges.large_edge import ONE_MORE, ONE_MORE_CHARS, documents, questions_of, texts_of
from benchmarks.instant_edge import add, instant_edge, settled
from benchmarks.machine import code, machine
from benchmarks.meters import Meter, percentile_ms, rss_mb
from benchmarks.stages.index import disk_bytes
from benchmarks.stand_ins import Models
from edge_node.node import EdgeNode
from shared.records import DocumentId

AT_ONCE = 512  # documents
AS_SHIPPED: dict[str, Any] = {"chunk_tokens": 200, "chunk_overlap": 30, "memory": "off"}


async def filled(node: EdgeNode, models: Models, source: Iterator[tuple[str, str]], passages: int) -> dict[str, Any]:
    """Add documents until there are so many passages; seconds are of this step, those of the slowest settled batch beside them."""
    batches = list[float]()
    with Meter(models.watch) as meter:
        while node.documents.totals()["chunks"] < passages:
            began = time.perf_counter()
            await add(node, list(islice(source, AT_ONCE)))
            batches.append(time.perf_counter() - began)
    totals = node.documents.totals()
    read = {name: totals[name] for name in ("chunks", "tokens")}
    return {**read, **node.strategy.counts(), **meter.row(), "slowest_batch_s": round(max(batches), 1)}


async def asked(node: EdgeNode, questions: Sequence[str]) -> dict[str, float]:
    """Each question once."""
    seconds = list[float]()
    for question in questions:
        began = time.perf_counter()
        await node.strategy.retrieve(question, budget_tokens=1600, top_k=20)
        seconds.append(time.perf_counter() - began)
    return {f"retrieve_p{q}_ms": percentile_ms(seconds[WARM_UP:], q) for q in (50, 95)}


async def changed(node: EdgeNode, models: Models, text: str) -> dict[str, dict[str, float]]:
    """A document is added, comes with another text, and is deleted."""
    found = dict[str, dict[str, float]]()
    for name, start in (("added", 0), ("changed", ONE_MORE_CHARS)):
        with Meter(models.watch) as meter:
            await add(node, [("one.md", f"{ONE_MORE}{text[start:][:ONE_MORE_CHARS]}")])
        found[name] = meter.row()
    (one,) = node.documents.list(limit=1, name="one.md")
    with Meter(models.watch) as meter:
        await node.remove(DocumentId(one["document_id"]))
        await settled(node)
    return found | {"deleted": meter.row()}


async def measured(folder: Path, data: Path, passages: int, steps: int) -> None:
    """All steps, then a start."""
    models, texts, questions = Models(), texts_of(data), questions_of(data)
    source = documents(texts)
    async with instant_edge(folder, models, **AS_SHIPPED) as node:
        for step in range(1, steps + 1):
            row = await filled(node, models, source, passages * step // steps)
            row |= {"rss_mb": rss_mb(), "disk_mb": round(disk_bytes(folder) / 2**20, 1)}
            row |= await asked(node, questions) | await changed(node, models, texts[0])
            print(orjson.dumps({**code(), "machine": machine(), **row}).decode(), flush=True)
    async with AsyncExitStack() as stack:
        with Meter(models.watch) as meter:
            node = await stack.enter_async_context(instant_edge(folder, models, **AS_SHIPPED))
        print(orjson.dumps({"opened": meter.row(), **await asked(node, questions)}).decode())


def main(
    data: Annotated[Path, typer.Argument(help="Folder of evaluation data.", exists=True, file_okay=False)],
    passages: Annotated[int, typer.Option(min=100)] = 100_000,
    steps: Annotated[int, typer.Option(min=1, help="At which it is measured, evenly.")] = 4,
) -> None:
    """Fill an edge step by step."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measured(Path(folder), data, passages, steps))


if __name__ == "__main__":
    typer.run(main)
