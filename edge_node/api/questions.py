"""Questions: answers and evidence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Literal

import orjson
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from sse_starlette import EventSourceResponse

from edge_node.answer.answerer import Answerer, Ask, Findings
from edge_node.api.access import GuardedRoute
from edge_node.api.chat import text_pieces
from edge_node.api.deps import Node, Turns, answered, later
from edge_node.settings import MAX_SAMPLES
from shared.admission import Admission
from shared.disconnect import while_connected
from shared.errors import DgragError
from shared.records import Answer, EdgeReport, Evidence, TraceStep
from shared.trace import Trace
from shared.wire import Purpose, Question

router = APIRouter(prefix="/v1", route_class=GuardedRoute)


class QueryBody(BaseModel):
    """A question."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    question: Question
    mode: Literal["auto", "local", "cloud", "global"] = "auto"
    stream: bool = False
    n: Annotated[int, Field(ge=1, le=MAX_SAMPLES)] | None = None
    allow_escalation: Literal["yes", "no", "ask"] | None = None  # as the sharing policy says
    purpose: Purpose | None = None  # told to the sites that are asked
    filters: dict[str, str] = {}


class RetrieveBody(BaseModel):
    """A question whose evidence is wanted."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    question: Question
    budget_tokens: Annotated[int, Field(ge=1, le=200_000)] | None = None
    top_k: Annotated[int, Field(ge=1, le=1000)] | None = None
    mode: Literal["local", "cloud"] = "local"
    allow_escalation: Literal["yes", "no", "ask"] | None = None  # with mode cloud: as the sharing policy says
    purpose: Purpose | None = None  # with mode cloud: told to the sites that are asked


class RetrieveReply(BaseModel):
    """Best first. A passage of another site that is not to be quoted comes without its text."""

    evidence: tuple[Evidence, ...]
    facts: tuple[str, ...] = ()
    edges: tuple[EdgeReport, ...] = ()
    degraded: bool = False  # the cloud is away: these are the passages of this site alone
    reason: str = ""
    trace: tuple[TraceStep, ...] = ()


@router.post("/query", response_model=Answer)
async def query(body: QueryBody, node: Node, turns: Turns, request: Request) -> Response | Answer:
    """Answer from here, or through the cloud from other sites.

    With ``stream`` the answer comes as server-sent events: ``step`` live, as each step ends; then, when the gate has chosen an answer,
    its ``text`` in pieces; last ``answer`` with all of it. The text is not streamed while it is written: the gate reads it first.
    """
    ask = _ask(body)
    if not body.stream:
        return await while_connected(request, answered(turns, node.answerer, ask, Trace()))
    turns.check()  # as long as there can be a status of its own
    return EventSourceResponse(_answer_events(turns, node.answerer, ask))


@router.post("/retrieve")
async def retrieve(body: RetrieveBody, node: Node, request: Request) -> RetrieveReply:
    """The evidence only, for one's own model: this site's, or with mode ``cloud`` that of all sites that may know and let it go.

    400 where the question may not leave.
    """
    if body.mode == "cloud":
        ask = Ask(body.question, "cloud", escalation=body.allow_escalation, purpose=body.purpose or "")
        findings = await while_connected(request, node.answerer.find(ask, Trace(), budget_tokens=body.budget_tokens, top_k=body.top_k))
        return RetrieveReply(**{name: getattr(findings, name) for name in Findings.__dataclass_fields__})
    work = node.answerer.retrieve(body.question, Trace(), budget_tokens=body.budget_tokens, top_k=body.top_k)
    found = await while_connected(request, work)
    return RetrieveReply(evidence=found.evidence, facts=found.facts)


def _ask(body: QueryBody) -> Ask:
    if body.mode == "global":
        raise later("the global mode")
    if body.filters:
        raise later("filters")
    return Ask(body.question, body.mode, body.n, body.allow_escalation, body.purpose or "")


async def _answer_events(turns: Admission, answerer: Answerer, ask: Ask) -> AsyncIterator[dict[str, str]]:
    """``step`` as each step ends, then ``text`` pieces of the chosen answer, then ``answer`` with all of it."""
    steps: asyncio.Queue[TraceStep | None] = asyncio.Queue()
    task = asyncio.create_task(answered(turns, answerer, ask, Trace(on_step=steps.put_nowait)))
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
