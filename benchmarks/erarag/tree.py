"""What EraRAG's tree adds to answers.

``python -m benchmarks.erarag.tree SET --url http://127.0.0.1:8090/v1 [--written]`` (EraRAG §V-B, §V-C). SET is a folder of ``corpus.jsonl``
and ``questions.jsonl``. Three edges read the same documents: ``naive`` and ``dgrag``, which have no tree, and ``tree``. Each is asked the
same questions, at home, one sample each. *covered* is the share whose answer stands in what the model has read, passages and summaries;
*right*, whose answer stands in the model's. With ``--written`` the model writes the tree; then one document more comes. One line a question
goes into a journal, so a killed run goes on. One JSON line is printed at the end.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import orjson
import typer

from benchmarks.cluster import drop_settings_of_the_shell
from benchmarks.config import WORK, digest
from benchmarks.datasets.splits import stride
from benchmarks.erarag.growth_models import Nothing
from benchmarks.instant_edge import add, indexed_of, running
from benchmarks.journal import Journal
from benchmarks.machine import code, machine
from benchmarks.meters import percentile_ms
from benchmarks.metrics.text import covered
from deploy.evaluation.intervals import wilson
from deploy.evaluation.text import accuracy
from edge_node.answering.answerer import Ask
from edge_node.build import Adapters, build_node
from edge_node.node import EdgeNode
from edge_node.settings import EdgeSettings
from shared.models.build import build_embedder, build_generator, build_tokenizer, model_http
from shared.models.settings import ModelSettings
from shared.ports import Generator, Prompt, Reply
from shared.telemetry.trace import Trace

STAGE, BUILD, SEED = "tree", "build", 7
SYSTEMS: Mapping[str, Mapping[str, Any]] = {"naive": {"strategy": "naive"}, "dgrag": {"strategy": "dgrag"}, "tree": {"strategy": "erarag"}}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its accepted answers."""

    key: str
    question: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TreeSet:
    """Documents as (name, text); ``last`` is put in by itself."""

    documents: tuple[tuple[str, str], ...]
    last: tuple[str, str]
    questions: tuple[Asked, ...]

    @classmethod
    def read(cls, folder: Path, *, documents: int | None, questions: int) -> TreeSet:
        """All documents, or so many of those that the first questions need; and the questions that need no other, evenly spaced."""
        rows = [orjson.loads(line) for line in (folder / "corpus.jsonl").read_bytes().splitlines()]
        asked = [row for line in (folder / "questions.jsonl").read_bytes().splitlines() if (row := orjson.loads(line)).get("gold_doc_ids")]
        names = {row["doc_id"] for row in rows}
        if documents is not None:
            names = set[str]()
            for row in asked:
                names = more if len(more := names | {*row["gold_doc_ids"]}) <= documents else names
        texts = [(row["doc_id"], f"{row.get('title') or ''}\n{row['text']}".strip()) for row in rows]
        held = [document for document in texts if document[0] in names]
        last = next((document for document in texts if document[0] not in names), held[-1])
        fitting = [Asked(row["id"], row["question"], tuple(row["answers"])) for row in asked if names.issuperset(row["gold_doc_ids"])]
        return cls(tuple(document for document in held if document != last), last, stride(fitting, questions, seed=SEED))


class Listening:
    """A Generator that counts, and keeps what stood above the question in the last prompt."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self.name = generator.name
        self.read = ""
        self.calls = self.tokens_in = self.tokens_out = 0

    async def generate(self, prompt: Prompt, *, deadline_s: float) -> Reply:
        """As the port says."""
        reply = await self._generator.generate(prompt, deadline_s=deadline_s)
        if (above := prompt.messages[-1].content.partition("\nQuestion:")[0]).startswith("Passages:"):
            self.read = above
        self.calls, self.tokens_in, self.tokens_out = self.calls + 1, self.tokens_in + reply.tokens_in, self.tokens_out + reply.tokens_out
        return reply

    def stream(self, prompt: Prompt, *, deadline_s: float) -> AsyncIterator[str]:
        """As the port says."""
        return self._generator.stream(prompt, deadline_s=deadline_s)

    def spent(self) -> np.ndarray[Any, Any]:
        """Calls, tokens in, tokens out."""
        return np.array([self.calls, self.tokens_in, self.tokens_out])


async def asked_once(node: EdgeNode, heard: Listening, asked: Asked) -> dict[str, Any]:
    """What came of one question."""
    heard.read, before, began = "", heard.spent(), time.perf_counter()
    answer = await node.ask(Ask(asked.question, "local", samples=1, memory=False), Trace())
    calls, tokens_in, tokens_out = (heard.spent() - before).tolist()
    summaries = heard.read.partition("\nSummaries of several passages:\n")[2].partition("\nKnown relations:")[0]
    return {
        "seconds": round(time.perf_counter() - began, 2),
        "answer": answer.answer if answer.answered else "",
        "right": bool(answer.answered and accuracy(answer.answer, asked.answers)),
        "covered": bool(covered(heard.read, asked.answers)),
        "covered_by_summaries": bool(covered(summaries, asked.answers)),
        "summaries": sum(line.startswith("[") for line in summaries.splitlines()),
        "cited": len(answer.citations),
        "calls": calls,
        "tokens": tokens_in + tokens_out,
    }


async def built(node: EdgeNode, heard: Listening, documents: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """What some documents cost, until the model has written all that it should."""
    before, began = heard.spent(), time.perf_counter()
    await add(node, documents)
    await node.worker.settle()
    await node.worker.news.until(lambda: node.worker.idle and not node.strategy.stale)
    calls, tokens_in, tokens_out = (heard.spent() - before).tolist()
    levels = [row["level"] for row in node.documents.database.rows("SELECT level FROM tree_nodes")]
    seconds = round(time.perf_counter() - began, 1)
    nodes = {str(level): levels.count(level) for level in sorted(set(levels))}
    return {
        "documents": len(documents),
        "seconds": seconds,
        "calls": calls,
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        "nodes": nodes,
    }


async def measured(system: str, read: TreeSet, models: ModelSettings, journal: Journal, state: Path, *, written: bool) -> None:
    """Index the documents, or go on with what is there, and ask what the journal does not hold yet."""
    async with model_http(models) as http:
        heard = Listening(build_generator(models, http))
        chosen = {**SYSTEMS[system], "summaries": "model"} if written else SYSTEMS[system]
        settings = EdgeSettings(state_dir=state, id=system, reports="off", memory="off", answer_deadline_s=600, **chosen)
        node = build_node(settings, Adapters(heard, build_embedder(models), build_tokenizer(models), None))
        if system != "dgrag":
            indexed_of(node).write_path.extractor = Nothing()  # no graph is searched
        async with running(node):
            for name, documents in (("first", read.documents), ("one more", (read.last,))):
                if not journal.done(BUILD, f"{system} {name}"):
                    journal.add(BUILD, f"{system} {name}", await built(node, heard, documents))
            for one in read.questions:
                if not journal.done(STAGE, key := f"{system} {one.key}"):
                    journal.add(STAGE, key, {"system": system, **await asked_once(node, heard, one)})


def figures(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Shares with Wilson's intervals, and means, by system."""
    told = dict[str, Any]()
    for system in SYSTEMS:
        if mine := [row for row in rows if row["system"] == system]:
            shares = {
                name: wilson([float(bool(row[name])) for row in mine]) for name in ("right", "covered", "covered_by_summaries", "answer")
            }
            told[system] = {
                "questions": len(mine),
                **{name: [round(one.mean, 3), round(one.low, 3), round(one.high, 3)] for name, one in shares.items() if one},
                **{name: round(float(np.mean([row[name] for row in mine])), 1) for name in ("summaries", "cited", "calls", "tokens")},
                "p50_s": round(percentile_ms([row["seconds"] for row in mine], 50) / 1000, 1),
            }
    return told


def main(
    folder: Annotated[Path, typer.Argument(metavar="SET", exists=True, file_okay=False, help="With corpus.jsonl and questions.jsonl.")],
    url: Annotated[str, typer.Option(help="A model server; `dgrag model serve` starts one.")] = "http://127.0.0.1:8090/v1",
    documents: Annotated[int | None, typer.Option(min=2, help="At most so many, with the questions that need no other.")] = None,
    questions: Annotated[int, typer.Option(min=0, help="At most so many.")] = 60,
    written: Annotated[bool, typer.Option(help="The model writes the tree; only the tree is measured.")] = False,
    work: Annotated[Path, typer.Option(help="Where the indexes and the journal stay.", file_okay=False)] = WORK,
) -> None:
    """Ask edges with and without a tree, and print what came of it as one JSON line."""
    drop_settings_of_the_shell()
    models, read = ModelSettings(url=url), TreeSet.read(folder, documents=documents, questions=questions)
    own = work / f"tree-{folder.name}-{digest([models.name, str(documents), str(written)])}"
    with Journal(own / "journal.jsonl") as journal:
        for system in ("tree",) if written else SYSTEMS:
            (own / system).mkdir(parents=True, exist_ok=True)
            asyncio.run(measured(system, read, models, journal, own / system, written=written))
        builds = {
            key: journal.row(BUILD, key)
            for system in SYSTEMS
            for name in ("first", "one more")
            if journal.done(BUILD, key := f"{system} {name}")
        }
        found = {"set": folder.name, "written": written, "builds": builds, "systems": figures(journal.rows(STAGE))}
    typer.echo(orjson.dumps({**code(), "machine": machine(), **found}))


if __name__ == "__main__":
    typer.run(main)
