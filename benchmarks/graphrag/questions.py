"""Questions that need a whole corpus, from nothing but a description of it: users, their tasks, questions for each (GraphRAG §3.2).

``python -m benchmarks.graphrag.questions SET --url http://127.0.0.1:8090/v1`` with SET a name in ``configs/descriptions.toml``. With N = 5
these are 31 calls and at most 125 questions. A killed run goes on with the same command.
"""

from __future__ import annotations

import asyncio
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from benchmarks.config import CONFIGS, DEADLINE_S, WORK, digest
from benchmarks.errors import BenchmarkError
from benchmarks.journal import Journal
from benchmarks.machine import prompts
from shared.models.build import build_generator, model_http
from shared.models.settings import ModelSettings
from shared.ports import Generator, Prompt
from shared.text.prompts import load_prompt
from shared.text.sentences import content_words

LINE_TOKENS = 40  # of an item
MIN_WORDS = 3
STAGE = "calls"
_MARK = re.compile(r"^\s*(?:\(?\d+[.):]|[-*•])\s*")  # of a list


@dataclass(frozen=True, slots=True)
class Listed:
    """The items of a reply, each once, and how many of its lines were none."""

    items: tuple[str, ...]
    unread: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the user and the task that it was made for, by their places from 0."""

    question_id: str
    question: str
    user: str
    task: str


def list_prompt(name: str, *, n: int, **fields: str) -> Prompt:
    """Ask for n lines: ``name`` is users, tasks or questions."""
    return Prompt(load_prompt("benchmarks", f"global_{name}").render(n=str(n), **fields), max_tokens=n * LINE_TOKENS)


def listed(reply: str, *, most: int, end: str = "") -> Listed:
    r"""The first items of a reply, one a line, without the list's marks; ``end``: what each must end with. Any reply is read.

    >>> listed("Here they are:\n1. **Why do pumps fail?**\n2) Why do pumps fail?\n- What is said of gates?", most=5, end="?")
    Listed(items=('Why do pumps fail?', 'What is said of gates?'), unread=1)
    """
    lines = [line for line in reply.splitlines() if line.strip()]
    plain = [" ".join(_MARK.sub("", line).replace("*", " ").split()) for line in lines]
    good = [line for line in plain if len(line.split()) >= MIN_WORDS and line.endswith(end) and not line.endswith(":")]
    return Listed(tuple(dict.fromkeys(good))[:most], len(lines) - len(good))


async def asked_for(name: str, description: str, generator: Generator, journal: Journal, *, n: int) -> list[Asked]:
    """All questions, those that ask the same as one before left out. Raises ModelError; what is in the journal is not asked again."""

    async def items(key: str, what: str, end: str = "", **fields: str) -> list[str]:
        if not journal.done(STAGE, key):
            reply = await generator.generate(list_prompt(what, n=n, description=description, **fields), deadline_s=DEADLINE_S)
            found = listed(reply.texts[0], most=n, end=end)
            journal.add(STAGE, key, {"items": found.items, "unread": found.unread})
        return list(journal.row(STAGE, key)["items"])

    found: list[Asked] = []
    for u, user in enumerate(await items("users", "users")):
        for t, task in enumerate(await items(f"tasks/{u}", "tasks", user=user)):
            questions = await items(f"questions/{u}/{t}", "questions", "?", user=user, task=task)
            found += [Asked(f"{name}-{u}{t}{q}", question, user, task) for q, question in enumerate(questions)]
    return list(distinct(found))


def distinct(asked: list[Asked]) -> Iterator[Asked]:
    """Each question once: two of the same content words are one.

    >>> asked = [Asked(str(number), text, "", "") for number, text in enumerate(("Why rain?", "Why the rain?", "Why?"))]
    >>> [one.question_id for one in distinct(asked)]
    ['0', '2']
    """
    known: set[frozenset[str]] = set()
    for one in asked:
        words = content_words(one.question)
        if words not in known:
            known.add(words)
            yield one


def description_of(name: str, file: Path) -> str:
    """A set's description. Raises BenchmarkError that names those that there are."""
    found = tomllib.loads(file.read_text(encoding="utf-8"))
    if name not in found:
        raise BenchmarkError(f"{file} does not describe {name!r}", next_step=f"add it; there are {', '.join(found)}")
    return str(found[name]["text"])


def row_of(one: Asked, model: str) -> dict[str, Any]:
    """A line of a questions file."""
    row = {"id": one.question_id, "question": one.question, "user": one.user, "task": one.task, "model": model}
    return row | {"answers": [], "gold_doc_ids": [], "type": "global-sensemaking"}


async def _made(name: str, description: str, settings: ModelSettings, work: Path, n: int) -> list[Asked]:
    texts = {file: said for file, said in prompts().items() if "/global_" in file}
    key = digest([name, description, settings.url, settings.name, n, texts])
    async with model_http(settings) as http:
        with Journal(work / f"questions-{name}-{key}" / "journal.jsonl") as journal:
            return await asked_for(name, description, build_generator(settings, http), journal, n=n)


def main(
    name: Annotated[str, typer.Argument(metavar="SET", help="A name in configs/descriptions.toml.")],
    url: Annotated[str, typer.Option(help="An OpenAI-compatible server, as `dgrag model serve` is one.")],
    model: Annotated[str, typer.Option(help="What the model is called there.")] = "standard",
    n: Annotated[int, typer.Option("-n", min=1, max=10, help="Users, tasks of each, and questions of each.")] = 5,
    out: Annotated[
        Path | None, typer.Option(dir_okay=False, help="File for the questions, written over; configs/questions/SET.jsonl.")
    ] = None,
    work: Annotated[Path, typer.Option(help="Where the replies so far are kept.")] = WORK,
) -> None:
    """Let a model write questions about a corpus that it has not read."""
    try:
        found = asyncio.run(_made(name, description_of(name, CONFIGS / "descriptions.toml"), ModelSettings(url=url, name=model), work, n))
    except BenchmarkError as error:
        raise typer.BadParameter(f"{error.message}: {error.next_step}") from error
    file = out or CONFIGS / "questions" / f"{name}.jsonl"
    file.write_bytes(b"".join(orjson.dumps(row_of(one, model)) + b"\n" for one in found))
    typer.echo(f"{len(found)} questions of at most {n**3}: {file}")


if __name__ == "__main__":
    typer.run(main)
