"""The map step: a model says of each pack of reports how much it helps to answer, and what it tells (GraphRAG §2.6).

How much is read off the distribution of one token, which a small model has calibrated where its own numbers are noise; where the server
tells no distribution, the model says a number.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import fmean

from edge_node.answering.points import (
    KeyPoint,
    NumberedFinding,
    Pack,
    joined,
    noted,
    notes_of,
    passages_of,
    scored,
    unspoken,
    whole_sentences,
)
from shared.errors import ModelError, ModelUnavailable
from shared.limits import Deadline
from shared.ports import Generator, Message, Prompt
from shared.records import EdgeId, Evidence
from shared.reduce import SPEAKING
from shared.telemetry.trace import OpenStep, Trace
from shared.text.fence import FENCE_BYTES, Fence, one_line
from shared.text.prompts import listed, load_prompt
from shared.text.refusals import YES_OR_NO, probability_of
from shared.text.support import Checking

MAP = load_prompt("edge_node", "map")
HELPS = load_prompt("edge_node", "task_helps").user.template
POINTS = load_prompt("edge_node", "task_points").user.template
POINTS_SCORED = load_prompt("edge_node", "task_points_scored").user.template
PROBE_TOKENS = 1
TOP_LOGPROBS = 10
LEAST_SCORE = 0.01
MOST_PROBES = 8  # of the points of one question; those that neither words nor these decide are told in the documents' words
MIN_SCORE = 0.45  # P(yes) that reports help with the question, below which nothing is written about them; the paper: 0
NEARLY = 0.5  # of ``min_score``: a pack that may be written about all the same where none has it


@dataclass(frozen=True, slots=True)
class Mapped:
    """What was said about the packs that were read. ``failure``: of the last call that failed, if one did."""

    said: tuple[KeyPoint, ...]
    read: tuple[Pack, ...]
    failure: ModelError | None = None


@dataclass(frozen=True, slots=True)
class _Framed:
    """A pack as the model reads it, for all its calls alike, so that a server has the beginning of the second one from the first."""

    place: int
    notes: list[NumberedFinding]
    passages: list[Evidence]
    question: str
    fence: Fence

    def messages(self, task: str) -> tuple[Message, ...]:
        return MAP.render(notes=self.fence.around(listed(self.passages)), question=self.question, task=task)


@dataclass(slots=True)
class _Run:
    """How far the packs of one question are."""

    question: str
    deadline: Deadline
    waiting: Iterator[tuple[int, Pack]]
    said: dict[int, list[KeyPoint]] = field(default_factory=dict)  # by the pack's place
    took_s: list[float] = field(default_factory=list)  # the packs about which something was written
    failure: ModelError | None = None
    spared: tuple[float, _Framed] | None = (
        None  # the most helpful pack that was too little of a help to be written about; of equal ones the first
    )

    def spare(self, score: float, framed: _Framed) -> None:
        """Remember a pack, with its score, that is not written about for now."""
        if self.spared is None or score > self.spared[0]:
            self.spared = score, framed

    @property
    def is_over(self) -> bool:
        """No model is there, or one more pack would not end in time."""
        return isinstance(self.failure, ModelUnavailable) or self.deadline.left_s() <= (fmean(self.took_s) if self.took_s else 0.0)


class Mapper:
    """Reads packs, ``at_once`` of them at a time."""

    def __init__(
        self,
        generator: Generator,
        edge: EdgeId,
        *,
        max_tokens: int,
        at_once: int,
        min_score: float = MIN_SCORE,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """``max_tokens``: of what is written about one pack; ``min_score``: of a pack that anything is written about."""
        self._generator = generator
        self._edge = edge
        self._max_tokens = max_tokens
        self._at_once = at_once
        self._min_score = min_score
        self._now = now

    async def map(self, question: str, packs: Sequence[Pack], trace: Trace, deadline: Deadline) -> Mapped:
        """What the packs say to a question; one that fails is not read, and none is begun that would be late if it took the usual time.

        Where the model finds no pack helpful enough, it writes about the most helpful one, if that nearly is: a small model doubts what a
        few sentences can say to "What are the main themes?".
        """
        run = _Run(question, deadline, iter(list(enumerate(packs))))
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._at_once):
                tasks.create_task(self._work(run, trace))
        if run.spared is not None and not any(run.said.values()):
            score, framed = run.spared
            await self._try(run, trace, framed.place, partial(self._write, run, framed, score))
        places = sorted(run.said)
        return Mapped(tuple(said for place in places for said in run.said[place]), tuple(packs[place] for place in places), run.failure)

    async def grounded(self, points: Sequence[Evidence], trace: Trace, deadline: Deadline) -> list[Evidence]:
        """The points, each as it was written where its document's words say that, else in these words."""
        checking = Checking(self._generator, trace, deadline, MOST_PROBES)

        async def stands(point: Evidence) -> bool:
            return await checking.holds(point.point, [point], aside=SPEAKING)

        return [point if not point.point or await stands(point) else replace(point, point="") for point in points]

    async def _work(self, run: _Run, trace: Trace) -> None:
        for place, pack in run.waiting:  # which all workers share
            await self._try(run, trace, place, partial(self._read, run, place, pack))

    async def _try(self, run: _Run, trace: Trace, place: int, read: Callable[[OpenStep], Awaitable[list[KeyPoint]]]) -> None:
        if run.is_over:
            return
        began = self._now()
        try:
            with trace.step("map") as step:
                run.said[place] = await read(step)
        except ModelError as error:
            run.failure = error
            return
        if run.said[place]:
            run.took_s.append(self._now() - began)

    async def _read(self, run: _Run, place: int, pack: Pack, step: OpenStep) -> list[KeyPoint]:
        """One pack: the probe, then the answer, unless the notes do not help enough. Raises ModelError."""
        if not (notes := notes_of(pack)):
            return []
        framed = _Framed(place, notes, passages_of(notes, self._edge), one_line(run.question), Fence(secrets.token_hex(FENCE_BYTES)))
        probe = Prompt(framed.messages(HELPS), PROBE_TOKENS, top_logprobs=TOP_LOGPROBS, choices=YES_OR_NO)
        reply = step.model(await self._generator.generate(probe, deadline_s=run.deadline.left_s()))
        helps = probability_of(reply.first_token, "yes", ["no"])
        if helps is not None and self._is_useless(helps):
            if round(helps, 2) >= max(NEARLY * self._min_score, LEAST_SCORE):
                run.spare(helps, framed)
            return []
        return await self._write(run, framed, helps, step)

    async def _write(self, run: _Run, framed: _Framed, helps: float | None, step: OpenStep) -> list[KeyPoint]:
        """What the model tells of a pack; ``helps``: None where it is to say the score itself. Raises ModelError."""
        messages = framed.messages(POINTS_SCORED if helps is None else POINTS)
        text = await self._written(messages, framed.fence, step, run.deadline)
        text, score = scored(text) if helps is None else (text, helps)
        if helps is None and self._is_useless(score):
            return []
        found = noted(text, framed.passages)
        if not found and not self._is_useless(score):
            found = unspoken(text, framed.notes)
        return [KeyPoint(joined([framed.notes[row] for row in rows], sentence), sentence, round(score, 2)) for rows, sentence in found]

    def _is_useless(self, score: float) -> bool:
        """A score of 0 always is: the paper drops those."""
        return round(score, 2) < LEAST_SCORE or score < self._min_score

    async def _written(self, messages: tuple[Message, ...], fence: Fence, step: OpenStep, deadline: Deadline) -> str:
        """What the model writes; nothing where it gives its instructions away."""
        prompt = Prompt(messages, self._max_tokens, stop=("\nQuestion:",))
        reply = step.model(await self._generator.generate(prompt, deadline_s=deadline.left_s()))
        text = reply.texts[0]
        if fence.is_given_away(text, messages):
            return ""
        return whole_sentences(text) if any(reply.truncated) else text
