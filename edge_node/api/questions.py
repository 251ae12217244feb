"""Questions: answers and evidence."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated, Literal, Self

import orjson
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator
from sse_starlette import EventSourceResponse

from edge_node.answering.answerer import Ask, SearchResult
from edge_node.answering.follow_up import Exchange
from edge_node.answering.overview import GlobalAsk
from edge_node.api.access import GuardedRoute, ReaderDep
from edge_node.api.filtering import FiltersBody, filters_of
from edge_node.api.streaming import hearing
from edge_node.documents.filters import NOTHING_MATCHES
from edge_node.reading import Reader
from edge_node.settings import MAX_SAMPLES
from shared.client.hearing import Completed, Void
from shared.client.replies import FoundSummary, RetrieveReply
from shared.errors import DgragError
from shared.http.middleware import while_connected
from shared.records import Answer, Level, TraceStep
from shared.telemetry.trace import Trace
from shared.text.citations import MAX_ANSWER_CHARS
from shared.wire import Purpose, Question

MAX_EARLIER = 50  # exchanges of a conversation that a client may send

router = APIRouter(prefix="/v1", route_class=GuardedRoute)


class Said(BaseModel):
    """One question of the conversation so far, and its answer."""

    model_config = ConfigDict(extra="forbid")

    question: Question
    answer: Annotated[str, Field(max_length=MAX_ANSWER_CHARS)] = ""


class QueryBody(BaseModel):
    """A question. Mode ``global`` is for one about everything: it is answered from reports, of all sites that may be asked."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    question: Question
    mode: Literal["auto", "local", "cloud", "global"] = "auto"
    stream: bool = False
    n: Annotated[int, Field(ge=1, le=MAX_SAMPLES)] | None = None
    allow_escalation: Literal["yes", "no", "ask"] | None = None  # as the sharing policy says
    purpose: Purpose | None = None  # told to the sites that are asked
    filters: FiltersBody | None = None
    memory: bool = True  # the answer may come from memory, where this site has asked and answered the same before
    level: Level | None = None  # of the reports, with mode global: 0 has the broadest; as the setting says
    # the conversation so far, for a question that goes on with it
    earlier: Annotated[tuple[Said, ...], Field(max_length=MAX_EARLIER, fail_fast=True)] = ()

    @model_validator(mode="after")
    def _belongs_together(self) -> Self:
        if self.level is not None and self.mode != "global":
            raise ValueError("a level is for the mode global only")
        return self


class RetrieveBody(BaseModel):
    """A question whose evidence is wanted."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    question: Question
    budget_tokens: Annotated[int, Field(ge=1, le=200_000)] | None = None
    top_k: Annotated[int, Field(ge=1, le=1000)] | None = None
    mode: Literal["local", "cloud"] = "local"
    allow_escalation: Literal["yes", "no", "ask"] | None = None  # with mode cloud: as the sharing policy says
    purpose: Purpose | None = None  # with mode cloud: told to the sites that are asked
    filters: FiltersBody | None = None  # with mode local


@router.post("/query", response_model=Answer)
async def query(body: QueryBody, reader: ReaderDep, request: Request) -> Response | Answer:
    """Answer from here, or through the cloud from other sites.

    With ``stream`` the answer comes as server-sent events: ``step`` live, as each step ends; ``asked`` with the question that a follow-up
    was completed to; then, when the gate has chosen an answer,
    its ``text`` in pieces; last ``answer`` with all of it. The text is not streamed while it is written: the gate reads it first.
    With mode ``global`` it is: each sentence as it is there. ``void`` says that the text so far is not the answer after all.
    """
    ask = _ask(body)
    if not body.stream:
        return await while_connected(request, reader.ask(ask, Trace()))
    reader.check_turn(ask)  # as long as there can be a status of its own
    return EventSourceResponse(_answer_events(reader, ask))


@router.post("/retrieve")
async def retrieve(body: RetrieveBody, reader: ReaderDep, request: Request) -> RetrieveReply:
    """The evidence only, for one's own model: this site's, or with mode ``cloud`` that of all sites that may know and let it go.

    400 where the question may not leave, or has filters and mode ``cloud``.
    """
    filters = filters_of(body.filters)
    if body.mode == "cloud":
        ask = Ask(body.question, "cloud", escalation=body.allow_escalation, purpose=body.purpose or "", filters=filters)
        findings = await while_connected(request, reader.find(ask, budget_tokens=body.budget_tokens, top_k=body.top_k))
        return RetrieveReply(**{name: getattr(findings, name) for name in SearchResult.__dataclass_fields__})
    work = reader.retrieve(body.question, filters, budget_tokens=body.budget_tokens, top_k=body.top_k)
    found = await while_connected(request, work)
    summaries = (FoundSummary(text=one.text, chunk_ids=tuple(passage.chunk_id for passage in one.passages)) for one in found.summaries)
    reason = NOTHING_MATCHES if not found.evidence and await reader.matches_nothing(filters) else ""
    return RetrieveReply(evidence=found.evidence, facts=found.facts, summaries=tuple(summaries), reason=reason)


def _ask(body: QueryBody) -> Ask | GlobalAsk:
    filters = filters_of(body.filters)
    earlier = tuple(Exchange(one.question, one.answer) for one in body.earlier)
    if body.mode == "global":
        return GlobalAsk(body.question, body.level, body.allow_escalation, body.purpose or "", earlier, filters=filters)
    asked = Ask(body.question, body.mode, body.n, body.allow_escalation, body.purpose or "")
    return replace(asked, memory=body.memory, earlier=earlier, filters=filters)


async def _answer_events(reader: Reader, ask: Ask | GlobalAsk) -> AsyncIterator[dict[str, str]]:
    async with contextlib.aclosing(hearing(reader, ask)) as news:
        async for told in news:
            match told:
                case TraceStep():
                    yield _event("step", told)
                case Completed():
                    yield _event("asked", told.question)
                case str():
                    yield _event("text", told)
                case Void():
                    yield _event("void", None)
                case Answer():
                    yield _event("answer", told)
                case DgragError():
                    yield _event("error", {"code": told.code, "detail": told.message})
                case BaseException():
                    raise told


def _event(kind: str, data: object) -> dict[str, str]:
    return {"event": kind, "data": orjson.dumps(data).decode()}
