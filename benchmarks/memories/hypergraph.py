"""How fast hyperedges are learned, what form of the loss leaves hyperedges of use, and what a step costs (FD-RAG §4.1, App. D.1, Fig. 4).

``python -m benchmarks.memories.hypergraph DATA`` with DATA a folder that has the sets ``hotpotqa``, ``musique`` and ``2wikimultihopqa``:
the first sentences of each, the default embedder, no language model. Every way of learning is measured by the same number, the mean squared
distance of a sentence to what it belongs to (Σ_ij H_ij ‖x_i - p_j‖²/n), whatever it minimises itself. Goal: a step at 5,000 × 1,250 ×
384 in 0.35 s and 400 MB. CPU seconds of this process; set ``OMP_NUM_THREADS=1``. Writes ``results/hypergraph.json`` and a plot.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.machine import code, machine
from benchmarks.meters import peak_mb
from edge_node.memory.hypergraph import Rows, Shape, joined, projected, prototypes, pruned, residuals
from edge_node.memory.training import descent, grown, seeds_of, trained
from shared.models.build import build_embedder
from shared.models.settings import ModelSettings
from shared.ports import Embedder, FloatArray
from shared.text.sentences import sentences

console = Console(stderr=True, width=160)
OUT, PLOT = Path("benchmarks/results/hypergraph.json"), Path(".dgrag-bench/hypergraph.svg")
SETS = ("hotpotqa", "musique", "2wikimultihopqa")
SHAPE = Shape(softness=0.25, spread=0.1, margin=1.0, units=4, keep=0.1, steps=100)
HARD = 1e-6  # a softness that leaves each unit in one hyperedge: k-means
PAPER_RATE, PAPER_STEPS = 0.05, 300  # App. C.2
LIGHTEST = np.float32(1e-6)  # weight that is divided by
BATCH = 64
GOAL_UNITS = 5_000
FIRST, FAR = 0.8, 0.9  # share of the units that come first; share of them that are not far
DONE = 0.99  # of the fall
STEPS_SHOWN = (0, 1, 2, 3, 5, 7, 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 250, 300)
STEPS_PLOTTED = (0, 25, 50, 100, 200, 300)
NOT_PLOTTED = ("no L_inter", "L_inter x 10")  # they lie on ours
SIZES = (1, 2, 4, 8, 16, 32)  # members of a hyperedge, each up to the next

Gradient = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]  # of x_i·p_j (n, m), ‖p_j‖² (m,) and w_j (m,)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A unit: its key, and the document that it is from."""

    key: str
    document: str
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One way of learning: the mean squared distance at the start and after each step, the rows it leaves, CPU seconds of all steps."""

    losses: list[float]
    rows: Rows
    seconds: float


def read(folder: Path, limit: int) -> list[Sentence]:
    """The first sentences of a set that have a letter."""
    rows = (json.loads(line) for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").split("\n") if line)
    found = (
        Sentence(f"{row['doc_id']}:{start}", row["doc_id"], row["text"][start:end].strip())
        for row in rows
        for start, end in sentences(row["text"])
    )
    return [one for one in found if any(map(str.isalpha, one.text))][:limit]


def embedded(texts: Sequence[str], embedder: Embedder) -> FloatArray:
    """Their vectors (n, d)."""
    return np.concatenate([asyncio.run(embedder.embed(texts[start : start + BATCH])) for start in range(0, len(texts), BATCH)])


def by_mass(products: FloatArray, squared: FloatArray, _: FloatArray) -> FloatArray:
    """∂/∂H_ij of Σ_ij H_ij ‖x_i - p_j‖², but for a number that is the same for a whole row."""
    return squared - 2 * products


def by_mean(products: FloatArray, squared: FloatArray, weights: FloatArray) -> FloatArray:
    """∂/∂H_ij of Σ_j (Σ_i H_ij ‖x_i - p_j‖²)/w_j, which is what the paper's eq. 6 has most likely been."""
    held: FloatArray = np.maximum(weights, LIGHTEST)
    return 2 * (squared - products) / held


def textbook(units: FloatArray, start: FloatArray, gradient: Gradient, *, rate: float, steps: int) -> Run:
    """Projected gradient descent as the paper writes it, on a dense H that begins as ``start`` (n, m)."""
    began, own, losses, m = time.process_time(), start, list[float](), start.shape[1]
    for step in range(steps + 1):
        loss, middles, weights = standing(own, units)
        losses.append(loss)
        if step < steps:
            scores = own - rate * gradient(units @ middles.T, np.einsum("jd,jd->j", middles, middles), weights)
            own = dense(projected(scores, most=m), m)
    seconds = time.process_time() - began
    return Run(losses, pruned(projected(own, most=m), SHAPE.keep), seconds)


def standing(own: FloatArray, units: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """The mean squared distance at a dense H (n, m), the prototypes (m, d), and the weights of their hyperedges (m,)."""
    weights = own.sum(axis=0)
    middles = own.T @ units / np.maximum(weights, LIGHTEST)[:, None]
    return 1 - float(weights @ np.square(middles).sum(axis=1)) / len(units), middles, weights


def dense(rows: Rows, m: int) -> FloatArray:
    """The matrix (n, m) of sparse rows without padding twice in a column."""
    whole = np.zeros((len(rows.values), m), rows.values.dtype)
    row, slot = np.nonzero(rows.values)
    whole[row, rows.columns[row, slot]] = rows.values[row, slot]
    return whole


def ours(units: FloatArray, seeds: FloatArray, shape: Shape) -> Run:
    """The product's descent from prototypes (m, d)."""
    began, losses = time.process_time(), list[float]()
    for point in descent(units, seeds, shape):
        losses.append(point.intra / len(units))
    return Run(losses, pruned(point.rows, shape.keep), time.process_time() - began)


def runs(units: FloatArray, keys: Sequence[str], shape: Shape, rng: np.random.Generator, steps: int) -> dict[str, Run]:
    """Every way of learning: ours, from other starts and with other weights of L_inter, and the paper's rate with two forms of the loss.

    ``steps``: of those with the paper's rate.
    """
    m = -(-len(units) // shape.units)
    seeds = units[seeds_of(keys, m)]
    alone = replace(shape, spread=0)
    random = rng.random((len(units), m), dtype=np.float32)
    random /= random.sum(axis=1, keepdims=True)
    middles = random.T @ units / random.sum(axis=0)[:, None]
    seeded = dense(joined(units, seeds, alone), m)
    return {
        "ours": ours(units, seeds, shape),
        "no L_inter": ours(units, seeds, alone),
        "L_inter x 10": ours(units, seeds, replace(shape, spread=10 * shape.spread)),
        "k-means": ours(units, seeds, replace(alone, softness=HARD)),
        "random start": ours(units, middles, alone),
        "random, rate 0.05": textbook(units, random, by_mass, rate=PAPER_RATE, steps=steps),
        "mean form, random": textbook(units, random, by_mean, rate=PAPER_RATE, steps=steps),
        "mean form, seeds": textbook(units, seeded, by_mean, rate=PAPER_RATE, steps=steps),
    }


def figures(run: Run, documents: Sequence[str]) -> dict[str, Any]:
    """The curve of a run, and what its hyperedges are like; ``documents`` (n,): where the units are from."""
    falls, steps = run.losses[0] - np.array(run.losses), len(run.losses) - 1
    row, slot = np.nonzero(run.rows.values)
    columns = run.rows.columns[row, slot]
    members = np.unique(columns, return_counts=True)[1]
    pairs = {(column, documents[unit]) for column, unit in zip(columns.tolist(), row.tolist(), strict=True)}
    return {
        "steps": steps,
        "cpu_s_a_step": round(run.seconds / max(1, steps), 4),
        "fall_done_at": int(np.argmax(falls >= DONE * falls[-1])),
        "curve": {step: round(run.losses[step], 4) for step in (*(one for one in STEPS_SHOWN if one < steps), steps)},
        "hyperedges": len(members),
        "of_one": round(float(np.mean(members == 1)), 3),
        "members_median": float(np.median(members)),
        "members_p95": float(np.quantile(members, 0.95)),
        "members_most": int(members.max()),
        "members": {f"from {size}": int(count) for size, count in zip(SIZES, np.histogram(members, (*SIZES, np.inf))[0], strict=True)},
        "hyperedges_of_a_unit": round(len(columns) / len(documents), 3),
        "documents_of_a_hyperedge": round(len(pairs) / len(members), 2),
    }


def added(units: FloatArray, keys: Sequence[str], shape: Shape) -> dict[str, Any]:
    """The last fifth of the units added to hyperedges of the others, against all of them trained together."""
    first = round(FIRST * len(units))
    old, new = units[:first], units[first:]
    before = trained(old, keys[:first], shape, lambda _: None)
    middles, _ = prototypes(before.rows, old, len(before.weights))
    residual = float(np.quantile(residuals(before.rows, old, middles), FAR))
    joining = residuals(pruned(joined(new, middles, shape), shape.keep), new, middles)
    rows, seeds = grown(new, middles, shape, residual=residual)
    m = len(before.weights) + len(seeds)
    after = trained(units, keys, shape, lambda _: None)
    both = np.concatenate([dense(before.rows, m), dense(rows, m)])
    return {
        "units": [len(old), len(new)],
        "residual": round(residual, 3),
        "beyond_it": round(float(np.mean(joining > residual)), 3),
        "hyperedges": {"before": len(before.weights), "opened": len(seeds), "trained_together": len(after.weights)},
        "mean_squared_distance": {
            "added": round(standing(both, units)[0], 4),
            "trained_together": round(standing(dense(after.rows, len(after.weights)), units)[0], 4),
        },
    }


def step_cost(units: FloatArray, keys: Sequence[str], shape: Shape) -> dict[str, Any]:
    """CPU seconds of a step in the middle, and the memory that this process holds at most, before and after."""
    m, before, spent = -(-len(units) // shape.units), peak_mb(), list[float]()
    points = descent(units, units[seeds_of(keys, m)], shape)
    while True:
        began = time.process_time()
        if next(points, None) is None:
            break
        spent.append(time.process_time() - began)
    return {
        "spread": shape.spread,
        "size": [len(units), m, units.shape[1]],
        "steps": len(spent) - 1,
        "cpu_s_a_step": round(float(np.median(spent)), 3),
        "peak_mb": peak_mb(),
        "peak_mb_before": before,
    }


def plotted(found: Mapping[str, Mapping[str, Run]]) -> bytes:
    """The curves of each set as SVG; one that has ended stays where it ended."""
    from benchmarks.report.plots import Panel, lines  # matplotlib takes seconds

    return lines(
        [
            Panel(
                name,
                "mean squared distance",
                {
                    label: {step: run.losses[min(step, len(run.losses) - 1)] for step in STEPS_PLOTTED}
                    for label, run in ways.items()
                    if label not in NOT_PLOTTED
                },
            )
            for name, ways in found.items()
        ],
        "step",
    )


def table(name: str, result: Mapping[str, Mapping[str, Any]]) -> Table:
    """Each way of learning of one set."""
    shown = Table(title=name)
    for column in ("", "steps", "99 % of the fall at", "from", "to", "hyperedges", "of one unit", "members: median", "most", "documents"):
        shown.add_column(column, justify="right" if column else "left")
    for label, row in result.items():
        curve = list(row["curve"].values())
        sizes = str(row["hyperedges"]), f"{row['of_one'] * 100:.0f} %", f"{row['members_median']:g}", str(row["members_most"])
        steps = str(row["steps"]), str(row["fall_done_at"])
        shown.add_row(label, *steps, f"{curve[0]:.3f}", f"{curve[-1]:.3f}", *sizes, f"{row['documents_of_a_hyperedge']:.2f}")
    return shown


def main(
    data: Annotated[Path, typer.Argument(metavar="DATA", exists=True, file_okay=False, help="A folder with the sets.")],
    units: Annotated[int, typer.Option(min=20, help="Sentences of each set.")] = 2_000,
    out: Annotated[Path, typer.Option(dir_okay=False, help="File for the JSON, written over.")] = OUT,
    plot: Annotated[Path, typer.Option(dir_okay=False, help="File for the plot, written over.")] = PLOT,
) -> None:
    """Learn hyperedges of sentences in several ways, and say how it went."""
    embedder, curves, sets = build_embedder(ModelSettings()), dict[str, dict[str, Run]](), dict[str, Any]()
    keys, vectors = list[str](), list[FloatArray]()
    for name in SETS:
        read_here = read(data / name, units)
        keys += (own := [f"{name}:{one.key}" for one in read_here])
        vectors.append(here := embedded([one.text for one in read_here], embedder))
        curves[name] = runs(here, own, SHAPE, np.random.default_rng(0), PAPER_STEPS)
        ways = {label: figures(run, [one.document for one in read_here]) for label, run in curves[name].items()}
        sets[name] = {"units": len(here), "ways": ways, "added": added(here, own, SHAPE)}
        console.print(table(name, ways))
    whole = np.concatenate(vectors)[:GOAL_UNITS]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as fresh:  # a process' peak never falls
        costs = [fresh.submit(step_cost, whole, keys[: len(whole)], replace(SHAPE, spread=spread)) for spread in (0.0, SHAPE.spread)]
        goal = [cost.result() for cost in costs]
    result = {**code(), "machine": machine(), "shape": asdict(SHAPE), "sets": sets, "goal_f14": goal}
    text = json.dumps(result, indent=1)
    out.write_text(text + "\n", encoding="utf-8")
    plot.parent.mkdir(parents=True, exist_ok=True)
    plot.write_bytes(plotted(curves))
    typer.echo(text)


if __name__ == "__main__":
    typer.run(main)
