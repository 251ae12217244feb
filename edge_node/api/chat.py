"""``POST /v1/chat/completions``: the edge as a model for OpenAI's clients."""

from __future__ import annotations

import contextlib
import logging
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field
from sse_starlette import EventSourceResponse

from edge_node.answering.answerer import Ask
from edge_node.answering.follow_up import Exchange
from edge_node.answering.overview import GlobalAsk
from edge_node.api.access import ReaderDep
from edge_node.api.chat_tasks import ChatTask, quotes_conversation, task_of, title_from
from edge_node.api.filtering import FiltersBody, filters_of
from edge_node.api.forms import problem_of, said, telling
from edge_node.api.sources import annotated, doubts, listed, listed_closest, uri_of, without_sources
from edge_node.api.steps import told_step
from edge_node.api.streaming import Heard, hearing
from edge_node.policy.rules import EscalationMode
from edge_node.reading import Reader
from edge_node.records import Filters
from shared.client.hearing import Completed, Void
from shared.errors import BlankQuestion, InputError
from shared.http.middleware import while_connected
from shared.missing import summaries_reason
from shared.records import Answer, Citation, TraceStep, located
from shared.telemetry.trace import Trace
from shared.text.fence import one_line
from shared.text.inert import inert
from shared.wire import BLANK, MAX_QUESTION_CHARS, is_blank

log = logging.getLogger("dgrag.edge.chat")
MODES: dict[str, Literal["auto", "local", "global"]] = {"dgrag": "auto", "dgrag-local": "local", "dgrag-global": "global"}
KEEP_ALIVE_S = 5.0  # a comment as often as this while the answer is worked on: clients and proxies give up on a silent line
EMBEDDING = "dgrag-embedding"
STREAM_END = "[DONE]"
TAKEN_BACK = "\n\n(What stands above is not the answer after all. It follows.)\n\n"

CLIENT_ERRORS = range(400, 500)
OF_THE_PROGRAM = "This is a prompt of the chat program itself: it was answered from the conversation, without the documents."
LAST = "send the question as the last message of role 'user'"


class ContentPart(BaseModel):
    """One part of a message; we read the text ones."""

    type: Annotated[str, Field(max_length=64)]
    text: str = ""


class ChatMessage(BaseModel):
    """One message. We read those of the user and of the assistant; the others may be there, as its clients expect."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | Annotated[list[ContentPart], Field(max_length=1_000)] | None = None


class ChatBody(BaseModel):
    """The part of a request that we use; other fields are ignored, as its clients expect."""

    model: str = "dgrag"
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=200)]
    stream: bool = False
    filters: FiltersBody | None = None  # an extension: the documents that the question is about
    sources: bool = True  # a list of them below the text; false: for programs that take the text as it stands


def question_of(messages: Iterable[ChatMessage]) -> str:
    """The last user message that says something.

    Raises BlankQuestion when none does, and InputError when there is none, for pictures and sound, and over the limit.

    >>> question_of([ChatMessage(role="user", content=[ContentPart(type="text", text="Which "), ContentPart(type="text", text="ward?")])])
    'Which ward?'
    """
    texts = [_checked_text(message) for message in messages if message.role == "user"]
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


def earlier_of(messages: Iterable[ChatMessage]) -> tuple[Exchange, ...]:
    r"""What was said before the last question: each earlier one with the answer that followed it, less what only helps to show it.

    >>> said = [("user", "Who opened it?"), ("assistant", "Ida [1].\n\nSources:\n\n- [1] a"), ("user", "When?")]
    >>> earlier_of(ChatMessage(role=role, content=text) for role, text in said)
    (Exchange(question='Who opened it?', answer='Ida [1].'),)
    """
    told = list[Exchange]()
    for message in messages:
        text = _text(message)
        if message.role == "user" and not is_blank(text):
            told.append(Exchange(text[:MAX_QUESTION_CHARS]))
        elif message.role == "assistant" and told:
            told[-1] = Exchange(told[-1].question, without_sources(text))
    return tuple(told[:-1])


def _checked_text(message: ChatMessage) -> str:
    if isinstance(message.content, list) and (others := sorted({part.type for part in message.content} - {"text"})):
        raise InputError(f"a message holds parts of type {others[0]!r}", next_step="send text parts only")
    return _text(message)


def _text(message: ChatMessage) -> str:
    parts = message.content if isinstance(message.content, list) else [ContentPart(type="text", text=message.content or "")]
    return "".join(part.text for part in parts)


def below(answer: Answer, citations: Sequence[Citation]) -> str:
    """What stands below the text of an answer: which sites it tells of, if it is a global one; what waits for a yes; and its sources.

    Of no answer: the sites that share summaries only, where it needs their passages.
    """
    summaries = "" if answer.answered else inert(summaries_reason(answer.edges))
    waits = (
        f"Not asked elsewhere yet. To ask other sites too, send it in full: {one_line(inert(answer.would_ask))}" if answer.would_ask else ""
    )
    doubt = doubts(answer.unanswered, answered=answer.answered, certain=answer.certain)
    parts = (doubt, answer.coverage, summaries, waits, listed(citations), listed_closest(answer.closest))
    return "".join(f"\n\n{part}" for part in parts if part)


def marked(text: str, citations: Sequence[Citation], *, start: int = 0) -> list[dict[str, Any]]:
    """The markers of a text from ``start`` on, as OpenAI's clients read citations."""
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": one.start,
                "end_index": one.end,
                "title": f"{located(one.citation.document, one.citation.place)} – {one.citation.edge}",
                "url": uri_of(one.citation),
            },
        }
        for one in annotated(text, citations, start=start)
    ]


def spent(answer: Answer) -> tuple[int, int]:
    """Tokens that models read and wrote for it."""
    return sum(step.tokens_in for step in answer.trace), sum(step.tokens_out for step in answer.trace)


def completion(model: str, answer: Answer, *, created: int, sources: Sequence[Citation]) -> dict[str, Any]:
    """The whole answer, with a list of ``sources``; ``dgrag`` holds it with citations, gate and trace."""
    tokens_in, tokens_out = spent(answer)
    message = {
        "role": "assistant",
        "content": answer.answer + below(answer, sources),
        "annotations": marked(answer.answer, answer.citations),
    }
    return {
        "id": answer.query_id,
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out},
        "dgrag": answer,
    }


def completed(told: Completed) -> str:
    """How a follow-up was understood, as a line of the reasoning."""
    return f"asked: {one_line(inert(told.question))}\n"


def chunk(head: dict[str, Any], delta: dict[str, Any], *, finish_reason: str | None = None) -> dict[str, Any]:
    """One piece of a stream; ``head`` is what all pieces share: id, created, model."""
    return {**head, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


def error_body(status: int, code: str, message: str) -> dict[str, Any]:
    """An error as OpenAI's clients read it.

    >>> error_body(404, "not_found", "there is no model 'x'")["error"]["type"]
    'invalid_request_error'
    """
    kind = "invalid_request_error" if status in CLIENT_ERRORS else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


OpenAIRoute = telling(lambda told: error_body(told.status, told.code, said(told)))
router = APIRouter(prefix="/v1", route_class=OpenAIRoute)


@router.get("/models")
async def models() -> dict[str, Any]:
    """The modes, as models of the chat route, and the embedding model."""
    return {"object": "list", "data": [{"id": name, "object": "model", "created": 0, "owned_by": "dgrag"} for name in (*MODES, EMBEDDING)]}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a conversation asks ``reader``: the question of its user, or a task of the chat program.

    A task is answered from the conversation alone: nothing is searched for it, remembered or sent.
    """

    reader: Reader
    what: Ask | GlobalAsk | ChatTask

    def check_turn(self) -> None:
        """As ``Reader.check_turn``."""
        if not isinstance(self.what, ChatTask):
            self.reader.check_turn(self.what)

    async def answer(self) -> Answer:
        """The answer. Raises as ``Reader.ask``."""
        if not isinstance(self.what, ChatTask):
            return await self.reader.ask(self.what, Trace())
        task = self.what
        written = await self.reader.title(task.topic) if task.kind == "title" and task.topic else ""
        text = task.reply(title_from(written, task.topic))
        return Answer(secrets.token_hex(8), text, (), "local", reason=OF_THE_PROGRAM)

    async def hearing(self) -> AsyncGenerator[Heard]:
        """The answer while it is made, as ``streaming.hearing`` tells it."""
        if isinstance(self.what, ChatTask):
            answer = await self.answer()
            yield answer.answer
            yield answer
            return
        async with contextlib.aclosing(hearing(self.reader, self.what)) as news:
            async for told in news:
                yield told


def asked_of(reader: Reader, model: str, messages: Sequence[ChatMessage], filters: Filters | None = None) -> Asked:
    """What a conversation asks, in the mode that the model's name chooses. Raises InputError and as ``question_of``."""
    if model not in MODES:
        raise InputError(f"there is no model {model[:80]!r}", next_step=f"use one of {', '.join(MODES)}")
    if (task := task_of([(message.role, _text(message)) for message in messages])) is not None:
        return Asked(reader, task)
    question, earlier, mode = question_of(messages), earlier_of(messages), MODES[model]
    # words of earlier answers inside a question cannot be told from its own: such a question stays here
    escalation: EscalationMode | None = "no" if quotes_conversation(question) else None
    if mode == "global":
        return Asked(reader, GlobalAsk(question, escalation=escalation, earlier=earlier, filters=filters))
    return Asked(reader, Ask(question, mode, escalation=escalation, earlier=earlier, filters=filters))


@router.post("/chat/completions", response_model=None)
async def chat(body: ChatBody, reader: ReaderDep, request: Request) -> Response | dict[str, Any]:
    """OpenAI-compatible: the last user message is the question, the model's name chooses the mode.

    A question that goes on with the conversation is completed from it first; ``dgrag.asked`` tells what it was taken for.

    A stream begins at once with the role, is kept alive by comments while the answer is worked on, tells each step as reasoning, and brings
    the text when the gate has chosen it; that of ``dgrag-global`` as it is written. What has been said in this form cannot be unsaid: where
    it is not the answer after all, that is said, and the answer follows.

    A prompt of the chat program itself, for a title or tags, is no question: it is answered from the conversation, and here.
    """
    asked = asked_of(reader, body.model, body.messages, filters_of(body.filters))
    if body.stream:
        asked.check_turn()  # as long as there can be a status of its own
        return EventSourceResponse(_events(body, asked), sep="\n", ping=KEEP_ALIVE_S)
    answer = await while_connected(request, asked.answer())
    return completion(body.model, answer, created=int(time.time()), sources=answer.citations if body.sources else ())


async def _events(body: ChatBody, asked: Asked) -> AsyncIterator[str]:
    head = {"id": f"chatcmpl-{secrets.token_hex(12)}", "created": int(time.time()), "model": body.model}
    yield _json(chunk(head, {"role": "assistant", "content": ""}))
    said_so_far, begun = "", 0  # where the answer begins in what was said
    async with contextlib.aclosing(asked.hearing()) as news:
        async for told in news:
            match told:
                case TraceStep():
                    yield _json(chunk(head, {"reasoning_content": f"{told_step(told.step)}\n"}))
                case Completed():
                    yield _json(chunk(head, {"reasoning_content": completed(told)}))
                case str():
                    said_so_far += told
                    yield _json(chunk(head, {"content": told}))
                case Void():
                    said_so_far += TAKEN_BACK
                    begun = len(said_so_far)
                    yield _json(chunk(head, {"content": TAKEN_BACK}))
                case Answer():
                    if more := below(told, told.citations if body.sources else ()):
                        yield _json(chunk(head, {"content": more}))
                    found = marked(said_so_far, told.citations, start=begun)
                    yield _json(chunk(head, {"annotations": found} if found else {}, finish_reason="stop") | {"dgrag": told})
                case BaseException():
                    yield _json(_told(told))
    yield STREAM_END


def _told(error: BaseException) -> dict[str, Any]:
    told = problem_of(error, log)
    return error_body(told.status, told.code, said(told))


def _json(value: dict[str, Any]) -> str:
    return orjson.dumps(value).decode()
