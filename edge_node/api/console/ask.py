"""A question from the console: the answer as it is made, what it rests on, and the route that the question took."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict
from sse_starlette import EventSourceResponse

from edge_node.answering.answerer import Ask
from edge_node.answering.overview import GlobalAsk
from edge_node.api.access import Node
from edge_node.api.console.access import ConsoleRoute
from edge_node.api.memories import CallerDep, FeedbackReply, feedback
from edge_node.api.steps import told_step
from edge_node.api.streaming import Completed, Void, hearing
from edge_node.node import EdgeNode
from shared.http.console.pages import Pages, pages_of
from shared.http.console.routes import BLANK_IS_NONE
from shared.http.problems import KNOWN, told_of
from shared.records import Answer, EdgeReport, TraceStep
from shared.text.citations import NUMBER_SHOWN
from shared.wire import Feedback, Purpose, Question

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)
HOME = frozenset({"remember", "same answer", "span", "span check", "retrieve", "narrow"})
AT_CLOUD = "cloud: "  # the beginning of the steps within the step "cloud"


class AskForm(BaseModel):
    """The form of a question; a field that is left empty is as the site has it set."""

    model_config = ConfigDict(extra="forbid")

    question: Question
    mode: Literal["auto", "local", "global"] = "auto"
    escalation: Annotated[Literal["yes", "no", "ask"] | None, BLANK_IS_NONE] = None
    purpose: Annotated[Purpose | None, BLANK_IS_NONE] = None


@dataclass(frozen=True, slots=True)
class Spent:
    """What some steps have taken."""

    ms: float
    calls: int
    tokens: int
    bytes: int

    @classmethod
    def of(cls, steps: Iterable[TraceStep], within: Iterable[TraceStep] = ()) -> Spent:
        """Of some steps, and of the calls and tokens of others that were made meanwhile."""
        own, inner = list(steps), list(within)
        calls = sum(one.calls for one in own + inner)
        tokens = sum(one.tokens_in + one.tokens_out for one in own + inner)
        return cls(sum(one.ms for one in own), calls, tokens, sum(one.bytes_in + one.bytes_out for one in own))


@dataclass(frozen=True, slots=True)
class Way:
    """The route that a question took, for the picture of it."""

    home: Spent
    gate: Spent
    cloud: Spent | None  # None: it did not leave the site
    asked: tuple[EdgeReport, ...]
    all: Spent

    @classmethod
    def of(cls, answer: Answer) -> Way:
        """Read out of an answer's trace."""
        own = [one for one in answer.trace if not one.step.startswith(AT_CLOUD)]
        inner = [one for one in answer.trace if one.step.startswith(AT_CLOUD)]
        left = [one for one in own if one.step == "cloud"]
        home = Spent.of(one for one in own if one.step in HOME)
        gate = Spent.of(one for one in own if one.step.startswith("gate") or one.step == "samples")
        return cls(home, gate, Spent.of(left, inner) if left else None, answer.edges, Spent.of(own, inner))


def pieces(text: str, known: frozenset[int]) -> Iterator[str | int]:
    """An answer's text, with the numbers of its citations between.

    >>> list(pieces("It failed [1]. See [7].", frozenset({1})))
    ['It failed ', 1, '. See [7].']
    """
    begin = 0
    for match in NUMBER_SHOWN.finditer(text):
        if (number := int(match[1])) in known:
            yield text[begin : match.start()]
            yield number
            begin = match.end()
    yield text[begin:]


@router.get("/")
async def ask_page(request: Request, node: Node) -> HTMLResponse:
    """Where a question is asked."""
    return pages_of(request).page(request, "own/ask.html", has_cloud=node.link is not None, documents=node.documents.counts()["indexed"])


@router.post("/console/ask")
async def ask(form: Annotated[AskForm, Form()], request: Request, node: Node) -> Response:
    """The answer while it is made, as server-sent events: ``step``, ``text`` and ``void``; last ``answer`` or ``problem``, as markup."""
    asked: Ask | GlobalAsk
    if form.mode == "global":
        asked = GlobalAsk(form.question, None, form.escalation, form.purpose or "")
    else:
        asked = Ask(form.question, form.mode, None, form.escalation, form.purpose or "")
    node.check_turn(asked)
    return EventSourceResponse(_events(pages_of(request), request, node, asked, form))


@router.post("/console/answers/{query_id}")
async def judge(query_id: str, form: Annotated[Feedback, Form()], request: Request, node: Node, caller: CallerDep) -> HTMLResponse:
    """Somebody calls an answer right or wrong."""
    told: FeedbackReply = await feedback(query_id, form, node, caller)
    return pages_of(request).page(request, "own/judged.html", told=told)


async def _events(pages: Pages, request: Request, node: EdgeNode, asked: Ask | GlobalAsk, form: AskForm) -> AsyncIterator[dict[str, str]]:
    async with contextlib.aclosing(hearing(node, asked)) as news:
        async for told in news:
            match told:
                case TraceStep():
                    yield _event("step", told_step(told.step))
                case Completed():  # the page sends no conversation
                    continue
                case str():
                    yield _event("text", told)
                case Void():
                    yield _event("void", "")
                case Answer():
                    yield _event("answer", pages.text(request, "own/answer.html", **shown(node, told), form=form))
                case Exception() if isinstance(told, KNOWN):
                    yield _event("problem", pages.text(request, "shared/problem.html", told=told_of(told, request)))
                case _:
                    raise told


def shown(node: EdgeNode, answer: Answer) -> dict[str, Any]:
    """What the template of an answer needs."""
    numbers = frozenset(citation.n for citation in answer.citations)
    by_number = {citation.n: citation for citation in answer.citations}
    return {
        "answer": answer,
        "pieces": list(pieces(answer.answer, numbers)),
        "cited": by_number,
        "home": node.settings.id,
        "way": Way.of(answer),
    }


def _event(kind: str, data: str) -> dict[str, str]:
    return {"event": kind, "data": orjson.dumps(data).decode()}
