"""``POST /v1/chat/completions``: the edge as a model for OpenAI's clients."""

from __future__ import annotations

import contextlib
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Literal, cast

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sse_starlette import EventSourceResponse

from edge_node.answer.answerer import Ask
from edge_node.answer.overview import GlobalAsk
from edge_node.api.access import GuardedRoute
from edge_node.api.deps import Admissions, Node, Turns, answered, check_turn
from edge_node.api.hearing import Void, hearing
from edge_node.api.openai_format import ChatBody, chunk, completion, error_body, question_of
from edge_node.node import EdgeNode
from shared.disconnect import while_connected
from shared.errors import DgragError, InputError
from shared.http_problems import faults_of, headers_of, printable, status_of, step_of
from shared.records import Answer
from shared.redacted import redacted
from shared.trace import Trace

log = logging.getLogger("dgrag.edge.chat")
MODES: dict[str, Literal["auto", "local", "global"]] = {"dgrag": "auto", "dgrag-local": "local", "dgrag-global": "global"}
KEEP_ALIVE_S = 5.0  # a comment as often as this while the answer is worked on: clients and proxies give up on a silent line
STREAM_END = "[DONE]"
TAKEN_BACK = "\n\n(What stands above is not the answer after all. It follows.)\n\n"


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
async def chat(body: ChatBody, node: Node, turns: Turns, request: Request) -> Response | dict[str, Any]:
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
        check_turn(turns, node, ask)  # as long as there can be a status of its own
        return EventSourceResponse(_events(body.model, turns, node, ask), sep="\n", ping=KEEP_ALIVE_S)
    answer = await while_connected(request, answered(turns, node, ask, Trace()))
    return completion(body.model, answer, created=int(time.time()))


async def _events(model: str, turns: Admissions, node: EdgeNode, ask: Ask | GlobalAsk) -> AsyncIterator[str]:
    head = {"id": f"chatcmpl-{secrets.token_hex(12)}", "created": int(time.time()), "model": model}
    yield _json(chunk(head, {"role": "assistant", "content": ""}))
    async with contextlib.aclosing(hearing(turns, node, ask)) as news:
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
