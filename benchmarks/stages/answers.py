"""Each asking to one system; an error is a row, and asked again when the run goes on."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from itertools import count

from pydantic import SecretStr

from benchmarks.cluster import Cluster
from benchmarks.records import Asking
from benchmarks.stages import Task, Work, together, tried
from benchmarks.stages.opening import opened
from benchmarks.systems import Asker, System
from shared.models.build import build_generator, model_http
from shared.ports import Generator


def answers(work: Work, system: System, askings: Sequence[Asking]) -> Task:
    """Ask what has not been asked, ``at_once`` of the run at a time; one by one nobody waits for another's tokens."""
    left = [asking for asking in askings if not work.journal.done("answers", _key(work, system, asking))]

    async def make(cluster: Cluster) -> None:
        chars = sum(document.chars for document in work.corpus.documents())
        waiting, done = deque(left), count(1)

        async def ask(asker: Asker, asking: Asking) -> None:
            key = _key(work, system, asking)
            row = replace(await asker.answer(asking), tries=work.journal.tries("answers", key) + 1, code=work.code)
            if row.overview:
                overview = await opened(row.overview, cluster.edges, work.http)
                row = replace(row, overview=replace(overview, corpus_chars=chars))
            if row.error:
                work.progress.say(f"{system.name}, {asking.edge}, {asking.question.question_id}: {row.error} ({tried(row.tries)})")
            work.journal.add("answers", key, asdict(row))

        async def one_after_another(asker: Asker) -> None:
            while waiting:
                await ask(asker, waiting.popleft())
                work.progress.at(next(done))

        async with reader(work, system) as generator:
            asker = Asker(system, work.split.name, cluster.edges, work.http, generator)
            await together(one_after_another(asker) for _ in range(work.config.at_once))

    return Task(system.start, f"{work.split.name}: {system.name}", len(left), make)


@asynccontextmanager
async def reader(work: Work, system: System) -> AsyncIterator[Generator | None]:
    """The run's model, where the benchmark itself asks it."""
    if system.mode != "read":
        yield None
        return
    told = {"url": await work.fleet.model(), "api_key": SecretStr(work.fleet.model_key)}
    settings = work.config.model_settings().model_copy(update=told)
    async with model_http(settings) as http:
        yield build_generator(settings, http)


def _key(work: Work, system: System, asking: Asking) -> str:
    return f"{work.split.name}/{asking.scenario}/{system.name}/{asking.edge}/{asking.question.question_id}"
