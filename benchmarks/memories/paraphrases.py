"""Questions of a set, each in other words, for `benchmarks.memories.again`: ``python -m benchmarks.memories.paraphrases SET --url http://127.0.0.1:8090/v1``.

SET is a folder with ``questions.jsonl``. One call a question; a killed run goes on with the same command. A small model sometimes asks for
something else than the question did: read the file, and take out what does, before figures are made of it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from benchmarks.config import CONFIGS, DEADLINE_S, WORK, digest
from benchmarks.datasets.passages import Passages
from benchmarks.datasets.splits import stride
from benchmarks.errors import BenchmarkError
from benchmarks.graphrag.questions import LINE_TOKENS
from benchmarks.journal import Journal
from benchmarks.machine import prompts
from benchmarks.records import Question
from shared.models.build import build_generator, model_http
from shared.models.settings import ModelSettings
from shared.ports import Generator, Prompt
from shared.text.fence import one_line
from shared.text.prompts import load_prompt

WAYS = 2  # of each question
SAMPLES, TEMPERATURE = 4, 0.7  # of the model, for one question
ASKED = 60
STAGE = "calls"
SEED = 7
_NAMED = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Again:
    """A question and the other ways to ask it."""

    question: Question
    ways: tuple[str, ...]


def again_prompt(question: str) -> Prompt:
    """Ask for other ways to put a question, one a sample: a small model that is to write a list repeats itself."""
    messages = load_prompt("benchmarks", "again").render(question=question)
    return Prompt(messages, max_tokens=2 * LINE_TOKENS, n=SAMPLES, temperature=TEMPERATURE, seed=SEED)


def ways_of(question: str, replies: Sequence[str], *, most: int = WAYS) -> tuple[str, ...]:
    """The first other ways among replies: one question each, not word for word the same, and with every name and number of it.

    >>> ways_of("Who built Orrin Mill?", ["Who was it that built Orrin Mill?", "Who built the mill?", "Who built Orrin Mill ?"])
    ('Who was it that built Orrin Mill?',)
    """
    named, known = names_in(question), {_words(question)}
    found = list[str]()
    for way in map(one_line, replies):
        if way.endswith("?") and named <= set(_NAMED.findall(way)) and _words(way) not in known:
            found.append(way)
            known.add(_words(way))
    return tuple(found[:most])


def _words(text: str) -> tuple[str, ...]:
    return tuple(_NAMED.findall(text.casefold()))


def names_in(question: str) -> frozenset[str]:
    """The words of a question that name something or count: those with a capital, but for the first, and those with a digit.

    >>> sorted(names_in("When was Orrin Mill, the 2nd of its kind, built?"))
    ['2nd', 'Mill', 'Orrin']
    """
    return frozenset(word for word in _NAMED.findall(question)[1:] if word[0].isupper() or word[0].isdigit())


async def asked_again(questions: Sequence[Question], generator: Generator, journal: Journal) -> list[Again]:
    """Each question with its other ways, without those that have none. Raises ModelError; what is in the journal is not asked again."""
    found = list[Again]()
    for question in questions:
        if not journal.done(STAGE, question.question_id):
            reply = await generator.generate(again_prompt(question.text), deadline_s=DEADLINE_S)
            journal.add(STAGE, question.question_id, {"ways": ways_of(question.text, reply.texts)})
        if ways := tuple(journal.row(STAGE, question.question_id)["ways"]):
            found.append(Again(question, ways))
    return found


def row_of(one: Again, model: str) -> dict[str, Any]:
    """A line of the file."""
    question = one.question
    return {"id": question.question_id, "question": question.text, "again": one.ways, "answers": question.references, "model": model}


def read_ways(file: Path) -> list[Again]:
    """What was written. Raises BenchmarkError for a file that is not there or says something else."""
    try:
        rows = [orjson.loads(line) for line in file.read_bytes().splitlines() if line]
        return [Again(Question(row["id"], row["question"], "", tuple(row["answers"])), tuple(row["again"])) for row in rows]
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise BenchmarkError(
            f"{file} has no questions in other words ({type(error).__name__}: {error})",
            next_step="write it with benchmarks.memories.paraphrases",
        ) from error


async def _made(folder: Path, settings: ModelSettings, work: Path, count: int) -> list[Again]:
    questions = stride([one for one in Passages.read(folder, "").questions() if one.references], count, seed=SEED)
    key = digest([folder.name, settings.url, settings.name, count, prompts()["benchmarks/prompts/again.md"]])
    async with model_http(settings) as http:
        with Journal(work / f"paraphrases-{folder.name}-{key}" / "journal.jsonl") as journal:
            return await asked_again(questions, build_generator(settings, http), journal)


def main(
    folder: Annotated[Path, typer.Argument(metavar="SET", exists=True, file_okay=False, help="A folder with questions.jsonl.")],
    url: Annotated[str, typer.Option(help="An OpenAI-compatible server, as `dgrag model serve` is one.")],
    model: Annotated[str, typer.Option(help="What the model is called there.")] = "standard",
    count: Annotated[int, typer.Option("-n", min=1, help="Questions, evenly over the set.")] = ASKED,
    out: Annotated[Path | None, typer.Option(dir_okay=False, help="File, written over; configs/questions/again-SET.jsonl.")] = None,
    work: Annotated[Path, typer.Option(help="Where the replies so far are kept.")] = WORK,
) -> None:
    """Let a model put questions in other words."""
    try:
        found = asyncio.run(_made(folder, ModelSettings(url=url, name=model), work, count))
    except BenchmarkError as error:
        raise typer.BadParameter(f"{error.message}: {error.next_step}") from error
    file = out or CONFIGS / "questions" / f"again-{folder.name}.jsonl"
    file.write_bytes(b"".join(orjson.dumps(row_of(one, model)) + b"\n" for one in found))
    typer.echo(f"{len(found)} questions of {count}, {sum(len(one.ways) for one in found)} other ways: {file}")


if __name__ == "__main__":
    typer.run(main)
