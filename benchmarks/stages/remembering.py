"""Memories of a start that makes any: questions wait until all of them are there (FD-RAG §4.1). An edge makes them in idle time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.cluster import Cluster
from benchmarks.fdrag_systems import remembers
from benchmarks.stages import Work
from benchmarks.stages.idle import idle
from benchmarks.systems import Start

STAGE = "memories"
NO_COUNTS = frozenset({"waiting", "looked", "answered"})  # numbers of a status that say nothing of what is remembered


async def remembering(work: Work, cluster: Cluster, state: str, start: Start) -> None:
    """Wait until the edges of a start remember all that they will, and note what that is. Raises BenchmarkError where it takes too long."""
    if not remembers(dict(start.environment)):
        return
    waited = await idle(work, cluster, STAGE)
    for edge, status in waited.told.items():
        if not work.journal.done(STAGE, f"{state}/{edge}"):
            row = {"split": work.split.name, "state": state, "edge": edge, "waited_s": waited.seconds, **counted(status)}
            work.journal.add(STAGE, f"{state}/{edge}", row)


def counted(status: Mapping[str, Any]) -> dict[str, int]:
    """The numbers of a status that tell how much is remembered.

    >>> counted({"memory": {"template": 9, "waiting": 0, "fast": "on", "looked": 3, "answered": 1}})
    {'template': 9}
    """
    numbers = {name: value for name, value in status["memory"].items() if isinstance(value, int) and not isinstance(value, bool)}
    return {name: value for name, value in numbers.items() if name not in NO_COUNTS}
