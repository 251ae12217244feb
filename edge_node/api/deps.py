"""What routes share: the node, and the answer for what a later release brings."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request

from edge_node.answer.answerer import Ask
from edge_node.answer.overview import GlobalAsk
from edge_node.node import EdgeNode
from shared.admission import Admission
from shared.deadline import Deadline
from shared.errors import ModelTimeout, NotBuilt
from shared.records import Answer
from shared.reducer import Hear, unheard
from shared.trace import Trace


def get_node(request: Request) -> EdgeNode:
    """The node this app serves."""
    return cast("EdgeNode", request.app.state.node)


Node = Annotated[EdgeNode, Depends(get_node)]


@dataclass(frozen=True, slots=True)
class Admissions:
    """Who may ask the model now, and who waits. Questions about everything take minutes: they never hold the turns of the others."""

    questions: Admission
    overviews: Admission

    def of(self, ask: Ask | GlobalAsk) -> Admission:
        """The turns for such a question."""
        return self.overviews if isinstance(ask, GlobalAsk) else self.questions


def get_admissions(request: Request) -> Admissions:
    """The turns of this app."""
    return cast("Admissions", request.app.state.admissions)


Turns = Annotated[Admissions, Depends(get_admissions)]


async def answered(turns: Admissions, node: EdgeNode, ask: Ask | GlobalAsk, trace: Trace, hear: Hear = unheard) -> Answer:
    """The answer, when its turn has come; one from memory needs none. It can be judged by its id then.

    Of one to a question about everything ``hear`` gets the sentences as they are written.

    Raises Overloaded, ModelTimeout (the wait counts) and as ``Answerer.answer`` and ``Overview.answer``. The node's meter counts either.
    """
    with node.meter.counting_failures():
        since = node.verdicts.arrivals
        answer, seconds = await _timed(turns, node, ask, trace, hear)
        await node.verdicts.given(ask.question, answer, since=since)
    node.meter.answered(answer, seconds)
    return answer


def check_turn(turns: Admissions, node: EdgeNode, ask: Ask | GlobalAsk) -> None:
    """For an answer whose head goes out before its turn comes: raises Overloaded, which is counted, when ``answered`` would."""
    with node.meter.counting_failures():
        turns.of(ask).check()


async def _timed(turns: Admissions, node: EdgeNode, ask: Ask | GlobalAsk, trace: Trace, hear: Hear) -> tuple[Answer, float]:
    """The answer, and the seconds that it took, its wait included."""
    deadline = Deadline(node.overview.limits.deadline_s if isinstance(ask, GlobalAsk) else node.answerer.limits.answer_deadline_s)
    try:
        async with asyncio.timeout(deadline.seconds):
            if isinstance(ask, GlobalAsk):
                async with turns.of(ask).turn():
                    answer = await node.overview.answer(ask, trace, deadline, hear)
            else:
                look = await node.answerer.remembered(ask, trace)
                async with turns.of(ask).turn() if look.answer is None else contextlib.nullcontext():
                    answer = await node.answerer.answer(ask, trace, look)
    except TimeoutError as error:
        raise ModelTimeout(deadline_s=deadline.seconds) from error
    return answer, deadline.seconds - deadline.left_s()


def later(what: str) -> NotBuilt:
    """The error of a promised route that a later release brings."""
    return NotBuilt(what)
