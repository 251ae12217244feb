"""Questions: answers and evidence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Literal

import orjson
from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field
from sse_starlette import EventSourceResponse

from edge_node.answer.answerer import Answerer, Ask
from edge_node.api.chat import text_pieces
from edge_node.api.deps import Node, later
from edge_node.settings import MAX_SAMPLES
from shared.errors import DgragError
from shared.records import Answer, Evidence, TraceStep
from shared.trace import Trace
from shared.wire import Question

router = APIRouter(prefix="/v1")


class QueryBody(BaseModel):
    """A question."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    question: Question
    mode: Literal["auto", "local", "cloud", "global"] = "auto"
    stream: bool = False
    n: Annotated[int, Field(ge=1, le=MAX_SAMPLES)] | None = None
    allow_escalation: Literal["yes", "no", "ask"] = "yes"
    filters: dict[str, str] = {}


class RetrieveBody(BaseModel):
    """A question whose evidence is wanted."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    question: Question
    budget_tokens: Annotated[int, Field(ge=1, le=200_000)] | None = None
    top_k: Annotated[int, Field(ge=1, le=1000)] | None = None


class RetrieveReply(BaseModel):
    """Best first."""

    evidence: tuple[Evidence, ...]
    facts: tuple[str, ...]


@router.post("/query", response_model=Answer)
async def query(body: QueryBody, node: Node) -> Response | Answer:
    """Answer from here, or through the cloud from other sites.

    With ``stream`` the answer comes as server-sent events: ``step`` live, as each step ends; then, when the gate has chosen an answer,
    its ``text`` in pieces; last ``answer`` with all of it. The text is not streamed while it is written: the gate reads it first.
    """
    ask = _ask(body)
    return EventSourceResponse(_answer_events(node.answerer, ask)) if body.stream else await node.answerer.answer(ask, Trace())


@router.post("/retrieve")
async def retrieve(body: RetrieveBody, node: Node) -> RetrieveReply:
    """The evidence only, for one's own model."""
    found = await node.answerer.retrieve(body.question, Trace(), budget_tokens=body.budget_tokens, top_k=body.top_k)
    return RetrieveReply(evidence=found.evidence, facts=found.facts)


def _ask(body: QueryBody) -> Ask:
    if body.mode == "global":
        raise later("the global mode")
    if body.allow_escalation == "ask":
        raise later("asking before a question leaves")
    if body.filters:
        raise later("filters")
    return Ask(body.question, body.mode, body.n, may_escalate=body.allow_escalation == "yes")


async def _answer_events(answerer: Answerer, ask: Ask) -> AsyncIterator[dict[str, str]]:
    """``step`` as each step ends, then ``text`` pieces of the chosen answer, then ``answer`` with all of it."""
    steps: asyncio.Queue[TraceStep | None] = asyncio.Queue()
    task = asyncio.create_task(answerer.answer(ask, Trace(on_step=steps.put_nowait)))
    task.add_done_callback(lambda _: steps.put_nowait(None))
    try:
        while (step := await steps.get()) is not None:
            yield {"event": "step", "data": orjson.dumps(step).decode()}
        answer = await task
    except DgragError as error:
        yield {"event": "error", "data": orjson.dumps({"code": error.code, "detail": error.message}).decode()}
        return
    finally:
        task.cancel()  # the client may be gone: then the model's work stops too
    for piece in text_pieces(answer.answer):
        yield {"event": "text", "data": orjson.dumps(piece).decode()}
    yield {"event": "answer", "data": orjson.dumps(answer).decode()}
