"""Learned answers asked for in other words: ``python -m benchmarks.memories.same_answers DATA/multihop --url http://127.0.0.1:8090/v1``.

DATA/multihop is a folder of multi-hop sets. ``configs/questions/same_answers.jsonl`` names 56 questions of them, each with two other ways
to ask it and three near questions that ask otherwise: of another relation, another name, another number, or the opposite direction. A
language model other than the one measured wrote them, and nobody has checked them. All 56 count as learned at one edge. The ways, the
near ones, and 120 further questions of the sets are asked; the product's own checks and prompt decide which learned answer, if any, each
gets. One line a pair goes into a journal, so a killed run goes on. A bar is chosen on one half of the questions, so that at most
``MOST_FALSE`` of all that ask otherwise are answered, and judged on the other; then the halves change places.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import orjson
import typer

from benchmarks.cluster import drop_settings_of_the_shell
from benchmarks.config import CONFIGS, DEADLINE_S, WORK, digest
from benchmarks.datasets.passages import QUESTIONS
from benchmarks.datasets.splits import stride
from benchmarks.errors import BenchmarkError
from benchmarks.journal import Journal
from benchmarks.machine import code, machine, prompts
from benchmarks.memories.single_facts import MEASURED, with_answers
from deploy.evaluation.intervals import wilson
from edge_node.answering.other_words import Judged, candidates, chosen_of
from edge_node.memory.anchors import anchors_of, dice
from edge_node.memory.index import ALPHA
from edge_node.memory.records import Backing, Memory, Recalled, Scored, Support, memory_of
from edge_node.memory.same_answer import NEAR, same_answer
from shared.models.build import build_embedder, build_generator, model_http
from shared.models.settings import ModelSettings
from shared.ports import Embedder, Generator
from shared.telemetry.trace import Trace

FILE = CONFIGS / "questions" / "same_answers.jsonl"
STAGE, SEED = "pair", 7
OTHERS = 120
MOST_FALSE = 2 / 120  # of the questions that ask otherwise
SAME, FURTHER = "same", "further"  # besides how a near question differs


@dataclass(frozen=True, slots=True)
class Told:
    """A question that is asked. ``origin``: the id of the learned one that it was written beside, or its own; ``kind``: how it differs."""

    origin: str
    kind: str
    question: str


@dataclass(frozen=True, slots=True)
class Row:
    """What was found near a question, best first, and those that the model judged."""

    told: Told
    near: tuple[Recalled, ...]
    judged: tuple[Judged, ...]

    def answered_by(self, least: float) -> str:
        """The learned question whose answer it gets; "": none."""
        chosen = chosen_of(self.told.question, self.judged, self.near, least=least)
        return chosen.scored.memory.question if chosen else ""


def read(folder: Path, file: Path = FILE) -> tuple[dict[str, Memory], list[Told]]:
    """What was learned, by id, and what is asked. Raises BenchmarkError for a set that lacks a question."""
    lines = [orjson.loads(line) for line in file.read_bytes().splitlines()]
    known = {name: _questions(folder / name / QUESTIONS) for name in sorted({line["set"] for line in lines})}
    learned, asked = dict[str, Memory](), list[Told]()
    for line in lines:
        key = f"{line['id']}/{line['step']}" if "step" in line else line["id"]
        if key not in known[line["set"]]:
            raise BenchmarkError(f"{folder / line['set']} has no question {key}", next_step="name the folder that holds the sets")
        question, answer = known[line["set"]][key]
        learned[key] = memory_of("learned", question, answer, [Support(f"{key}:0", 0, len(answer))], anchors_of(question, ()))
        asked += [Told(key, SAME, way) for way in line["again"]]
        asked += [Told(key, one["differs"], one["question"]) for one in line["others"]]
    rest = [Told(key, FURTHER, text) for several in known.values() for key, (text, _) in several.items() if "/" not in key]
    return learned, [*asked, *stride([one for one in rest if one.origin not in learned], OTHERS, seed=SEED)]


def _questions(file: Path) -> dict[str, tuple[str, str]]:
    """Question and answer by id; those of a step by id/step."""
    found = dict[str, tuple[str, str]]()
    for row in map(orjson.loads, file.read_bytes().splitlines()):
        found[row["id"]] = (row["question"].strip(), next(iter(row["answers"]), ""))
        found |= {f"{row['id']}/{n}": one for n, one in enumerate(with_answers(row.get("decomposition") or ()))}
    return found


def figures(rows: Sequence[Row], learned: dict[str, Memory], ms: Sequence[float]) -> dict[str, Any]:
    """By each half at the other's bar, and by the product's: what was answered, rightly and not."""
    halves = [[row for row in rows if int(digest([row.told.origin]), 16) % 2 == place] for place in (0, 1)]
    bars = [bar(half, learned) for half in halves]
    crossed = [(row, least) for half, least in zip(halves, reversed(bars), strict=True) for row in half]
    told = {f"half_{n}": _shares([(row, bars[1 - n]) for row in half], learned) for n, half in enumerate(halves)}
    product = _shares([(row, MEASURED.same) for row in rows], learned)
    counts = {"pairs": sum(len(row.judged) for row in rows), "asked": len(rows)}
    times = {f"p{q}_ms": round(float(np.quantile(ms, q / 100)), 1) for q in (50, 90)} if ms else {}
    return {"bars": bars, **told, "crossed": _shares(crossed, learned), "product": product, **counts, **times}


def bar(rows: Sequence[Row], learned: dict[str, Memory]) -> float:
    """The least P(yes) at which at most ``MOST_FALSE`` of what asks otherwise is answered; above 1: there is none."""
    most = MOST_FALSE * sum(row.told.kind != SAME for row in rows)
    for least in sorted({sure for row in rows for _, sure in row.judged if sure is not None}):
        if sum(_is_false(row, least, learned) for row in rows) <= most:
            return least
    return 1.1


def _is_false(row: Row, least: float, learned: dict[str, Memory]) -> bool:
    by = row.answered_by(least)
    return bool(by) and not (row.told.kind == SAME and by == learned[row.told.origin].question)


def _shares(rows: Sequence[tuple[Row, float]], learned: dict[str, Memory]) -> dict[str, Any]:
    again = [(row, least) for row, least in rows if row.told.kind == SAME]
    others = [(row, least) for row, least in rows if row.told.kind != SAME]
    right = [float(bool(row.answered_by(least)) and not _is_false(row, least, learned)) for row, least in again]
    false = [float(_is_false(row, least, learned)) for row, least in others]
    kinds = Counter(row.told.kind for row, _ in others)
    wrongly = Counter(row.told.kind for (row, _), is_false in zip(others, false, strict=True) if is_false)
    return {
        "again": asdict(wilson(right, of=[row.told.origin for row, _ in again])) if again else None,
        "again_asked_and_wrong": [len(again), sum(_is_false(row, least, learned) for row, least in again)],
        "false_on_others": asdict(wilson(false)) if false else None,
        "by_kind": {kind: [wrongly[kind], asked] for kind, asked in sorted(kinds.items())},
        "false": [row.told.question for (row, _), is_false in zip(others, false, strict=True) if is_false],
    }


async def near_of(asked: Sequence[Told], learned: dict[str, Memory], embedder: Embedder) -> list[tuple[Recalled, ...]]:
    """The learned memories near each question, best first, as an edge finds them."""
    memories = list(learned.values())
    cosines = await embedder.embed([one.question for one in asked]) @ (await embedder.embed([one.question for one in memories])).T
    found = list[tuple[Recalled, ...]]()
    for one, row in zip(asked, cosines.tolist(), strict=True):
        anchors = anchors_of(one.question, ())
        scored = [
            Scored(memory, ALPHA * cosine + (1 - ALPHA) * shared, cosine, shared)
            for memory, cosine in zip(memories, row, strict=True)
            for shared in [dice(anchors, memory.anchors)]
            if cosine >= NEAR
        ]
        scored.sort(key=lambda found: -found.score)
        found.append(tuple(Recalled(each, Backing((each.memory.answer,))) for each in scored))
    return found


async def measured(folder: Path, settings: ModelSettings, journal: Journal) -> dict[str, Any]:
    """Ask what the journal does not hold yet, and return the figures."""
    learned, asked = read(folder)
    near = await near_of(asked, learned, build_embedder(settings))
    async with model_http(settings) as http:
        generator = build_generator(settings, http)
        rows = [Row(one, found, await _judged(one.question, found, generator, journal)) for one, found in zip(asked, near, strict=True)]
    return figures(rows, learned, [row["ms"] for row in journal.rows(STAGE)])


async def _judged(question: str, near: Sequence[Recalled], generator: Generator, journal: Journal) -> tuple[Judged, ...]:
    found = list[Judged]()
    for one in candidates(question, near):
        learned, trace = one.scored.memory.question, Trace()
        key = digest([question, learned])
        if not journal.done(STAGE, key):
            sure = await same_answer(generator, question, learned, trace, deadline_s=DEADLINE_S)
            steps = trace.steps()
            row = {
                "question": question,
                "learned": learned,
                "sure": sure,
                "ms": sum(step.ms for step in steps),
                "calls": len(steps),
                "tokens_in": sum(step.tokens_in for step in steps),
            }
            journal.add(STAGE, key, row)
        found.append((one, journal.row(STAGE, key)["sure"]))
    return tuple(found)


def main(
    folder: Annotated[Path, typer.Argument(metavar="DATA/multihop", exists=True, file_okay=False, help="A folder of sets.")],
    url: Annotated[str, typer.Option(help="A model server; `dgrag model serve` starts one.")] = "http://127.0.0.1:8090/v1",
    work: Annotated[Path, typer.Option(help="Where the journal stays.", file_okay=False)] = WORK,
) -> None:
    """Ask learned questions in other words, among others, and print what came of it as one JSON line."""
    drop_settings_of_the_shell()
    settings = ModelSettings(url=url)
    key = digest([settings.name, prompts()["edge_node/prompts/same_answer.md"]])
    try:
        with Journal(work / f"same-answers-{key}" / "journal.jsonl") as journal:
            found = asyncio.run(measured(folder, settings, journal))
    except BenchmarkError as error:
        raise typer.BadParameter(f"{error.message}: {error.next_step}") from error
    typer.echo(orjson.dumps({**code(), "machine": machine(), **found}))


if __name__ == "__main__":
    typer.run(main)
