"""What it costs to look a question up among memories (FD-RAG §4.2): ``python -m benchmarks.memories.recall [--memories 100000]``, no model.

Questions are a name and words drawn by Zipf's law, with vectors around a direction that all share, so the figures are of cost and say
nothing about quality. Half of the questions asked are a memory's own in other words: a vector near its own, and one word exchanged.
CPU milliseconds of this process; set ``OMP_NUM_THREADS=1``. Writes ``results/recall.json`` and prints it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.machine import code, machine
from benchmarks.meters import peak_mb, spent
from benchmarks.stand_ins import DIMENSIONS
from edge_node.memory.recall import RecallIndex
from edge_node.memory.records import Memory, Support, memory_of
from shared.ports import FloatArray
from shared.records import DocumentId
from shared.vectors import unit

OUT = Path("benchmarks/results/recall.json")
WORDS, NAMES, IN_QUESTION = 30_600, 20_000, 3  # of the vocabulary, of names of two words, of a question besides its name
A_DOCUMENT, WITHHELD = 20, 0.1  # memories; share of the documents
COMMON, OWN = (
    0.55,
    0.1,
)  # weights: of the direction that all share, and of what a question has for itself: a cosine of 0.995 with its memory
ALPHA, FLOORS, K = 0.7, {"answer": 0.92, "learned": 0.88, "nearest": 0.0}, 10
BATCH, CHANGES = 100, 20  # memories that come, and go, at a time; times


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A question: its text, and its vector (d,)."""

    text: str
    vector: FloatArray


def drawn(n: int, rng: np.random.Generator) -> tuple[list[Memory], FloatArray]:
    """So many memories with their vectors (n, d)."""
    weights = 1 / (np.arange(1, WORDS + 1) + 20.0)
    words = rng.choice(WORDS, (n, IN_QUESTION), p=weights / weights.sum())
    names = rng.integers(0, NAMES, n)
    memories = [remembered(row, name_of(int(name)), *of_it) for row, (name, of_it) in enumerate(zip(names, words.tolist(), strict=True))]
    return memories, directions(n, rng)


def remembered(row: int, name: str, *words: int) -> Memory:
    """A memory that is found by the words of its question."""
    told = [f"w{word}" for word in words]
    support = Support(f"d{row // A_DOCUMENT}:0", row, row + 9)
    return memory_of("template", f"What did {name} {' '.join(told)}?", f"a{row}", [support], [name, *told])


def name_of(number: int) -> str:
    """A name of two words that a hundred names begin with."""
    return f"n{number // 100} n{number}"


def directions(n: int, rng: np.random.Generator) -> FloatArray:
    """(n, d) unit rows with a cosine of about 0.3 to each other."""
    common = unit(np.ones((1, DIMENSIONS), np.float32))
    return unit(COMMON * common + (1 - COMMON**2) ** 0.5 * unit(rng.standard_normal((n, DIMENSIONS)).astype(np.float32)))


def questions(memories: Sequence[Memory], vectors: FloatArray, n: int, rng: np.random.Generator) -> list[Asked]:
    """So many questions, each second one about nothing that is remembered."""
    rows = rng.integers(0, len(memories), n)
    noise = unit(rng.standard_normal((n, DIMENSIONS)).astype(np.float32))
    near, others = unit(vectors[rows] + OWN * noise), directions(n, rng)
    texts = [memories[row].question.rpartition(" ")[0] + " unheard?" for row in rows]
    return [Asked(text, near[at] if at % 2 else others[at]) for at, text in enumerate(texts)]


def spread(times: Sequence[float]) -> dict[str, float]:
    """The median and the 95th percentile."""
    return {"p50_ms": round(float(np.median(times)), 3), "p95_ms": round(float(np.quantile(times, 0.95)), 3)}


def looked_up(index: RecallIndex, asked: Sequence[Asked], floor: float, withheld: frozenset[DocumentId]) -> dict[str, float]:
    """Anchors and the ten best answers of each question; and the share of questions for which there is one."""
    times, hits = list[float](), 0
    for one in asked:
        began = time.process_time()
        anchors = index.anchors_of(one.text, withheld)
        hits += bool(index.best(one.vector, anchors, k=K, alpha=ALPHA, floor=floor, withheld=withheld))
        times.append((time.process_time() - began) * 1000)
    return spread(times) | {"hit": round(hits / len(asked), 3)}


def changes(index: RecallIndex, memories: Sequence[Memory], vectors: FloatArray, batch: int) -> tuple[RecallIndex, list[float]]:
    """The index after one change after the other, and the milliseconds of each: so many come, and as many go."""
    times = list[float]()
    for start in range(0, CHANGES * batch, batch):
        came, gone = slice(start, start + batch), [memory.memory_id for memory in islice(index, batch)]
        began = time.process_time()
        index = index.changed(memories[came], vectors[came], gone)
        times.append((time.process_time() - began) * 1000)
    return index, times


def measured(n: int, asked: int, rng: np.random.Generator) -> dict[str, Any]:
    """Look-ups among n memories with each floor, with documents withheld, and what changing the index takes."""
    before = peak_mb()
    memories, vectors = drawn(n + CHANGES * BATCH, rng)
    built = list[RecallIndex]()
    seconds = spent(lambda: built.append(RecallIndex.of(memories[:n], vectors[:n])))
    index = built[0]
    several = questions(memories[:n], vectors[:n], asked, rng)
    found = {name: {"floor": floor} | looked_up(index, several, floor, frozenset()) for name, floor in FLOORS.items()}
    hidden = frozenset(DocumentId(f"d{row}") for row in range(round(WITHHELD * n / A_DOCUMENT)))
    withheld = looked_up(index, several, FLOORS["answer"], hidden)
    anchors = [spent(partial(index.anchors_of, one.text)) * 1000 for one in several]
    later, hundreds = changes(index, memories[n:], vectors[n:], BATCH)
    _, ones = changes(later, memories, vectors, 1)  # of those that went
    return {
        "memories": n,
        "questions": asked,
        "anchors_of": spread(anchors),
        **found,
        "tenth_withheld": withheld,
        "build_s": round(seconds, 2),
        "change_of_100": spread(hundreds),
        "change_of_1": spread(ones),
        "peak_mb": peak_mb(),
        "peak_mb_before": before,
    }


def main(
    memories: Annotated[int, typer.Option(min=100, help="How many are remembered.")] = 100_000,
    asked: Annotated[int, typer.Option(min=10, help="How many questions.")] = 1_000,
    out: Annotated[Path, typer.Option(dir_okay=False, help="File for the JSON, written over.")] = OUT,
) -> None:
    """Look questions up among memories, and say what it took."""
    result = {**code(), "machine": machine(), "alpha": ALPHA, "k": K, **measured(memories, asked, np.random.default_rng(0))}
    text = json.dumps(result, indent=1)
    out.write_text(text + "\n", encoding="utf-8")
    typer.echo(text)


if __name__ == "__main__":
    typer.run(main)
