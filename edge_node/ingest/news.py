"""What the write path is doing, for whoever waits or looks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from edge_node.ingest.progress import JobProgress, Step, remaining_s


class News:
    """The last step that was told, and how far each job under way is."""

    def __init__(self) -> None:
        self.now = Step()
        self.changes = 0  # news so far
        self.jobs: dict[str, JobProgress] = {}  # those that are being added
        self._since = time.perf_counter()  # of the present step
        self._changed = asyncio.Condition()

    async def tell(self, step: Step) -> None:
        """Let everybody know what is done now."""
        now = time.perf_counter()
        if job := self.jobs.get(step.job_id):
            job.report(step, now)
        async with self._changed:
            if (step.step, step.job_id) != (self.now.step, self.now.job_id):
                self._since = now
            self.now = step
            self.changes += 1
            self._changed.notify_all()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until news make the condition true."""
        async with self._changed:
            await self._changed.wait_for(condition)

    async def next_change(self, seen: int, *, wait_s: float) -> None:
        """Wait until there were more than ``seen`` changes, at most ``wait_s`` seconds."""
        try:
            async with asyncio.timeout(wait_s):
                await self.until(lambda: self.changes != seen)
        except TimeoutError:
            pass

    def place_of(self, job_id: str) -> tuple[Step, float | None]:
        """The step of a job that has not ended, or the settle (a step of no job) that it may wait for; seconds until that ends.

        An empty step where it only waits.
        """
        at = time.perf_counter()
        if job := self.jobs.get(job_id):
            return job.now, job.eta_s(at)
        if self.now.job_id == job_id or (not self.now.job_id and self.now.total):
            share = self.now.done / self.now.total if self.now.total else 0.0
            return self.now, remaining_s(at - self._since, share, expected_s=0.0) if share else None
        return Step(), None
