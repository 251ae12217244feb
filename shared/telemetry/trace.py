"""What each step of a request cost, and the components of an answer that the steps belong to (DGRAG Fig. 9)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from shared.ports import Reply
from shared.records import TraceStep
from shared.telemetry import correlation

CLOUD = "cloud: "  # what the cloud did; a second colon names the edge that did it for the cloud
OTHER = "other"  # the component of a step that belongs to none
TRANSMISSION = "transmission"  # the component that no step makes: see transmission_ms
ESCALATED = "cloud"  # the step of an edge that waits for the cloud

# The paper's components, and the steps of a trace that make each. What an edge did for the cloud is within "cloud: fan_out".
COMPONENTS: dict[str, tuple[str, ...]] = {
    "follow-up": ("follow-up",),  # a question of a conversation becomes one of its own
    "remember": ("remember", "same answer", "cloud: remember"),  # FD-RAG §4.2
    "local query": ("tables", "write query", "run query", "retrieve", "narrow", "span", "span check", "samples"),
    "gate": ("gate: confidence", "gate: similarity", "gate: selection"),
    "summary matching": ("cloud: match",),
    "global retrieval": ("cloud: fan_out", "cloud: rescore", "cloud: order"),
    "cloud generation": ("cloud: verify", "cloud: generate"),
    "choice of reports": ("choose",),  # this and what follows: of a global answer (GraphRAG §2.6)
    "map": ("map", "contrast"),
    "reduce": ("reduce", "cloud: reduce"),
}
# The paper's four transfers: which step moved the bytes, and in which direction.
TRANSFERS: dict[str, tuple[str, str]] = {
    "query send": (ESCALATED, "bytes_out"),
    "request send": ("cloud: fan_out", "bytes_out"),
    "knowledge send": ("cloud: fan_out", "bytes_in"),
    "answer send": (ESCALATED, "bytes_in"),
}
_COMPONENT_OF = {step: component for component, steps in COMPONENTS.items() for step in steps}


def is_the_clouds(step: str) -> bool:
    """Whether the cloud's own model is meant, and not that of an edge that the cloud asked.

    >>> [is_the_clouds(step) for step in ("samples", "cloud", "cloud: generate", "cloud: law: retrieve")]
    [False, False, True, False]
    """
    return step.startswith(CLOUD) and ": " not in step.removeprefix(CLOUD)


def component_of(step: str) -> str:
    """The component that a step is a part of.

    >>> [component_of(step) for step in ("samples", "cloud: match", "cloud: law: match", "cloud")]
    ['local query', 'summary matching', 'other', 'other']
    """
    return _COMPONENT_OF.get(step, OTHER)


def transmission_ms(steps: Iterable[TraceStep]) -> float | None:
    """Milliseconds that an edge waited for the cloud's answer beyond what the cloud did, its wait for a turn included.

    That is the link both ways, HTTP, signatures, the ledger's record. The cloud's own steps follow each other, so their sum is what it
    did; what edges did for it is within "cloud: fan_out". None: the cloud did not answer. Never negative, whatever the cloud says.

    >>> transmission_ms([TraceStep("cloud", 50.0), TraceStep("cloud: wait", 8.0), TraceStep("cloud: law: match", 30.0)])
    42.0
    >>> transmission_ms([TraceStep("cloud", 5000.0), TraceStep("samples", 900.0)])
    """
    told = list(steps)
    waited = [step.ms for step in told if step.step == ESCALATED]
    did = [step.ms for step in told if is_the_clouds(step.step)]
    return max(0.0, sum(waited) - sum(did)) if waited and did else None


class OpenStep:
    """A step under way; counts are added to it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_open = True
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


_under_way: ContextVar[OpenStep | None] = ContextVar("step_under_way", default=None)


def count_call(reply: Reply) -> Reply:
    """Count one model call in the step that is under way, for code that is handed no trace, and hand its reply on.

    >>> trace = Trace()
    >>> with trace.step("retrieve"):
    ...     _ = count_call(Reply(("a",), tokens_in=7, tokens_out=1))
    >>> trace.steps()[0].tokens_in
    7
    """
    if (step := _under_way.get()) is not None and step.is_open:
        step.model(reply)
    return reply


class Trace:
    """Collects steps in the order in which they end.

    >>> trace = Trace()
    >>> with trace.step("retrieve") as step:
    ...     step.transfer(sent=10)
    >>> trace.steps()[0].step, trace.steps()[0].bytes_out
    ('retrieve', 10)
    """

    def __init__(self, on_step: Callable[[TraceStep], None] | None = None, on_begin: Callable[[str], None] | None = None) -> None:
        self._steps: list[TraceStep] = []
        self._on_step = on_step  # told each step as it ends
        self._on_begin = on_begin  # told the name of each step as it begins

    @contextmanager
    def step(self, name: str) -> Iterator[OpenStep]:
        """Time a step; it is recorded even when it fails."""
        if self._on_begin is not None:
            self._on_begin(name)
        open_step, started = OpenStep(name), time.perf_counter()
        outer = _under_way.get()
        _under_way.set(open_step)
        try:
            yield open_step
        finally:
            open_step.is_open = False
            if _under_way.get() is open_step:  # no reset: a stream that is broken off may end in another context
                _under_way.set(outer)
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
