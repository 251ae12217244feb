"""A question from the console: the answer as it is made, what it rests on, and the route that the question took."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import orjson
from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, Field
from sse_starlette import EventSourceResponse

from edge_node.answering.answerer import Ask
from edge_node.answering.follow_up import Exchange
from edge_node.answering.overview import GlobalAsk
from edge_node.api.access import Node
from edge_node.api.console.access import ConsoleRoute
from edge_node.api.console.citing import opened
from edge_node.api.console.excerpts import word_start
from edge_node.api.console.way import Way
from edge_node.api.filtering import FiltersBody, Moment, Path, Word
from edge_node.api.memories import CallerDep, FeedbackReply, feedback
from edge_node.api.steps import doing_step
from edge_node.api.streaming import Begun, hearing
from edge_node.node import EdgeNode
from edge_node.policy.rules import EscalationMode
from edge_node.policy.shares import MEANING, QUESTIONS
from edge_node.records import Filters
from shared.client.hearing import Completed, Void
from shared.http.access import caller_of
from shared.http.console.pages import Pages, pages_of
from shared.http.console.routes import BLANK_IS_NONE
from shared.http.middleware import while_connected
from shared.http.problems import KNOWN, told_of
from shared.records import Answer, Evidence, TraceStep, located
from shared.telemetry.trace import component_of
from shared.text.citations import MAX_ANSWER_CHARS, supporting
from shared.text.fence import one_line
from shared.wire import Feedback, Purpose, Question

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)
FOUND = 5  # passages that are shown where there is no answer
BEGINNING = 220  # characters of each


class WhatForm(BaseModel):
    """A question, and of which documents it is asked; a field that is left empty narrows nothing."""

    model_config = ConfigDict(extra="forbid")

    question: Question
    label: Annotated[Word | None, BLANK_IS_NONE] = None
    language: Annotated[Word | None, BLANK_IS_NONE] = None
    since: Annotated[Moment | None, BLANK_IS_NONE] = None
    until: Annotated[Moment | None, BLANK_IS_NONE] = None
    path: Annotated[Path | None, BLANK_IS_NONE] = None

    def narrowed(self) -> dict[str, str]:
        """The filters that are filled in, by name."""
        return self.model_dump(include=set(FiltersBody.model_fields), exclude_none=True)

    def filters(self) -> Filters | None:
        """As the edge applies them."""
        return FiltersBody.model_validate(self.narrowed()).asked()


class AskForm(WhatForm):
    """The form of a question; a field that is left empty is as the site has it set."""

    mode: Literal["auto", "local", "global"] = "auto"
    escalation: Annotated[Literal["yes", "no", "ask"] | None, BLANK_IS_NONE] = None
    purpose: Annotated[Purpose | None, BLANK_IS_NONE] = None
    informed: Literal["yes"] | None = None  # who asks has read that passages of this site go with the question
    earlier_question: Annotated[Question | None, BLANK_IS_NONE] = None  # what this question follows, with its answer
    earlier_answer: Annotated[str, Field(max_length=MAX_ANSWER_CHARS)] = ""

    def earlier(self) -> tuple[Exchange, ...]:
        """The conversation so far."""
        return (Exchange(self.earlier_question, self.earlier_answer),) if self.earlier_question else ()


@dataclass(frozen=True, slots=True)
class PassagesNotice:
    """That passages of this site go with a question: who asks reads it before that happens for the first time in a browser's session.

    ``key``: of the policy by which they go; another policy is read of anew. "": none go.
    """

    site: str
    key: str

    @classmethod
    def of(cls, node: EdgeNode, form: AskForm) -> PassagesNotice:
        """As things stand for a question. Reads the store."""
        goes = node.link is not None and node.sharing.lets_own_passages_go(form.purpose)
        return cls(node.settings.id, node.sharing.policy.key if goes else "")

    @property
    def _cookie(self) -> str:
        return f"dgrag-passages-{self.site}"  # browsers share the cookies of all ports of a host

    def is_read(self, request: Request, form: AskForm) -> bool:
        """Whether nothing is to be read, or it has been."""
        return not self.key or bool(form.informed) or request.cookies.get(self._cookie) == self.key

    @staticmethod
    def escalation(form: AskForm) -> EscalationMode:
        """What becomes of a question until it is read: it waits for a yes."""
        return "no" if form.escalation == "no" else "ask"

    def remember(self, request: Request, response: Response) -> None:
        """Let the browser know that it has been read, until it is closed."""
        is_tls = request.url.scheme == "https"
        response.set_cookie(self._cookie, self.key, httponly=True, samesite="strict", secure=is_tls, path="/console/ask")


@dataclass(frozen=True, slots=True)
class Near:
    """A passage near to a question: of which document, its beginning, and what opens it."""

    document: str
    beginning: str
    address: str


@router.get("/")
async def ask_page(request: Request, node: Node) -> HTMLResponse:
    """Where a question is asked."""
    choice = await asyncio.to_thread(choice_of, node)
    documents = node.documents.counts()["indexed"]
    return pages_of(request).page(request, "own/ask.html", has_cloud=node.link is not None, documents=documents, **choice)


@router.post("/console/ask")
async def ask(form: Annotated[AskForm, Form()], request: Request, node: Node) -> Response:
    """The answer while it is made, as server-sent events: ``step``, ``text`` and ``void``; last ``answer`` or ``problem``, as markup.

    ``step`` says what is being done. Whoever closes the connection stops it.
    """
    asked: Ask | GlobalAsk
    notice = await asyncio.to_thread(PassagesNotice.of, node, form)
    escalation = form.escalation if notice.is_read(request, form) else notice.escalation(form)
    if form.mode == "global":
        asked = GlobalAsk(form.question, None, escalation, form.purpose or "", filters=form.filters())
    else:
        purpose, earlier = form.purpose or "", form.earlier()
        asked = Ask(form.question, form.mode, None, escalation, purpose, earlier=earlier, filters=form.filters())
    asked = replace(asked, asker=caller_of(request).asker)
    node.check_turn(asked)
    response = EventSourceResponse(_events(pages_of(request), request, node, asked, form))
    if form.informed:
        notice.remember(request, response)
    return response


@router.post("/console/answers/{query_id}")
async def judge(query_id: str, form: Annotated[Feedback, Form()], request: Request, node: Node, caller: CallerDep) -> HTMLResponse:
    """Somebody calls an answer right or wrong."""
    told: FeedbackReply = await feedback(query_id, form, node, caller)
    return pages_of(request).page(request, "own/judged.html", told=told)


@router.post("/console/found")
async def found(form: Annotated[WhatForm, Form()], request: Request, node: Node) -> HTMLResponse:
    """The passages of this site that are nearest to a question, for somebody who got no answer; no language model has a part in it."""
    asked = Ask(form.question, "local", filters=form.filters(), asker=caller_of(request).asker)
    got = await while_connected(request, node.search(asked, top_k=FOUND))
    return pages_of(request).page(request, "own/found.html", near=[_near(one, form.question) for one in got.evidence[:FOUND]])


def _near(passage: Evidence, question: str) -> Near:
    start, end = next(iter(supporting(passage.text, question)), (0, min(len(passage.text), BEGINNING)))
    offset = passage.span[0]
    place = urlencode({"start": offset + start, "end": offset + end})
    text = one_line(passage.text)
    cut = text if len(text) <= BEGINNING else f"{text[: word_start(text, BEGINNING)].rstrip()} …"
    return Near(located(passage.title or passage.document, passage.place), cut, f"/console/passages/{passage.document_id}?{place}")


async def _events(pages: Pages, request: Request, node: EdgeNode, asked: Ask | GlobalAsk, form: AskForm) -> AsyncIterator[dict[str, str]]:
    async with contextlib.aclosing(hearing(node, asked, with_begun=True)) as news:
        async for told in news:
            match told:
                case Begun():
                    yield _event("step", doing_step(told.step))
                case TraceStep() | Completed():  # the answer says what a follow-up was taken for
                    pass
                case str():
                    yield _event("text", told)
                case Void():
                    yield _event("void", "")
                case Answer():
                    values = await asyncio.to_thread(shown, node, told, form.purpose)
                    yield _event("answer", pages.text(request, "own/answer.html", **values, form=form))
                case Exception() if isinstance(told, KNOWN):
                    yield _event("problem", pages.text(request, "own/unanswered.html", told=told_of(told, request), form=form))
                case _:
                    raise told


def shown(node: EdgeNode, answer: Answer, purpose: str | None = None) -> dict[str, Any]:
    """What the template of an answer needs. Reads the store."""
    return {
        "answer": answer,
        "pieces": opened(node, answer),
        "home": node.settings.id,
        "way": Way.of(answer),
        "component_of": component_of,
        "passages_go": bool(answer.would_ask) and node.sharing.lets_own_passages_go(purpose),
        **choice_of(node),
    }


def choice_of(node: EdgeNode) -> dict[str, Any]:
    """What the template of this site's choice needs. Reads the policy."""
    policy = node.sharing.policy
    return {
        "policy": policy,
        "meaning": MEANING[policy.unlabelled],
        "question_mode": QUESTIONS[policy.questions],
    }


def _event(kind: str, data: str) -> dict[str, str]:
    return {"event": kind, "data": orjson.dumps(data).decode()}
