"""``POST /v1/chat/completions``: the edge as a model for OpenAI's clients."""

from __future__ import annotations

import contextlib
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from typing import Annotated, Any, Literal, cast

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from sse_starlette import EventSourceResponse

from edge_node.answering.answerer import Ask
from edge_node.answering.overview import GlobalAsk
from edge_node.api.access import GuardedRoute, Node
from edge_node.api.streaming import Void, hearing
from edge_node.node import EdgeNode
from shared.errors import BlankQuestion, DgragError, InputError
from shared.http.middleware import while_connected
from shared.http.problems import faults_of, headers_of, printable, status_of, step_of
from shared.records import Answer
from shared.telemetry.logs import redacted
from shared.telemetry.trace import Trace
from shared.wire import BLANK, MAX_QUESTION_CHARS, is_blank

log = logging.getLogger("dgrag.edge.chat")
MODES: dict[str, Literal["auto", "local", "global"]] = {"dgrag": "auto", "dgrag-local": "local", "dgrag-global": "global"}
KEEP_ALIVE_S = 5.0  # a comment as often as this while the answer is worked on: clients and proxies give up on a silent line
STREAM_END = "[DONE]"
TAKEN_BACK = "\n\n(What stands above is not the answer after all. It follows.)\n\n"

CLIENT_ERRORS = range(400, 500)
LAST = "send the question as the last message of role 'user'"


class ContentPart(BaseModel):
    """One part of a message; we read the text ones."""

    type: Annotated[str, Field(max_length=64)]
    text: str = ""


class ChatMessage(BaseModel):
    """One message. We read those of the user; the others may be there, as its clients expect."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | Annotated[list[ContentPart], Field(max_length=1_000)] | None = None


class ChatBody(BaseModel):
    """The part of a request that we use; other fields are ignored, as its clients expect."""

    model: str = "dgrag"
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=200)]
    stream: bool = False


def question_of(messages: Iterable[ChatMessage]) -> str:
    """The last user message that says something.

    Raises BlankQuestion when none does, and InputError when there is none, for pictures and sound, and over the limit.

    >>> question_of([ChatMessage(role="user", content=[ContentPart(type="text", text="Which "), ContentPart(type="text", text="ward?")])])
    'Which ward?'
    """
    texts = [_text(message) for message in messages if message.role == "user"]
    questions = [text for text in texts if not is_blank(text)]
    if not texts:
        raise InputError("there is no user message", next_step=LAST)
    if not questions:
        raise BlankQuestion(BLANK, next_step=LAST)
    if len(questions[-1]) > MAX_QUESTION_CHARS:
        raise InputError(
            f"the question has {len(questions[-1]):,} characters, {MAX_QUESTION_CHARS:,} are the limit",
            next_step="send the question alone; the passages come from the documents",
        )
    return questions[-1]


def _text(message: ChatMessage) -> str:
    if not isinstance(message.content, list):
        return message.content or ""
    if others := sorted({part.type for part in message.content} - {"text"}):
        raise InputError(f"a message holds parts of type {others[0]!r}", next_step="send text parts only")
    return "".join(part.text for part in message.content)


def spoken_text(answer: Answer) -> str:
    """An answer for a client that shows text only: what it tells, then which sites it tells of, if it is a global one."""
    return "\n\n".join(filter(None, (answer.answer, answer.coverage)))


def completion(model: str, answer: Answer, *, created: int) -> dict[str, Any]:
    """The whole answer; ``dgrag`` holds it with citations, gate and trace."""
    tokens_in, tokens_out = (sum(getattr(step, field) for step in answer.trace) for field in ("tokens_in", "tokens_out"))
    return {
        "id": answer.query_id,
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": spoken_text(answer)}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out},
        "dgrag": answer,
    }


def chunk(head: dict[str, Any], delta: dict[str, str], *, finish_reason: str | None = None) -> dict[str, Any]:
    """One piece of a stream; ``head`` is what all pieces share: id, created, model."""
    return {**head, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


def error_body(status: int, code: str, message: str, next_step: str = "") -> dict[str, Any]:
    """An error as OpenAI's clients read it.

    >>> error_body(404, "not_found", "there is no model 'x'", "list them")["error"]["message"]
    "there is no model 'x' (list them)"
    """
    kind = "invalid_request_error" if status in CLIENT_ERRORS else "server_error"
    return {"error": {"message": message + (f" ({next_step})" if next_step else ""), "type": kind, "param": None, "code": code}}


class OpenAIRoute(GuardedRoute):  # type: ignore[misc, valid-type] # a class that is made
    """Tells errors in OpenAI's form, with the status that our own form has; those of the guard too."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler that FastAPI makes, with errors as answers."""
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return cast("Response", await handle(request))
            except DgragError as error:
                return JSONResponse(_told(error), status_of(error), headers_of(error, request))
            except RequestValidationError as error:
                return JSONResponse(error_body(422, "bad_input", printable(faults_of(error)), step_of(error, request) or "see /docs"), 422)

        return handled


router = APIRouter(prefix="/v1", route_class=OpenAIRoute)


@router.get("/models")
async def models() -> dict[str, Any]:
    """The modes, as models of the chat route."""
    return {"object": "list", "data": [{"id": name, "object": "model", "owned_by": "dgrag"} for name in MODES]}


@router.post("/chat/completions", response_model=None)
async def chat(body: ChatBody, node: Node, request: Request) -> Response | dict[str, Any]:
    """OpenAI-compatible: the last user message is the question, the model's name chooses the mode.

    A stream begins at once with the role, is kept alive by comments while the answer is worked on, and brings the text when the
    gate has chosen it; that of ``dgrag-global`` as it is written. What has been said in this form cannot be unsaid: where it is not the
    answer after all, that is said, and the answer follows.
    """
    if body.model not in MODES:
        raise InputError(f"there is no model {body.model[:80]!r}", next_step=f"use one of {', '.join(MODES)}")
    question, mode = question_of(body.messages), MODES[body.model]
    ask = GlobalAsk(question) if mode == "global" else Ask(question, mode)
    if body.stream:
        node.check_turn(ask)  # as long as there can be a status of its own
        return EventSourceResponse(_events(body.model, node, ask), sep="\n", ping=KEEP_ALIVE_S)
    answer = await while_connected(request, node.ask(ask, Trace()))
    return completion(body.model, answer, created=int(time.time()))


async def _events(model: str, node: EdgeNode, ask: Ask | GlobalAsk) -> AsyncIterator[str]:
    head = {"id": f"chatcmpl-{secrets.token_hex(12)}", "created": int(time.time()), "model": model}
    yield _json(chunk(head, {"role": "assistant", "content": ""}))
    async with contextlib.aclosing(hearing(node, ask)) as news:
        async for told in news:
            match told:
                case str():
                    yield _json(chunk(head, {"content": told}))
                case Void():
                    yield _json(chunk(head, {"content": TAKEN_BACK}))
                case Answer():
                    if told.coverage:
                        yield _json(chunk(head, {"content": f"\n\n{told.coverage}"}))
                    yield _json(chunk(head, {}, finish_reason="stop") | {"dgrag": told})
                case BaseException():
                    yield _json(_told(told))
    yield STREAM_END


def _told(error: BaseException) -> dict[str, Any]:
    if isinstance(error, DgragError):
        return error_body(status_of(error), error.code, printable(error.message), error.next_step)
    log.error("an answer failed: %s", redacted(error))
    return error_body(500, "internal", "an error inside the service; its log tells more", "report it with the log")


def _json(value: dict[str, Any]) -> str:
    return orjson.dumps(value).decode()
