"""Summary matching alone, over all questions (DGRAG §IV-E1): no language model."""

from __future__ import annotations

import time
from dataclasses import asdict, replace

import httpx2

from benchmarks.cluster import Cluster
from benchmarks.errors import BenchmarkError
from benchmarks.records import Question, RoutingRow
from benchmarks.stages import Task, Work
from benchmarks.systems import Start, read


def routing(work: Work, start: Start, subgraph_entities: int, *, plain: bool = False) -> Task:
    """Match every question at every m where that is not done: who matches at m = 1 need not be the first of five.

    ``plain``: ``start`` has a cloud that matches by cosine alone.
    """
    prefix = f"{work.split.name}/{subgraph_entities}{'/plain' if plain else ''}"
    owners = work.owners()
    known = [question for question in work.questions() if question.gold]
    keys = {f"{prefix}/{m}/{question.question_id}": (question, m) for question in known for m in work.measured.m}
    left = {key: one for key, one in keys.items() if not work.journal.done("routing", key)}

    async def make(cluster: Cluster) -> None:
        for done, (key, (question, m)) in enumerate(left.items(), start=1):
            row = await _matched(work, cluster, question, owners[question.gold[0]], m, subgraph_entities)
            work.journal.add("routing", key, asdict(replace(row, plain=plain, code=work.code)))
            work.progress.at(done)

    way = ", by cosine alone" if plain else ""
    return Task(start, f"{work.split.name}: routing, {subgraph_entities} entities a subgraph{way}", len(left), make)


async def _matched(work: Work, cluster: Cluster, question: Question, owners: tuple[str, ...], m: int, subgraph_entities: int) -> RoutingRow:
    body = {"question": question.text, "m": m, "min_score": -1.0}  # no threshold: m summaries, if the edges that match have so many
    started = time.perf_counter()
    try:
        said, error = read(await work.http.post(f"{cluster.cloud}/v1/match", json=body))
    except httpx2.HTTPError as problem:
        said, error = {}, f"{type(problem).__name__}: {problem}"
    if error:
        raise BenchmarkError(f"the cloud did not match {question.question_id}: {error}", next_step="the same command goes on where it was")
    seconds = time.perf_counter() - started
    matches = said["matches"]
    return RoutingRow(
        split=work.split.name,
        subgraph_entities=subgraph_entities,
        m=m,
        question_id=question.question_id,
        owners=owners,
        edges=tuple(match["edge"] for match in matches),
        scores=tuple(match["score"] for match in matches),
        seconds=seconds,
    )
