"""What routes share: the node, and the answer for what a later release brings."""

from __future__ import annotations

import asyncio
from typing import Annotated, cast

from fastapi import Depends, Request

from edge_node.answer.answerer import Answerer, Ask
from edge_node.node import EdgeNode
from shared.admission import Admission
from shared.errors import ModelTimeout, NotBuilt
from shared.records import Answer
from shared.trace import Trace


def get_node(request: Request) -> EdgeNode:
    """The node this app serves."""
    return cast("EdgeNode", request.app.state.node)


Node = Annotated[EdgeNode, Depends(get_node)]


def get_admission(request: Request) -> Admission:
    """Who may ask the model now, and who waits."""
    return cast("Admission", request.app.state.admission)


Turns = Annotated[Admission, Depends(get_admission)]


async def answered(turns: Admission, answerer: Answerer, ask: Ask, trace: Trace) -> Answer:
    """The answer, when its turn has come. Raises Overloaded, ModelTimeout (the wait counts) and as ``Answerer.answer``."""
    deadline_s = answerer.limits.answer_deadline_s
    try:
        async with asyncio.timeout(deadline_s), turns.turn():
            return await answerer.answer(ask, trace)
    except TimeoutError as error:
        raise ModelTimeout(deadline_s=deadline_s) from error


def later(what: str) -> NotBuilt:
    """The error of a promised route that a later release brings."""
    return NotBuilt(what)
