"""The sharing policy at the console: what it says, what it keeps here, its text to change, its former texts, and what would leave."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Path, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, Field, model_validator

from edge_node.api.access import Node
from edge_node.api.console.access import ConsoleRoute
from edge_node.api.console.ask import choice_of
from edge_node.api.memories import CallerDep
from edge_node.egress.policy_editor import PolicyText, checked
from edge_node.egress.policy_file import MAX_BYTES
from edge_node.node import EdgeNode
from edge_node.policy.choices import Choices, written
from edge_node.policy.rules import EscalationMode, Identifier, Policy, doubts
from edge_node.policy.shares import MEANING, QUESTIONS
from edge_node.policy.words import IDENTIFIERS, general, told_rule
from edge_node.records import Share
from edge_node.trial import shown_evidence
from shared.errors import Conflict, InputError
from shared.http.console.pages import pages_of
from shared.http.console.routes import BLANK_IS_NONE
from shared.wire import EvidenceReply, Purpose, Question

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)
HASH = "^[0-9a-f]{64}$"
MOST_LABELS = 300
Label = Annotated[str, Field(max_length=200)]
Number = Annotated[int, Path(ge=1, lt=2**53)]


class TextForm(BaseModel):
    """The text of a policy file, as a browser sends it: perhaps with other line ends."""

    text: Annotated[str, Field(max_length=MAX_BYTES)]

    @property
    def lines(self) -> str:
        """The text with the line ends of a file."""
        return self.text.replace("\r\n", "\n")


class SaveForm(TextForm):
    """A policy for the place of the one whose hash its writer has read."""

    base: Annotated[str, Field(pattern=HASH)]


class BackForm(BaseModel):
    """The hash of the policy in whose place a former one comes back."""

    base: Annotated[str, Field(pattern=HASH)]


class ChoicesForm(BackForm):
    """What is chosen: of each label in ``label`` the share at the same place of ``share``, "" where it is not named; ``base``: as above."""

    unlabelled: Share
    questions: EscalationMode
    label: Annotated[list[Label], Field(max_length=MOST_LABELS + 1)] = []  # the last is one of their own
    share: Annotated[list[Share | Literal[""]], Field(max_length=MOST_LABELS + 1)] = []
    identifiers: list[Identifier] = []

    @model_validator(mode="after")
    def _each_has_one(self) -> ChoicesForm:
        if len(self.label) != len(self.share):
            raise ValueError("each label needs a share")
        return self

    @property
    def choices(self) -> Choices:
        """As they are written."""
        labels = {label.strip(): share for label, share in zip(self.label, self.share, strict=True) if label.strip() and share}
        return Choices(self.unlabelled, self.questions, labels, tuple(self.identifiers))


class TryForm(BaseModel):
    """A question as somebody would ask it."""

    model_config = ConfigDict(extra="forbid")

    question: Question
    requester: Annotated[str, Field(max_length=80)] = ""
    purpose: Annotated[Purpose | None, BLANK_IS_NONE] = None


@router.get("/console/sharing")
async def sharing_page(request: Request, node: Node) -> HTMLResponse:
    """What may leave this site."""
    return pages_of(request).page(request, "own/sharing.html", **await asyncio.to_thread(_state, node), saved="")


@router.post("/console/sharing/check")
async def check(form: Annotated[TextForm, Form()], request: Request, node: Node) -> HTMLResponse:
    """What saving this text would say, and what it would keep here."""
    return await _checked(request, node, form.lines)


@router.post("/console/sharing/choices/check")
async def check_choices(form: Annotated[ChoicesForm, Form()], request: Request, node: Node) -> HTMLResponse:
    """The same of these choices. Raises InputError where the text cannot be changed so."""
    return await _checked(request, node, await asyncio.to_thread(_chosen, node, form))


@router.put("/console/sharing/choices")
async def save_choices(form: Annotated[ChoicesForm, Form()], request: Request, node: Node, caller: CallerDep) -> HTMLResponse:
    """Put the text with these choices in force."""
    text = await asyncio.to_thread(_chosen, node, form)
    return await _replaced(request, node, text, form.base, caller.name, "The policy is saved and in force.")


@router.get("/console/sharing/held")
async def held(request: Request, node: Node) -> HTMLResponse:
    """What stays here now: it changes a little after the policy does."""
    return pages_of(request).page(request, "own/held.html", view=await asyncio.to_thread(node.sharing.view))


@router.put("/console/sharing")
async def save(form: Annotated[SaveForm, Form()], request: Request, node: Node, caller: CallerDep) -> HTMLResponse:
    """Put a text in force."""
    return await _replaced(request, node, form.lines, form.base, caller.name, "The policy is saved and in force.")


@router.get("/console/sharing/history/{number}")
async def former(number: Number, request: Request, node: Node) -> HTMLResponse:
    """A former text."""
    return pages_of(request).page(request, "own/former.html", number=number, text=await asyncio.to_thread(node.policies.former, number))


@router.post("/console/sharing/history/{number}")
async def bring_back(number: Number, form: Annotated[BackForm, Form()], request: Request, node: Node, caller: CallerDep) -> HTMLResponse:
    """Put a former text in force again."""
    text = await asyncio.to_thread(node.policies.former, number)
    return await _replaced(request, node, text, form.base, caller.name, f"Policy {number} is in force again.")


@router.post("/console/sharing/try")
async def try_it(form: Annotated[TryForm, Form()], request: Request, node: Node) -> HTMLResponse:
    """Exactly what somebody would get for a question, and what would leave where this site asked it. Nothing leaves."""
    body = await shown_evidence(node, form.question, form.requester, form.purpose)
    outgoing = await asyncio.to_thread(node.sharing.departing, form.question, None)
    reply = EvidenceReply.model_validate_json(body.body)
    rules = {told_rule(one.rule): one.documents for one in body.held}
    kept = sum(one.passages for one in body.held)
    return pages_of(request).page(request, "own/tried.html", body=body, reply=reply, outgoing=outgoing, form=form, kept=kept, rules=rules)


async def _checked(request: Request, node: EdgeNode, text: str) -> HTMLResponse:
    try:
        found = await asyncio.to_thread(checked, text)
    except InputError as error:
        return pages_of(request).page(request, "own/checked.html", fault=error.message)
    kept = await asyncio.to_thread(node.sharing.kept_back, found)
    return pages_of(request).page(
        request, "own/checked.html", fault="", warnings=doubts(found), rows=_documents(found), kept=kept, text=text
    )


def _chosen(node: EdgeNode, form: ChoicesForm) -> str:
    """The text with what was chosen over the one that its writer has seen. Raises Conflict, InputError."""
    present = node.policies.present()
    if present.hash != form.base:
        raise Conflict("the policy has changed since you read it", next_step="load the page again, and choose anew")
    return written(present.text, form.choices)


async def _replaced(request: Request, node: EdgeNode, text: str, base: str, who: str, saved: str) -> HTMLResponse:
    await asyncio.to_thread(node.policies.replace, text, base=base, who=who)
    return pages_of(request).page(request, "own/sharing_state.html", **await asyncio.to_thread(_state, node), saved=saved)


def _state(node: EdgeNode) -> dict[str, Any]:
    policy = node.sharing.policy
    text, unreadable = _text(node)
    return {
        **choice_of(node),
        "policy": policy,
        "view": node.sharing.view(),
        "rows": _documents(policy),
        "general": list(general(policy)),
        "text": text,
        "unreadable": unreadable,
        "history": node.policies.history(),
        "worn": sorted({*policy.labels, *(label for labels in node.documents.label_sets() for label in labels or ())})[:MOST_LABELS],
        "shares": MEANING,
        "question_modes": QUESTIONS,
        "identifiers": IDENTIFIERS,
    }


def _text(node: EdgeNode) -> tuple[PolicyText | None, str]:
    """The text, or why there is none."""
    try:
        return node.policies.present(), ""
    except Conflict as error:
        return None, error.message


def _documents(policy: Policy) -> list[tuple[str, str, str]]:
    """Which documents, how much of them may leave, and what that means."""
    shares = [("without a label", policy.unlabelled), *((f"label {label}", share) for label, share in policy.labels.items())]
    return [*((name, share, MEANING[share]) for name, share in shares), ("any other label", "never", MEANING["never"])]
