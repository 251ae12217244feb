"""Documents under way, in the order in which they were taken: all are read at once, and written one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass
from typing import Any

from edge_node.documents.jobs import Job


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A document that is being indexed. ``turn``: all before it have ended, so it may be written."""

    job: Job
    task: asyncio.Task[None]
    turn: asyncio.Event


class Lane:
    """What is written, and in which order, is then the same however many are under way, and whichever is read first."""

    def __init__(self) -> None:
        self._under_way: dict[str, UnderWay] = {}

    def __len__(self) -> int:
        return len(self._under_way)

    @property
    def job_ids(self) -> tuple[str, ...]:
        """Of what is under way, the oldest first."""
        return tuple(self._under_way)

    def begin(self, job: Job, work: Callable[[Job, asyncio.Event], Coroutine[Any, Any, None]]) -> None:
        """Let ``work`` begin with a document; it is to write nothing before the event that it gets is set."""
        turn = asyncio.Event()
        self._under_way[job.job_id] = UnderWay(job, asyncio.create_task(work(job, turn)), turn)

    async def ended(self, wake: asyncio.Event | None = None) -> UnderWay | None:
        """Give the first document its turn, and return it when it has ended; None where ``wake`` was set before."""
        first = next(iter(self._under_way.values()))
        first.turn.set()
        woken = [asyncio.create_task(wake.wait())] if wake else []
        try:
            await asyncio.wait([first.task, *woken], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in woken:
                task.cancel()
        return self._under_way.pop(first.job.job_id) if first.task.done() else None

    def stop(self, job_ids: Collection[str]) -> None:
        """Go on no further with some; each ends in its turn."""
        for job_id in job_ids:
            if job_id in self._under_way:
                self._under_way[job_id].task.cancel()

    async def clear(self) -> None:
        """Stop all, and forget them when they have ended."""
        tasks = [one.task for one in self._under_way.values()]
        self.stop(self.job_ids)
        self._under_way.clear()
        if tasks:
            await asyncio.wait(tasks)
