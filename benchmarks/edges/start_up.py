"""What it takes to start on a store that is there, in a fresh process.

``python -m benchmarks.edges.start_up FOLDER`` writes one JSON line.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import Any

import orjson

from benchmarks.instant_edge import instant_edge
from benchmarks.meters import Meter, percentile_ms, rss_mb
from benchmarks.stand_ins import DIMENSIONS, Models
from edge_node.database.vectors import VectorKind
from edge_node.graph.store import GraphStore
from edge_node.maintenance import open_store
from edge_node.node import EdgeNode
from shared.ports import SystemClock

QUESTIONS = 103
WARM_UP = 3
AS_OTHERS = (30_000, 40)  # tokens and hits, as the other systems give
KINDS: tuple[VectorKind, ...] = ("chunk", "entity", "relation")


def open_and_load(folder: Path) -> dict[str, Any]:
    """Open a store with every checksum looked at, then load all vectors, each checked again."""
    models = Models()
    with Meter(models.watch) as opening:
        database = open_store(folder / "edge.db", SystemClock())
    vectors = GraphStore(database).vectors
    with Meter(models.watch) as loading:
        count = sum(len(vectors.load(kind, DIMENSIONS).keys) for kind in KINDS)
    database.close()
    return {"vectors": count, "open_and_check": opening.row(), "load": loading.row(), "store_mb": store_mb(folder)}


def store_mb(folder: Path) -> float:
    """Size of a store."""
    return round(sum(path.stat().st_size for path in folder.glob("edge.db*")) / 2**20, 1)


async def questions(node: EdgeNode, models: Models, *, budget_tokens: int, top_k: int) -> dict[str, float]:
    """Retrieval for questions about the edge's entities: CPU and wall of each, models excluded, in ms."""
    names = [item["name"] for item in node.strategy.neighbourhood("", hops=0, limit=2 * QUESTIONS)["entities"]]
    cpu, wall = [], []
    for first, second in zip(names[:QUESTIONS], reversed(names), strict=False):
        with Meter(models.watch) as meter:
            await node.strategy.retrieve(f"How is {first} related to {second}?", budget_tokens=budget_tokens, top_k=top_k)
        cpu.append(meter.cpu_s)
        wall.append(meter.wall_s)
    return {f"{name}_p{q}_ms": percentile_ms(values[WARM_UP:], q) for name, values in (("cpu", cpu), ("wall", wall)) for q in (50, 95)}


async def whole_edge(folder: Path, index: str) -> dict[str, Any]:
    """Start the edge until it is ready, ask it."""
    models, before = Models(), rss_mb()
    with Meter(models.watch) as starting:
        running = instant_edge(folder, models, index=index)
        node = await running.__aenter__()
    try:
        settings = node.settings
        rows = {
            "ready": starting.row(),
            **node.strategy.counts(),
            "rss_imports_mb": before,
            "rss_ready_mb": rss_mb(),
            "retrieve_default": await questions(node, models, budget_tokens=settings.candidate_tokens, top_k=settings.top_k),
            "retrieve_as_others": await questions(node, models, budget_tokens=AS_OTHERS[0], top_k=AS_OTHERS[1]),
        }
    finally:
        await running.__aexit__(None, None, None)
    return {"index": index, **rows}


def main() -> None:
    """One line of JSON on standard output."""
    folder, index = Path(sys.argv[1]), sys.argv[2]
    began = time.process_time()
    edge = asyncio.run(whole_edge(folder, index))
    row = open_and_load(folder) | edge | {"process_cpu_before_s": round(began, 3)}
    sys.stdout.buffer.write(orjson.dumps(row) + b"\n")


if __name__ == "__main__":
    main()
