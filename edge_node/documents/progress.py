"""How far a job is: what each step weighs, what is done of it, and when it will end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from edge_node.documents.estimate import Rates

BY_MODEL = "extract by model"
STEPS = ("extract", BY_MODEL, "embed")  # of a job, in their order
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 60.0  # between attempts at what has failed


@dataclass(frozen=True, slots=True)
class Step:
    """``done`` of ``total`` in a named step; of no job where ``job_id`` is empty."""

    step: str = ""
    done: int = 0
    total: int = 0
    job_id: str = ""


@dataclass(slots=True)
class Backoff:
    """Waits that double from FIRST_WAIT_S to LONGEST_WAIT_S; a new one starts when something goes well again."""

    failures: int = 0

    def next_s(self) -> float:
        """Count a failure; how long to wait now.

        >>> backoff = Backoff()
        >>> [backoff.next_s() for _ in range(9)]
        [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
        """
        wait_s = min(FIRST_WAIT_S * 2.0 ** min(self.failures, 16), LONGEST_WAIT_S)
        self.failures += 1
        return wait_s


def remaining_s(elapsed_s: float, share: float, *, expected_s: float) -> float:
    """Seconds until the end at the pace so far, where ``share`` of the work is done; as expected while nothing is.

    >>> remaining_s(6.0, 0.4, expected_s=30.0), remaining_s(1.0, 0.0, expected_s=30.0)
    (9.0, 30.0)
    """
    return round(elapsed_s * (1 - share) / share if share else expected_s, 1)


@dataclass(slots=True)
class JobProgress:
    """One job under way; times are seconds of one clock that never goes back."""

    rates: Rates
    chunks: int
    calls: int  # of the model, at most
    used_before: tuple[int, ...]  # calls, tokens in and out that the write path had used when it began
    started: float
    now: Step = Step()
    seconds: dict[str, float] = field(default_factory=dict)  # by step
    since: float = -1.0  # start of the present step

    def report(self, step: Step, at: float) -> None:
        """The job is here now."""
        if self.now.step:
            self.seconds[self.now.step] = self.seconds.get(self.now.step, 0.0) + at - self.since
        self.now, self.since = step, at

    async def wait(self, turn: asyncio.Event) -> None:
        """Wait for the documents that come first; that is no work of this one."""
        if not turn.is_set():
            before = self.now
            self.report(Step(job_id=before.job_id), time.perf_counter())
            await turn.wait()
            self.report(before, time.perf_counter())

    @property
    def share(self) -> float:
        """What is done of the whole job, from 0 to 1, in work that is weighed by the seconds that earlier documents took.

        >>> job = JobProgress(Rates(chunk_s=1.0, call_s=4.0), chunks=10, calls=5, used_before=(), started=0.0)
        >>> job.report(Step("extract by model", 1, 5), 7.0)
        >>> round(job.share, 2)  # 5 s of extraction and one of five calls, of 5 + 20 + 5 s
        0.3
        """
        if self.now.step not in STEPS:
            return 0.0
        weights = (self.chunks * self.rates.chunk_s / 2, self.calls * self.rates.call_s, self.chunks * self.rates.chunk_s / 2)
        place = STEPS.index(self.now.step)
        part = min(1.0, self.now.done / self.now.total) if self.now.total else 0.0
        return (sum(weights[:place]) + weights[place] * part) / (sum(weights) or 1.0)

    def eta_s(self, at: float) -> float:
        """Seconds until the job's document is read into the graph."""
        return remaining_s(at - self.started, self.share, expected_s=self.rates.seconds(chunks=self.chunks, calls=self.calls))

    def by_model_s(self) -> float:
        """Seconds in which the model worked."""
        return self.seconds.get(BY_MODEL, 0.0)

    def without_model_s(self) -> float:
        """Seconds of the other steps."""
        return sum(self.seconds.values()) - self.by_model_s()


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
