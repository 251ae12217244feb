"""What a growing corpus costs EraRAG's tree: half of it first, ten times a twentieth, then one document (EraRAG §V-C, Tables IV, V).

``python -m benchmarks.erarag.growth SET [--initial 0.5] [--bounds 4,16] [--documents N] [--out FILE]`` with SET a folder of
``corpus.jsonl`` and ``questions.jsonl``. The edge's real write path and the default embedder, no graph; the model's summaries are sentences
of what it is asked to summarise, so that calls and tokens are exact and say nothing about quality. Prints and writes one JSON.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from benchmarks.erarag.growth_models import Counting, Nothing, Remembering
from benchmarks.instant_edge import add, indexed_of, running
from benchmarks.machine import code, machine
from benchmarks.metrics.retrieval import recall_at
from benchmarks.metrics.text import covered
from edge_node.build import Adapters, build_node
from edge_node.node import EdgeNode
from edge_node.settings import EdgeSettings
from edge_node.strategies.erarag.segments import Bounds
from shared.models.build import build_embedder, build_tokenizer
from shared.models.settings import ModelSettings
from shared.ports import Tokenizer

console = Console(stderr=True)
BATCHES, BATCH_SHARE = 10, 0.05  # §V-C
TOP_K, BUDGET_TOKENS = 5, 12_000
READ_TOKENS = 600  # that a small model reads


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one step: model calls and tokens, texts embedded, seconds without models, nodes of the tree before and after."""

    calls: int
    tokens_in: int
    tokens_out: int
    embedded: int
    seconds: float
    nodes: int
    new_nodes: int


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents as (name, text), and questions as (text, names of the documents that they need, accepted answers)."""

    documents: list[tuple[str, str]]
    questions: list[tuple[str, tuple[str, ...], tuple[str, ...]]]

    @classmethod
    def read(cls, folder: Path, limit: int | None) -> Corpus:
        """The set in ``folder``: the first ``limit`` documents, and the questions that need no other."""
        rows = [json.loads(line) for line in (folder / "corpus.jsonl").open(encoding="utf-8")][:limit]
        documents = [(row["doc_id"], f"{row.get('title') or ''}\n{row['text']}".strip()) for row in rows]
        names = {name for name, _ in documents}
        asked = [json.loads(line) for line in (folder / "questions.jsonl").open(encoding="utf-8")]
        needed = [row for row in asked if row.get("gold_doc_ids") and names.issuperset(row["gold_doc_ids"])]
        return cls(documents, [(row["question"], tuple(row["gold_doc_ids"]), tuple(row["answers"])) for row in needed])


class Growing:
    """One edge whose tree is measured."""

    def __init__(self, folder: Path, models: Counting, embedder: Remembering, tokenizer: Tokenizer, tree: Mapping[str, Any]) -> None:
        settings = EdgeSettings(state_dir=folder, strategy="erarag", summaries="model", **tree)
        self.node: EdgeNode = build_node(settings, Adapters(models, embedder, tokenizer, None))
        self._models, self._embedder = models, embedder
        indexed_of(self.node).write_path.extractor = Nothing()  # only the tree is measured

    def _nodes(self) -> set[str]:
        return {row["node_id"] for row in self.node.documents.database.rows("SELECT node_id FROM tree_nodes")}

    async def add(self, documents: Sequence[tuple[str, str]]) -> Cost:
        """Index documents, settle, and wait until the worker has let the model write what it should."""
        before, calls, tokens = self._nodes(), self._models.calls, (self._models.tokens_in, self._models.tokens_out)
        embedded, spent, began = self._embedder.embedded, self._models.seconds + self._embedder.seconds, time.perf_counter()
        await add(self.node, documents)
        await self.node.worker.settle()
        await self.node.worker.news.until(lambda: self.node.worker.idle and not self.node.strategy.stale)
        seconds = time.perf_counter() - began - (self._models.seconds + self._embedder.seconds - spent)
        after = self._nodes()
        return Cost(
            self._models.calls - calls,
            self._models.tokens_in - tokens[0],
            self._models.tokens_out - tokens[1],
            self._embedder.embedded - embedded,
            round(seconds, 3),
            len(after),
            len(after - before),
        )

    async def found(self, questions: Sequence[tuple[str, tuple[str, ...], tuple[str, ...]]]) -> dict[str, float]:
        """Means over the questions whose documents are all there.

        recall: recall@5 of the needed documents. coverage: the answer stands in what a small model reads, passages and the tree's texts.
        """
        there = {row["name"] for row in self.node.documents.database.rows("SELECT name FROM documents WHERE status = 'indexed'")}
        recalls, coverages = list[float](), list[float]()
        for text, gold, answers in questions:
            if there.issuperset(gold):
                found = await self.node.strategy.retrieve(text, budget_tokens=BUDGET_TOKENS, top_k=4 * TOP_K)
                recalls.append(recall_at(list(dict.fromkeys(item.document for item in found.evidence)), gold, TOP_K))
                few = await self.node.strategy.retrieve(text, budget_tokens=READ_TOKENS, top_k=4 * TOP_K)
                read = "\n".join([*(one.text for one in few.summaries), *(item.text for item in few.evidence)])
                coverages.append(float(bool(covered(read, answers))))
        means = {"recall": recalls, "coverage": coverages}
        return {name: round(float(np.mean(scores)), 4) if scores else float("nan") for name, scores in means.items()}


async def grown(corpus: Corpus, work: Path, initial: float, tree: Mapping[str, Any], *, rebuild_each: bool) -> dict[str, Any]:
    """The experiment; the last document is kept for the insertion of a single one."""
    order = np.random.default_rng(0).permutation(len(corpus.documents) - 1)
    documents = [corpus.documents[row] for row in order]
    tokenizer, embedder = build_tokenizer(ModelSettings()), Remembering(build_embedder(ModelSettings()))
    ends = [round(len(documents) * (initial + step * BATCH_SHARE)) for step in range(round((1 - initial) / BATCH_SHARE) + 1)]
    steps: list[dict[str, Any]] = []
    edge = Growing(work / "grown", Counting(tokenizer), embedder, tokenizer, tree)
    async with running(edge.node):
        for number, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
            cost = await edge.add(documents[start:end])
            rebuilt = None
            if rebuild_each or end == ends[-1]:
                rebuilt = await rebuild(documents[:end], corpus, work / f"rebuilt-{number}", embedder, tokenizer, tree)
            steps.append({"documents": end, "added": end - start, **asdict(cost), **await edge.found(corpus.questions), "rebuild": rebuilt})
            console.print(steps[-1])
        single = await edge.add([corpus.documents[-1]])
    return {"tree": dict(tree), "initial": initial, "steps": steps, "single": asdict(single), **summed(steps, single)}


async def rebuild(
    documents: Sequence[tuple[str, str]], corpus: Corpus, folder: Path, embedder: Remembering, tokenizer: Tokenizer, tree: Mapping[str, Any]
) -> dict[str, Any]:
    """The same documents, all at once, in a new edge."""
    edge = Growing(folder, Counting(tokenizer), embedder, tokenizer, tree)
    async with running(edge.node):
        row = asdict(await edge.add(documents)) | await edge.found(corpus.questions)
    shutil.rmtree(folder)
    return row


def summed(steps: Sequence[Mapping[str, Any]], single: Cost) -> dict[str, Any]:
    """Tokens of all insertions against those of a rebuild at each of them, and of the single document against the last rebuild."""
    inserted = sum(step["tokens_in"] + step["tokens_out"] for step in steps)
    rebuilds = [step["rebuild"] for step in steps if step["rebuild"]]
    last = rebuilds[-1]["tokens_in"] + rebuilds[-1]["tokens_out"]
    all_rebuilt = sum(row["tokens_in"] + row["tokens_out"] for row in rebuilds)
    return {
        "tokens_inserted": inserted,
        "tokens_rebuilt_each_time": all_rebuilt if len(rebuilds) == len(steps) else None,
        "tokens_saved": round(1 - inserted / all_rebuilt, 4) if len(rebuilds) == len(steps) else None,
        "single_tokens": single.tokens_in + single.tokens_out,
        "rebuild_over_single": round(last / spent, 1) if (spent := single.tokens_in + single.tokens_out) else None,  # None: it cost none
        "recall_final": steps[-1]["recall"],
        "recall_rebuilt": rebuilds[-1]["recall"],
        "coverage_final": steps[-1]["coverage"],
        "coverage_rebuilt": rebuilds[-1]["coverage"],
    }


def tree_of(bounds: str, staleness: float) -> dict[str, Any]:
    """The settings of a tree. Raises BadParameter.

    >>> tree_of("4,16", 0.2)
    {'tree_min': 4, 'tree_max': 16, 'tree_staleness': 0.2}
    """
    try:
        least, most = (int(number) for number in bounds.split(","))
        Bounds(least, most)
    except ValueError as error:
        raise typer.BadParameter(f"{bounds!r}: {error}; give S_min,S_max as in 4,16", param_hint="--bounds") from error
    return {"tree_min": least, "tree_max": most, "tree_staleness": staleness}


def main(
    folder: Annotated[
        Path, typer.Argument(metavar="SET", exists=True, file_okay=False, help="A folder with corpus.jsonl and questions.jsonl.")
    ],
    initial: Annotated[float, typer.Option(min=0.05, max=1.0, help="Share of the documents that is there at first.")] = 0.5,
    bounds: Annotated[str, typer.Option(help="S_min,S_max of a segment.")] = "4,16",
    staleness: Annotated[float, typer.Option(min=0, max=1, help="tree_staleness; 0 is the paper's.")] = 0.2,
    documents: Annotated[int | None, typer.Option(min=40, help="Only the first so many.")] = None,
    rebuild_each: Annotated[bool, typer.Option(help="Rebuild at every step, not only at the last.")] = True,
    out: Annotated[Path | None, typer.Option(dir_okay=False, help="File for the JSON, written over; printed in any case.")] = None,
) -> None:
    """Grow an edge's tree step by step, and say what each step costs."""
    tree = tree_of(bounds, staleness)
    try:
        corpus = Corpus.read(folder, documents)
    except (OSError, ValueError, KeyError) as error:
        raise typer.BadParameter(f"{folder} holds no set that can be read ({type(error).__name__}: {error})", param_hint="SET") from error
    with tempfile.TemporaryDirectory(prefix="dgrag-growth-") as work:
        result = asyncio.run(grown(corpus, Path(work), initial, tree, rebuild_each=rebuild_each))
    result = {
        "set": folder.name,
        "documents": len(corpus.documents),
        "questions": len(corpus.questions),
        **code(),
        "machine": machine(),
        **result,
    }
    text = json.dumps(result, indent=1)
    if out is not None:
        out.write_text(text + "\n", encoding="utf-8")
    typer.echo(text)


if __name__ == "__main__":
    typer.run(main)
