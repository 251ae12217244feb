"""Ollama's API, for programs that know no other: ``/api/chat``, ``/api/generate``, ``/api/tags``, ``/api/show``, ``/api/version``."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from importlib import metadata
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from edge_node.api.access import ReaderDep
from edge_node.api.chat import MODES, TAKEN_BACK, Asked, ChatMessage, asked_of, below, completed, spent
from edge_node.api.forms import problem_of, said, telling
from edge_node.api.steps import told_step
from shared.client.hearing import Completed, Void
from shared.errors import NotFound
from shared.http.middleware import while_connected
from shared.records import Answer, TraceStep
from shared.wire import NDJSON

log = logging.getLogger("dgrag.edge.ollama")
TAG = ":latest"
DETAILS = {
    "parent_model": "",
    "format": "dgrag",
    "family": "dgrag",
    "families": ["dgrag"],
    "parameter_size": "",
    "quantization_level": "",
}
EPOCH = "1970-01-01T00:00:00Z"  # no model of ours has a file whose age could be told
Piece = dict[str, Any]
Form = Callable[[str, str], Piece]  # text and reasoning, as a route says them

router = APIRouter(prefix="/api", route_class=telling(lambda told: {"error": said(told)}))


class OllamaMessage(BaseModel):
    """One message; pictures and calls of tools are not read."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""


class OllamaChat(BaseModel):
    """The part of a request that we use; ``think``: steps are told as thoughts, unless it is false."""

    model: str
    messages: Annotated[list[OllamaMessage], Field(min_length=1, max_length=200)]
    stream: bool = True
    think: bool | str | None = None


class OllamaGenerate(BaseModel):
    """The part of a request that we use: the prompt is the question."""

    model: str
    prompt: str = ""
    system: str = ""
    stream: bool = True
    think: bool | str | None = None


class OllamaShow(BaseModel):
    """Which model is asked about; programs of older releases call it ``name``."""

    model: str = ""
    name: str = ""


@router.get("/version")
async def version() -> dict[str, str]:
    """The release of this service."""
    return {"version": metadata.version("dgrag")}


@router.get("/tags")
async def tags() -> dict[str, Any]:
    """The modes, as models."""
    return {
        "models": [
            {
                "name": name + TAG,
                "model": name + TAG,
                "modified_at": EPOCH,
                "size": 0,
                "digest": sha256(name.encode()).hexdigest(),
                "details": DETAILS,
            }
            for name in MODES
        ]
    }


@router.post("/show")
async def show(body: OllamaShow) -> dict[str, Any]:
    """That a mode can chat."""
    _mode(body.model or body.name)
    return {"modelfile": "", "template": "{{ .Prompt }}", "details": DETAILS, "model_info": {}, "capabilities": ["completion"]}


@router.post("/chat", response_model=None)
async def chat(body: OllamaChat, reader: ReaderDep, request: Request) -> Response | Piece:
    """The last user message is the question, the model's name chooses the mode; the sources stand below the answer."""
    messages = [ChatMessage(role=one.role, content=one.content) for one in body.messages]
    asked = asked_of(reader, _mode(body.model), messages)
    form = _message if body.think is not False else _silent(_message)
    return await _replied(body.model, asked, request, form) if not body.stream else _streamed(body.model, asked, form)


@router.post("/generate", response_model=None)
async def generate(body: OllamaGenerate, reader: ReaderDep, request: Request) -> Response | Piece:
    """As ``/api/chat``, for one prompt. An empty one, which loads a model at Ollama's, is done at once."""
    if not body.prompt:
        return _piece(body.model, _response("", "")) | {"done": True, "done_reason": "load"}
    rules = [ChatMessage(role="system", content=body.system)] if body.system else []
    asked = asked_of(reader, _mode(body.model), [*rules, ChatMessage(role="user", content=body.prompt)])
    form = _response if body.think is not False else _silent(_response)
    return await _replied(body.model, asked, request, form) if not body.stream else _streamed(body.model, asked, form)


def _mode(name: str) -> str:
    """The mode that a model's name means. Raises NotFound: 404, as Ollama has it."""
    found = name.removesuffix(TAG)
    if found not in MODES:
        raise NotFound("model", name[:80], next_step=f"use one of {', '.join(MODES)}")
    return found


def _message(text: str, thought: str) -> Piece:
    return {"message": {"role": "assistant", "content": text} | ({"thinking": thought} if thought else {})}


def _response(text: str, thought: str) -> Piece:
    return {"response": text} | ({"thinking": thought} if thought else {})


def _silent(form: Form) -> Form:
    return lambda text, _: form(text, "")


def _piece(model: str, told: Mapping[str, Any]) -> Piece:
    return {"model": model, "created_at": datetime.now(UTC).isoformat().replace("+00:00", "Z"), **told, "done": False}


def _ended(answer: Answer, *, seconds: float) -> Piece:
    """What the last piece adds; times are in nanoseconds."""
    tokens_in, tokens_out = spent(answer)
    counts = {"prompt_eval_count": tokens_in, "eval_count": tokens_out}
    return {"done": True, "done_reason": "stop", "total_duration": int(seconds * 1e9), **counts}


async def _replied(model: str, asked: Asked, request: Request, form: Form) -> Piece:
    since = time.monotonic()
    answer = await while_connected(request, asked.answer())
    text = answer.answer + below(answer, answer.citations)
    return _piece(model, form(text, "")) | _ended(answer, seconds=time.monotonic() - since)


def _streamed(model: str, asked: Asked, form: Form) -> Response:
    asked.check_turn()  # as long as there can be a status of its own
    return StreamingResponse(_lines(model, asked, form), media_type=NDJSON)


async def _lines(model: str, asked: Asked, form: Form) -> AsyncIterator[bytes]:
    since = time.monotonic()
    async with contextlib.aclosing(asked.hearing()) as news:
        async for told in news:
            match told:
                case TraceStep() | Completed():
                    thought = completed(told) if isinstance(told, Completed) else f"{told_step(told.step)}\n"
                    if (piece := form("", thought)) != form("", ""):
                        yield _line(_piece(model, piece))
                case str():
                    yield _line(_piece(model, form(told, "")))
                case Void():
                    yield _line(_piece(model, form(TAKEN_BACK, "")))
                case Answer():
                    if more := below(told, told.citations):
                        yield _line(_piece(model, form(more, "")))
                    yield _line(_piece(model, form("", "")) | _ended(told, seconds=time.monotonic() - since))
                case BaseException():
                    yield _line({"error": said(problem_of(told, log))})


def _line(value: Piece) -> bytes:
    return orjson.dumps(value) + b"\n"
