"""Follow-ups that become questions of their own: ``python -m benchmarks.answering.follow_ups --url http://127.0.0.1:8090/v1``.

``configs/questions/follow_ups.jsonl`` holds conversations over the sample sites: ten that the prompt was written with, and twenty held out.
A rewriting is right where it has all the words that the question needs, and none that it must not have; one that was refused, so that the
last question stands before it, is not. The first question of each conversation, with nothing before it, must stay as it is. All are asked
in one go, and one JSON line is printed.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
import orjson
import typer

from benchmarks.cluster import drop_settings_of_the_shell
from benchmarks.config import CONFIGS, DEADLINE_S
from benchmarks.machine import code, machine
from deploy.evaluation.intervals import wilson
from edge_node.answering.follow_up import Exchange, standalone
from shared.models.build import build_generator, model_http
from shared.models.settings import ModelSettings
from shared.ports import Generator
from shared.telemetry.trace import Trace

FILE = CONFIGS / "questions" / "follow_ups.jsonl"


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said, and what is asked next. ``needs``: each has ways to say it, one of which must stand in the rewriting."""

    half: str
    earlier: tuple[Exchange, ...]
    question: str
    needs: tuple[tuple[str, ...], ...]
    must_not: tuple[str, ...]

    @classmethod
    def of(cls, line: dict[str, Any]) -> Conversation:
        """One line of the file."""
        earlier = tuple(Exchange(*said) for said in line["earlier"])
        return cls(line["half"], earlier, line["next"], tuple(tuple(one.split("|")) for one in line["needs"]), tuple(line.get("not", ())))

    def is_right(self, written: str) -> bool:
        """Whether a rewriting has what the question needs, and nothing that it must not have.

        >>> asked = Conversation("seen", (), "And Cedar Ward?", (("Cedar Ward",), ("beds", "places")), ("Juniper",))
        >>> asked.is_right("How many beds has Cedar Ward?"), asked.is_right("How many nurses has Cedar Ward?")
        (True, False)
        """
        text = written.casefold()
        has_all = all(any(way.casefold() in text for way in ways) for ways in self.needs)
        return has_all and not any(one.casefold() in text for one in self.must_not)


async def asked(generator: Generator, conversation: Conversation) -> dict[str, Any]:
    """What became of one follow-up, and of the first question before it."""
    trace, began = Trace(), time.perf_counter()
    written = (await standalone(generator, conversation.question, conversation.earlier, trace, deadline_s=DEADLINE_S)).question
    seconds, first = time.perf_counter() - began, conversation.earlier[0].question
    joined = written == f"{conversation.earlier[-1].question} {conversation.question}"
    return {
        "half": conversation.half,
        "next": conversation.question,
        "written": written,
        "joined": joined,
        "right": not joined and conversation.is_right(written),
        "calls": len(trace.steps()),
        "seconds": round(seconds, 2),
        "first_stays": first == (await standalone(generator, first, (), Trace(), deadline_s=DEADLINE_S)).question,
    }


def figures(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Shares of each half, and how long the calls took."""
    halves = {half: [row for row in rows if row["half"] == half] for half in sorted({row["half"] for row in rows})}
    called = [row["seconds"] for row in rows if row["calls"]]
    return {
        **{half: asdict(wilson([float(row["right"]) for row in mine])) for half, mine in halves.items()},
        "joined": sum(row["joined"] for row in rows),
        "first_stays": sum(row["first_stays"] for row in rows),
        "called": len(called),
        "p50_s": round(float(np.median(called)), 2) if called else None,
        "rows": rows,
    }


async def measured(settings: ModelSettings) -> dict[str, Any]:
    """Ask all of them, one after the other."""
    conversations = [Conversation.of(orjson.loads(line)) for line in FILE.read_bytes().splitlines()]
    async with model_http(settings) as http:
        generator = build_generator(settings, http)
        return figures([await asked(generator, one) for one in conversations])


def main(url: Annotated[str, typer.Option(help="A model server; `dgrag model serve` starts one.")] = "http://127.0.0.1:8090/v1") -> None:
    """Rewrite the follow-ups, and print what came of it as one JSON line."""
    drop_settings_of_the_shell()
    typer.echo(orjson.dumps({**code(), "machine": machine(), **asyncio.run(measured(ModelSettings(url=url)))}))


if __name__ == "__main__":
    typer.run(main)
