"""Questions: answers, evidence, and the OpenAI-compatible form."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Response
from fastapi.encoders import jsonable_encoder
from pydantic import BaseModel, ConfigDict, Field
from sse_starlette import EventSourceResponse

from edge_node.answer.answerer import Answerer, Ask
from edge_node.api.deps import Node, later
from edge_node.settings import MAX_SAMPLES
from shared.errors import DgragError, InputError
from shared.records import Answer, Evidence, TraceStep
from shared.trace import Trace
from shared.wire import MAX_QUESTION_CHARS, Question

router = APIRouter(prefix="/v1")
MODES: dict[str, Literal["auto", "local"]] = {"dgrag": "auto", "dgrag-local": "local"}


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


class ChatMessage(BaseModel):
    """One message of an OpenAI-style request."""

    role: Literal["system", "user", "assistant"]
    content: Annotated[str, Field(max_length=100_000)]


class ChatBody(BaseModel):
    """The part of an OpenAI-style request that we use; other fields are ignored, as its clients expect."""

    model: str = "dgrag"
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=200)]
    stream: bool = False


@router.post("/query", response_model=Answer)
async def query(body: QueryBody, node: Node) -> Response | Answer:
    """Answer from here, or through the cloud from other sites."""
    ask = _ask(body)
    return EventSourceResponse(_answer_events(node.answerer, ask)) if body.stream else await node.answerer.answer(ask, Trace())


@router.post("/retrieve")
async def retrieve(body: RetrieveBody, node: Node) -> RetrieveReply:
    """The evidence only, for one's own model."""
    found = await node.answerer.retrieve(body.question, Trace(), budget_tokens=body.budget_tokens, top_k=body.top_k)
    return RetrieveReply(evidence=found.evidence, facts=found.facts)


@router.get("/models")
async def models() -> dict[str, Any]:
    """The modes, as models of the OpenAI-compatible route."""
    return {"object": "list", "data": [{"id": name, "object": "model", "owned_by": "dgrag"} for name in MODES]}


@router.post("/chat/completions", response_model=None)
async def chat(body: ChatBody, node: Node) -> Response | dict[str, Any]:
    """OpenAI-compatible: the last user message is the question, the model's name chooses the mode."""
    if body.model == "dgrag-global":
        raise later("the global mode")
    if body.model not in MODES:
        raise InputError(f"there is no model {body.model[:80]!r}", next_step=f"use one of {', '.join(MODES)}")
    questions = [message.content for message in body.messages if message.role == "user" and message.content.strip()]
    if not questions:
        raise InputError("there is no user message", next_step="send the question as the last message of role 'user'")
    answer = await node.answerer.answer(Ask(questions[-1][:MAX_QUESTION_CHARS], MODES[body.model]), Trace())
    return EventSourceResponse(_chunks(body.model, answer), sep="\n") if body.stream else _completion(body.model, answer)


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
    for piece in re.findall(r"\s*\S+", answer.answer):
        yield {"event": "text", "data": orjson.dumps(piece).decode()}
    yield {"event": "answer", "data": orjson.dumps(answer).decode()}


def _completion(model: str, answer: Answer) -> dict[str, Any]:
    tokens_in, tokens_out = (sum(getattr(step, field) for step in answer.trace) for field in ("tokens_in", "tokens_out"))
    return {
        "id": answer.query_id,
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": answer.answer}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out},
        "dgrag": jsonable_encoder(answer),
    }


async def _chunks(model: str, answer: Answer) -> AsyncIterator[str]:
    base = {"id": answer.query_id, "object": "chat.completion.chunk", "created": int(time.time()), "model": model}
    pieces: list[tuple[dict[str, str], str | None]] = [({"role": "assistant", "content": answer.answer}, None), ({}, "stop")]
    for delta, reason in pieces:
        yield orjson.dumps(base | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}).decode()
    yield "[DONE]"
