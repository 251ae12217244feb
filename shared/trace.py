"""What each step of a request cost: time, model calls, tokens, bytes. Returned with the answer, read by the benchmarks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shared import correlation
from shared.ports import Reply
from shared.records import TraceStep


class OpenStep:
    """A step under way; counts are added to it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls = self.tokens_in = self.tokens_out = self.bytes_out = self.bytes_in = 0

    def model(self, reply: Reply) -> Reply:
        """Count one model call and hand its reply on."""
        self.calls += 1
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out
        return reply

    def transfer(self, *, sent: int = 0, received: int = 0) -> None:
        """Count bytes that crossed the link."""
        self.bytes_out += sent
        self.bytes_in += received


class Trace:
    """Collects steps in the order in which they end.

    >>> trace = Trace()
    >>> with trace.step("retrieve") as step:
    ...     step.transfer(sent=10)
    >>> trace.steps()[0].step, trace.steps()[0].bytes_out
    ('retrieve', 10)
    """

    def __init__(self, on_step: Callable[[TraceStep], None] | None = None) -> None:
        self._steps: list[TraceStep] = []
        self._on_step = on_step  # told each step as it ends

    @contextmanager
    def step(self, name: str) -> Iterator[OpenStep]:
        """Time a step; it is recorded even when it fails."""
        open_step, started = OpenStep(name), time.perf_counter()
        try:
            yield open_step
        finally:
            ms = round((time.perf_counter() - started) * 1000, 2)
            counted = (open_step.calls, open_step.tokens_in, open_step.tokens_out, open_step.bytes_out, open_step.bytes_in)
            ended = TraceStep(name, ms, *counted)
            correlation.tell(ended)
            self.extend((ended,))

    def extend(self, steps: tuple[TraceStep, ...]) -> None:
        """Append steps that ended elsewhere."""
        self._steps.extend(steps)
        if self._on_step is not None:
            for step in steps:
                self._on_step(step)

    def steps(self) -> tuple[TraceStep, ...]:
        """The steps so far."""
        return tuple(self._steps)
