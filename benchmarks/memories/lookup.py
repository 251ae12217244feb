"""What a question that a memory answers costs from end to end.

``python -m benchmarks.memories.lookup [--memories 100000]``, no language model. A store with so many memories, opened as an edge opens it;
the default embedder; the look-up, the guards, the sentences read now, citations. Half of the questions are a memory's own, the others about
nothing that is remembered. `benchmarks.memories.recall` has the part that is arithmetic. Wall and CPU milliseconds; set
``OMP_NUM_THREADS=1``. Writes ``results/lookup.json`` and prints it.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.cluster import drop_settings_of_the_shell
from benchmarks.machine import code, machine
from benchmarks.memories.recall import A_DOCUMENT, drawn, spread
from benchmarks.stand_ins import DIMENSIONS
from edge_node.answering.fast_path import FastPath
from edge_node.build import Adapters, build_node
from edge_node.database.vectors import VectorRows
from edge_node.graph.store import GraphStore
from edge_node.memory.records import Memory, Support, memory_of
from edge_node.memory.store import MemoryStore, StoredMemory
from edge_node.node import EdgeNode
from edge_node.settings import EdgeSettings
from shared.models.build import build_embedder, build_tokenizer
from shared.models.fake import ScriptedGenerator
from shared.models.settings import ModelSettings
from shared.ports import Embedder, FloatArray
from shared.records import Chunk, ChunkId
from shared.telemetry.trace import Trace
from shared.vectors import to_ints

OUT = Path("benchmarks/results/lookup.json")
LEARNED = 100  # one memory of so many is an answer that people called right
GOAL_MS = 10.0  # of the median


def filled(node: EdgeNode, memories: Sequence[Memory], vectors: FloatArray) -> list[Memory]:
    """Give a new store a document of one chunk for every ``A_DOCUMENT`` memories, a sentence for each; returns them as they are there."""
    placed, chunks = list[Memory](), list[Chunk]()
    for first in range(0, len(memories), A_DOCUMENT):
        told = memories[first : first + A_DOCUMENT]
        lines = [f"It was {one.answer} that {one.question.removeprefix('What did ').rstrip('?')}." for one in told]
        text, name = " ".join(lines), f"{first}.md"
        document = node.documents.accept(name, text.encode(), reader="a.md").document_id
        chunks.append(Chunk(ChunkId(f"{document}:0"), document, 0, text, 0, len(text), len(text) // 4))
        starts = np.cumsum([0, *(len(line) + 1 for line in lines)]).tolist()
        for one, line, start in zip(told, lines, starts, strict=False):
            support = Support(f"{document}:0", start, start + len(line))
            placed.append(memory_of(one.kind, one.question, one.answer, [support], one.anchors))
    nothing = VectorRows((), (), np.empty((0, DIMENSIONS), np.float32))
    GraphStore(node.documents.database).mentions.save_chunks(chunks, [], [], [], nothing)
    stored = [StoredMemory(one, row) for one, row in zip(placed, to_ints(vectors), strict=True)]
    MemoryStore(node.documents.database, DIMENSIONS).commit(stored)
    return placed


async def timed(fast_path: FastPath, questions: Sequence[str]) -> dict[str, Any]:
    """Wall and CPU milliseconds of each look, how many were answered, and how many gave up for want of time."""
    wall, cpu, answered, seen = list[float](), list[float](), 0, fast_path.looked
    for place, question in enumerate(questions):
        began, used = time.perf_counter(), time.process_time()
        look = await fast_path.answer(question, str(place), Trace())
        wall.append((time.perf_counter() - began) * 1000)
        cpu.append((time.process_time() - used) * 1000)
        answered += look.answer is not None
    late = len(questions) - (fast_path.looked - seen)
    return {"wall": spread(wall), "cpu": spread(cpu), "answered": round(answered / len(questions), 3), "late": late}


async def embedding(embedder: Embedder, questions: Sequence[str]) -> dict[str, float]:
    """Wall milliseconds of the embedding alone, which every question needs that is not sent on at once."""
    wall = list[float]()
    for question in questions:
        began = time.perf_counter()
        await embedder.embed([question])
        wall.append((time.perf_counter() - began) * 1000)
    return spread(wall)


async def measured(n: int, asked: int, folder: Path, embedder: Embedder) -> dict[str, Any]:
    """Looks among n memories, those that are answered and the others; and what opening the store takes."""
    rng = np.random.default_rng(0)
    memories, vectors = drawn(n, rng)
    known = rng.choice(n, asked, replace=False)
    vectors[known] = await embedder.embed([memories[row].question for row in known])  # the others are nobody's question
    for row in np.setdiff1d(rng.choice(n, n // LEARNED, replace=False), known).tolist():
        one = memories[row]
        memories[row] = memory_of("learned", one.question, one.answer, one.supports, one.anchors)
    chosen = EdgeSettings(state_dir=folder, strategy="naive")
    node = build_node(chosen, Adapters(ScriptedGenerator(str, name="standard"), embedder, build_tokenizer(ModelSettings()), None))
    try:
        placed = await asyncio.to_thread(filled, node, memories, vectors)
        began = time.perf_counter()
        await node.strategy.open()
        opened = time.perf_counter() - began
        own = [placed[row].question for row in known]
        strange = [f"{question.rpartition(' ')[0]} unheard{place}?" for place, question in enumerate(own)]
        await timed(node.fast_path, own[:10])  # a first embedding loads what later ones use
        return {
            "memories": n,
            "questions": asked,
            "goal_ms": GOAL_MS,
            "open_s": round(opened, 2),
            "embedding": await embedding(embedder, strange),
            "remembered": await timed(node.fast_path, own),
            "not_remembered": await timed(node.fast_path, strange),
        }
    finally:
        await asyncio.to_thread(node.close)


def main(
    memories: Annotated[int, typer.Option(min=100, help="How many are remembered.")] = 100_000,
    asked: Annotated[int, typer.Option(min=20, help="Questions that are remembered, and as many that are not.")] = 500,
    out: Annotated[Path, typer.Option(dir_okay=False, help="File for the JSON, written over.")] = OUT,
) -> None:
    """Ask an edge that remembers much, and say what it took."""
    drop_settings_of_the_shell()
    with tempfile.TemporaryDirectory(prefix="dgrag-lookup-") as folder:
        result = {**code(), "machine": machine(), **asyncio.run(measured(memories, asked, Path(folder), build_embedder(ModelSettings())))}
    text = json.dumps(result, indent=1)
    out.write_text(text + "\n", encoding="utf-8")
    typer.echo(text)


if __name__ == "__main__":
    typer.run(main)
