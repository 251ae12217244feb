"""What it costs that another cloud holds an edge's poll: ``python -m benchmarks.clouds.letters [--rounds 500] [--at-once 1,8,32]``.

Each round asks one edge, which replies at once, and ends when the reply is with who asked: no HTTP, no signature and no search is in it.
``memory``: the mailbox of a cloud that is one process. ``same cloud``, ``other cloud``: the mailbox over a PostgreSQL from a package, on
this machine, where the edge polls and replies at the asking cloud, or at another one. Prints one JSON line.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import orjson
import typer

from benchmarks.clouds.hnsw import server
from benchmarks.machine import code, machine
from benchmarks.meters import percentile_ms
from cloud_server.answering.fan_out import FanOut, FanOutRequest
from cloud_server.answering.mailbox import LocalMailbox, Mailbox
from cloud_server.build import open_mailbox
from cloud_server.database.opening import open_shared
from shared.identity import make_identity
from shared.ports import SystemClock
from shared.records import EdgeId
from shared.wire import EvidenceBody, EvidenceReply

CHARS = 4000  # of the reply: five passages
DEADLINE_S = 60.0
PERCENTILES = (50, 95)


def reply() -> EvidenceReply:
    """What an edge answers."""
    text = "The infusion pump P-204 was replaced in March. " * (CHARS // 5 // 47)
    parts = [EvidenceBody(document_id="d", document="a.md", chunk_id=f"d:{n}", span=(0, len(text)), text=text) for n in range(5)]
    return EvidenceReply(evidence=parts)


class Site:
    """A cloud: its mailbox, and who asks through it."""

    def __init__(self, mailbox: Mailbox) -> None:
        self.mailbox = mailbox
        self.fan_out = FanOut(mailbox, SystemClock(), lambda: uuid4().hex)


@asynccontextmanager
async def sites(url: str) -> AsyncIterator[tuple[Site, Site]]:
    """Two clouds over one PostgreSQL."""
    database, identity = open_shared(url), make_identity()
    opened = [open_mailbox(database, name, identity, SystemClock(), lambda: uuid4().hex) for name in ("one", "two")]
    for mailbox, _ in opened:
        await mailbox.open()
    work = [asyncio.create_task(run()) for mailbox, notices in opened if notices for run in (mailbox.run, notices.run)]
    for _, notices in opened:
        if notices:
            await notices.listening.wait()
    try:
        yield Site(opened[0][0]), Site(opened[1][0])
    finally:
        for task in work:
            task.cancel()
        await asyncio.wait(work)
        await asyncio.to_thread(database.close)


async def edge(name: EdgeId, at: Site) -> None:
    """Polls and replies until cancelled."""
    body = reply()
    size = len(body.model_dump_json())
    while True:
        for request in await at.mailbox.poll(name, wait_s=30.0):
            await at.fan_out.deliver(name, request.request_id, body, size=size)


async def asked(asker: Site, holder: Site, *, rounds: int, at_once: int) -> dict[str, float]:
    """Milliseconds of a round, and rounds a second, with as many edges as are asked at once."""
    names = [EdgeId(f"edge-{number}") for number in range(at_once)]
    polls = [asyncio.create_task(edge(name, holder)) for name in names]
    while not all(map(asker.fan_out.reaches, names)):  # noqa: ASYNC110 - the product has no event for it, and needs none
        await asyncio.sleep(0.01)
    took: list[float] = []

    async def ask(name: EdgeId) -> None:
        for _ in range(rounds // at_once):
            began = time.perf_counter()
            result = await asker.fan_out.ask([name], FanOutRequest("Which pump was replaced?", 500), deadline_s=DEADLINE_S)
            took.append(time.perf_counter() - began)
            if result.missing:
                raise typer.BadParameter(f"an edge gave no answer: {result.missing}")

    began = time.perf_counter()
    try:
        await asyncio.gather(*map(ask, names))
    finally:
        for poll in polls:
            poll.cancel()
        await asyncio.gather(*polls, return_exceptions=True)
    a_second = round(len(took) / (time.perf_counter() - began))
    return {**{f"p{percent}_ms": percentile_ms(took, percent) for percent in PERCENTILES}, "rounds_per_s": a_second}


async def measured(url: str, *, rounds: int, at_once: list[int]) -> list[dict[str, Any]]:
    """One row for each way and number at once."""
    alone = Site(LocalMailbox(SystemClock()))
    async with sites(url) as (one, two):
        ways = {"memory": (alone, alone), "same cloud": (one, one), "other cloud": (one, two)}
        return [
            {"way": way, "at_once": number, **await asked(*pair, rounds=rounds, at_once=number)}
            for number in at_once
            for way, pair in ways.items()
        ]


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of each row.")] = 500,
    at_once: Annotated[str, typer.Option(help="Edges that are asked at the same time: numbers with commas.")] = "1,8,32",
) -> None:
    """Ask, and print how long it took."""
    with tempfile.TemporaryDirectory() as folder, server(Path(folder) / "data") as url:
        rows = asyncio.run(measured(url, rounds=rounds, at_once=[int(number) for number in at_once.split(",")]))
    typer.echo(orjson.dumps({**code(), "machine": machine(), "rows": rows}))


if __name__ == "__main__":
    typer.run(main)
