"""Questions that come again in other words (FD-RAG's own case): ``python -m benchmarks.memories.again SET [--others SET]``.

SET is a folder with ``corpus.jsonl`` and ``questions.jsonl``, whose questions `benchmarks.memories.paraphrases` has put in other words. One
edge has all documents. Each question is answered by the model and called right where it is, so that it is remembered; then its other ways
are asked among questions that were not asked before, of this set and of others, once for each share of a question's words that a memory
must have (guard 4). A model that knows nothing stands by then: what it is asked was not remembered. Writes ``results/again.json`` and
prints it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Annotated, Any

import httpx2
import typer

from benchmarks.cluster import Fleet, drop_settings_of_the_shell, until
from benchmarks.config import CONFIGS, WORK, digest
from benchmarks.datasets.corpus import write_data
from benchmarks.datasets.passages import Passages
from benchmarks.datasets.splits import ALL, federated_split, stride
from benchmarks.errors import BenchmarkError
from benchmarks.fdrag_systems import FAST, MEMORY, NO_MEMORY, OFF, STRATEGY
from benchmarks.journal import Journal
from benchmarks.machine import answering_code, code, machine
from benchmarks.memories.again_asked import COVERS, Came, figures
from benchmarks.memories.paraphrases import SEED, Again, read_ways
from benchmarks.metrics.fast_path import FAST as MEMORY_ROUTE
from benchmarks.records import AnswerRow, Asking, Question
from benchmarks.sharing import sharing
from benchmarks.stages.idle import LIMIT_S, left
from benchmarks.systems import ANSWER_TIMEOUT_S as LONG_S
from benchmarks.systems import ONE_ANSWER, SAME_FOR_ALL, Asker, Start, System, read
from deploy.evaluation.text import accuracy
from deploy.lab.no_model import UNKNOWING
from shared.http.open_mode import CALLER

OUT = Path("benchmarks/results/again.json")
OTHERS = 120
REPEATED = "word for word"  # a way to ask again
ASKS = ONE_ANSWER | {MEMORY: "plain", STRATEGY: "naive"}
LEARNING = ASKS | {FAST: OFF, "DGRAG_EDGE_MEMORY_LEARN": "confirmed"}
SYSTEM = System("again", Start.of("edges", ASKS), mode="local")


@dataclass(frozen=True, slots=True)
class Told:
    """A file of questions in other words, the documents, and questions that were never asked before."""

    again: tuple[Again, ...]
    corpus: Passages
    others: tuple[Question, ...]


def told_of(folder: Path, file: Path, more: Sequence[Path]) -> Told:
    """What is asked: the other questions are drawn evenly from the rest of the set and from other sets. Raises BenchmarkError."""
    corpus, again = Passages.read(folder, ""), tuple(read_ways(file))
    known = {one.question.question_id for one in again}
    rest = [one for source in (corpus, *(Passages.read(one, "") for one in more)) for one in source.questions()]
    return Told(again, corpus, stride([one for one in rest if one.question_id not in known], OTHERS, seed=SEED))


def order_of(told: Told, learned: Mapping[str, bool]) -> list[tuple[str, Question]]:
    """What is asked in the second round, drawn into one order: (the question that it asks again or "", what is asked)."""
    ways = [
        (one.question.question_id, Question(f"{one.question.question_id}/{place}", way, "", one.question.references))
        for one in told.again
        if learned.get(one.question.question_id)
        for place, way in (*enumerate(one.ways), (REPEATED, one.question.text))
    ]
    asked = [*ways, *(("", one) for one in told.others)]
    Random(SEED).shuffle(asked)
    return asked


async def learnt(told: Told, asker: Asker, edge: str, journal: Journal) -> None:
    """Ask each question, and call it right where an accepted answer stands in what was said. Raises BenchmarkError for one that fails."""
    for one in told.again:
        key = one.question.question_id
        if not journal.done("learned", key):
            said, error = read(await asker.http.post(f"{asker.urls[edge]}/v1/query", json=SYSTEM.body(one.question.text), timeout=LONG_S))
            if error:
                raise BenchmarkError(f"{key}: {error}", next_step="the same command goes on where it was")
            if right := bool(accuracy(said["answer"], one.question.references)):
                url = f"{asker.urls[edge]}/v1/queries/{said['query_id']}/feedback"
                (await asker.http.post(url, json={"verdict": "right"})).raise_for_status()
            journal.add("learned", key, {"question_id": key, "right": right, "route": said["route"], "answer": said["answer"]})


async def came_again(asked: Sequence[tuple[str, Question]], asker: Asker, edge: str, cover: float, journal: Journal) -> None:
    """Ask what was asked before in other words, among the rest, and note what a memory said. Raises BenchmarkError for one that fails."""
    for origin, question in asked:
        key = f"{cover}/{question.question_id}"
        if not journal.done("again", key):
            row = await asker.answer(Asking(question, edge, "within"))
            if row.error:
                raise BenchmarkError(f"{key}: {row.error}", next_step="the same command goes on where it was")
            journal.add("again", key, asdict(came_of(origin, row, cover)))


def came_of(origin: str, row: AnswerRow, cover: float) -> Came:
    """What became of one question."""
    report = row.memory or {"kind": "", "question": "", "why_not": ""}
    right = bool(accuracy(row.answer, row.references))
    hit, told = row.route == MEMORY_ROUTE, report["question"]
    kind, why = report["kind"], report["why_not"]
    return Came(cover, origin, row.question_id, hit, kind, told, right, why, row.seconds, row.question_id.endswith(f"/{REPEATED}"))


class Rounds:
    """Both rounds on one edge, whose state and journal go on where they were."""

    def __init__(self, told: Told, work: Path, http: httpx2.AsyncClient) -> None:
        self._told = told
        self._work = work
        self._http = http
        self._split = federated_split(told.corpus, name="again", count=ALL, seed=SEED)
        (self._edge,) = self._split.documents
        documents = [document.document_id for document in told.corpus.documents()]
        key = digest([documents, [asdict(one) for one in told.again], answering_code()])
        self._state = f"again-{key}"
        self.journal = Journal(work / self._state / "journal.jsonl")

    async def learn(self, generator: str) -> dict[str, bool]:
        """The first round: by id, whether a question was answered rightly, and is remembered."""
        async with self._fleet(generator) as fleet:
            asker = await self._up(fleet, LEARNING)
            if not self.journal.done("indexed", self._edge):
                await fleet.add(self._edge, self._data() / f"{self._edge}.jsonl")
                self.journal.add("indexed", self._edge, {})
            await remembered(fleet, asker.urls)
            await learnt(self._told, asker, self._edge, self.journal)
            await remembered(fleet, asker.urls)
            if not self.journal.done("kept", self._edge):
                self.journal.add("kept", self._edge, {"learned": (await fleet.status(asker.urls[self._edge]))["memory"]["learned"]})
        return {row["question_id"]: row["right"] for row in self.journal.rows("learned")}

    async def ask(self, learned: Mapping[str, bool], cover: float) -> None:
        """The second round, with one share of words that a memory must have."""
        async with self._fleet(UNKNOWING) as fleet:
            asker = await self._up(fleet, ASKS | {FAST: "on", "DGRAG_EDGE_MEMORY_LEARN": OFF, "DGRAG_EDGE_MEMORY_COVER": str(cover)})
            await remembered(fleet, asker.urls)
            await came_again(order_of(self._told, learned), asker, self._edge, cover, self.journal)

    def _fleet(self, generator: str) -> Fleet:
        return Fleet(self._work, generator, self._http, SAME_FOR_ALL | NO_MEMORY)

    async def _up(self, fleet: Fleet, settings: Mapping[str, str]) -> Asker:
        cluster = await fleet.up(self._state, [self._edge], {**sharing(self._data(), [self._edge], ""), **settings})
        return Asker(SYSTEM, "again", cluster.edges, self._http)

    def _data(self) -> Path:
        folder = self._work / "data" / self._state
        write_data(self._split, self._told.corpus, folder)
        return folder


async def remembered(fleet: Fleet, urls: Mapping[str, str]) -> None:
    """Wait until an edge has made its memories. Raises BenchmarkError where it does not."""

    async def ready() -> bool:
        return not left({edge: await fleet.status(url) for edge, url in urls.items()})

    await until(ready, what="what the edge remembers", seconds=LIMIT_S)


async def made(told: Told, generator: str, work: Path, covers: Sequence[float] = COVERS) -> dict[str, Any]:
    """Both rounds, and their figures."""
    async with httpx2.AsyncClient(headers=CALLER, timeout=httpx2.Timeout(120.0, connect=10.0), trust_env=False) as http:
        rounds = Rounds(told, work, http)
        with rounds.journal:
            learned = await rounds.learn(generator)
            for cover in covers:
                await rounds.ask(learned, cover)
            rows, kept = [Came(**row) for row in rounds.journal.rows("again")], sum(row["learned"] for row in rounds.journal.rows("kept"))
    questions = {one.question.question_id: one.question.text for one in told.again}
    return {"asked": len(told.again), "called_right": sum(learned.values()), "learned": kept, "covers": figures(rows, questions)}


def main(
    folder: Annotated[Path, typer.Argument(metavar="SET", exists=True, file_okay=False, help="Its documents are the edge's.")],
    others: Annotated[
        list[Path] | None, typer.Option(exists=True, file_okay=False, help="Further sets, of which questions are asked.")
    ] = None,
    questions: Annotated[Path | None, typer.Option(dir_okay=False, help="In other words; configs/questions/again-SET.jsonl.")] = None,
    generator: Annotated[
        str, typer.Option(help="The model that answers at first: a name of the catalogue, or a server's URL.")
    ] = "standard",
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many questions.")] = None,
    work: Annotated[Path, typer.Option(help="Where state and journal are kept; a killed run goes on from here.")] = WORK,
    out: Annotated[Path, typer.Option(dir_okay=False, help="File for the JSON, written over.")] = OUT,
) -> None:
    """Ask questions again in other words, and say what memories made of it."""
    drop_settings_of_the_shell()
    file = questions or CONFIGS / "questions" / f"again-{folder.name}.jsonl"
    try:
        told = told_of(folder, file, others or [])
        told = replace(told, again=told.again[:limit])
        result = {
            "set": folder.name,
            "generator": generator,
            **code(),
            "machine": machine(),
            **asyncio.run(made(told, generator, work.resolve())),
        }
    except BenchmarkError as error:
        raise typer.BadParameter(f"{error.message}: {error.next_step}") from error
    text = json.dumps(result, indent=1)
    out.write_text(text + "\n", encoding="utf-8")
    typer.echo(text)


if __name__ == "__main__":
    typer.run(main)
