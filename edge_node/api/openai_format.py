"""The OpenAI chat format as a server speaks it: a request's question, and the bodies that answer it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from shared.errors import BlankQuestion, InputError
from shared.records import Answer
from shared.wire import BLANK, MAX_QUESTION_CHARS, is_blank

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
