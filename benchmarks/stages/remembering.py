"""Memories of a start that makes any: questions wait until all of them are there (FD-RAG §4.1). An edge makes them in idle time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from benchmarks.cluster import Cluster
from benchmarks.errors import BenchmarkError
from benchmarks.fdrag_systems import remembers
from benchmarks.stages import Work
from benchmarks.systems import Start

STAGE = "memories"
NO_COUNTS = frozenset({"waiting", "looked", "answered"})  # numbers of a status that say nothing of what is remembered
POLL_S = 1.0
LIMIT_S = 4 * 3600.0  # a model writes two memories a thousand tokens


async def remembering(work: Work, cluster: Cluster, state: str, start: Start) -> None:
    """Wait until the edges of a start remember all that they will, and note what that is. Raises BenchmarkError after ``LIMIT_S``."""
    if not remembers(dict(start.environment)):
        return
    began, told = time.perf_counter(), await _told(work, cluster)
    most = left(told)
    work.progress.begin(f"{work.split.name}: memories", most)
    while (rest := left(told)) or not all(status["settled"] for status in told.values()):  # settled: the cloud knows what it should
        if time.perf_counter() - began > LIMIT_S:
            raise BenchmarkError(f"{rest} texts still wait to be remembered", next_step="read the edges' logs; the same command goes on")
        work.progress.at(max(0, most - rest))
        await asyncio.sleep(POLL_S)
        told = await _told(work, cluster)
    for edge, status in told.items():
        if not work.journal.done(STAGE, f"{state}/{edge}"):
            waited = round(time.perf_counter() - began, 1)  # less than the whole: edges begin while the cluster starts
            row = {"split": work.split.name, "state": state, "edge": edge, "waited_s": waited, **counted(status)}
            work.journal.add(STAGE, f"{state}/{edge}", row)


def left(told: Mapping[str, Mapping[str, Any]]) -> int:
    """How much the edges have still to remember, by what their status says.

    >>> left({"a": {"stale": 2}, "b": {"stale": 1}})
    3
    """
    return sum(int(status["stale"]) for status in told.values())


def counted(status: Mapping[str, Any]) -> dict[str, int]:
    """The numbers of a status that tell how much is remembered.

    >>> counted({"memory": {"template": 9, "waiting": 0, "fast": "on", "looked": 3, "answered": 1}})
    {'template': 9}
    """
    numbers = {name: value for name, value in status["memory"].items() if isinstance(value, int) and not isinstance(value, bool)}
    return {name: value for name, value in numbers.items() if name not in NO_COUNTS}


async def _told(work: Work, cluster: Cluster) -> dict[str, dict[str, Any]]:
    return {edge: await work.fleet.status(url) for edge, url in cluster.edges.items()}
