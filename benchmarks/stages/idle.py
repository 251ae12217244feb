"""What edges do when nobody asks them anything: questions wait until it is done."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.cluster import Cluster
from benchmarks.errors import BenchmarkError
from benchmarks.stages import Work

POLL_S = 1.0
LIMIT_S = 4 * 3600.0  # a model writes two memories a thousand tokens, and a report in half a minute


@dataclass(frozen=True, slots=True)
class Waited:
    """How long the edges took, and what each says then."""

    seconds: float  # less than the whole: edges begin while the cluster starts
    told: Mapping[str, Mapping[str, Any]]  # status by edge


async def idle(work: Work, cluster: Cluster, what: str) -> Waited:
    """Wait until no edge has any text to write or memory to make. ``what``: those texts. Raises BenchmarkError after ``LIMIT_S``."""
    began, told = time.perf_counter(), await _told(work, cluster)
    most = left(told)
    work.progress.begin(f"{work.split.name}: {what}", most)
    while (rest := left(told)) or not all(status["settled"] for status in told.values()):  # settled: the cloud knows what it should
        if time.perf_counter() - began > LIMIT_S:
            raise BenchmarkError(f"{rest} {what} are not made yet", next_step="read the edges' logs; the same command goes on")
        work.progress.at(max(0, most - rest))
        await asyncio.sleep(POLL_S)
        told = await _told(work, cluster)
    return Waited(round(time.perf_counter() - began, 1), told)


def left(told: Mapping[str, Mapping[str, Any]]) -> int:
    """How much the edges have still to make, by what their status says.

    >>> left({"a": {"stale": 2}, "b": {"stale": 1}})
    3
    """
    return sum(int(status["stale"]) for status in told.values())


async def _told(work: Work, cluster: Cluster) -> dict[str, dict[str, Any]]:
    return {edge: await work.fleet.status(url) for edge, url in cluster.edges.items()}
