"""What the tools return: values for programs, and the same as text for models and people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from edge_node.api.mcp.harmless import framed
from edge_node.api.sources import doubts, listed, listed_closest
from shared.missing import summaries_reason
from shared.records import Citation, EdgeReport, Mark, located, place_of

MAX_BODY_CHARS = 4_000  # of one body that would leave: a sync may have megabytes


class AnswerResult(BaseModel):
    """An answer. ``citations`` resolve the markers [n] of its text; ``edges``: the sites that were asked for it.

    ``certain``: False: it stands in the passages that it cites, but read them. ``closest``: then, and where there is none, the sentences
    nearest the question. ``unanswered``: parts of the question to which no answer was found.
    """

    query_id: str
    answer: str
    answered: bool
    certain: bool
    route: str
    citations: tuple[Citation, ...]
    closest: tuple[Citation, ...]
    unanswered: tuple[str, ...]
    edges: tuple[EdgeReport, ...]
    partial: bool
    degraded: bool
    reason: str
    coverage: str
    would_ask: str


class Passage(BaseModel):
    """A passage that may hold the answer. ``text`` is empty where its site's policy lets nobody quote it."""

    edge: str
    document_id: str
    document: str
    span: tuple[int, int]
    text: str
    score: float
    places: tuple[Mark, ...] = ()  # where its text stands, by character of the document: "page 12"


class PassagesResult(BaseModel):
    """Passages, best first, and what became of each site that was to be asked."""

    evidence: tuple[Passage, ...]
    edges: tuple[EdgeReport, ...]
    degraded: bool
    reason: str


class TextResult(BaseModel):
    """Characters [start, end) of the ``length`` that a document has."""

    document_id: str
    name: str
    title: str
    start: int
    end: int
    length: int
    text: str


class Site(BaseModel):
    """A site that was asked for one of the last answers, as it was then."""

    edge: str
    status: str
    reason: str


class SitesResult(BaseModel):
    """The site itself, its line to the cloud, and the other sites that the last answers had to do with."""

    home: str
    documents: int
    connected: bool
    error: str
    others: tuple[Site, ...]


class Held(BaseModel):
    """Passages near to the question that one rule keeps here."""

    rule: str
    passages: int
    documents: tuple[str, ...]


class Body(BaseModel):
    """A body as it would leave, at most the beginning of a long one; ``bytes`` and ``sha256`` are the whole one's.

    ``near``: how many passages here are near to the question, whatever the policy; null: nobody looked. ``held``: those that it keeps.
    """

    kind: str
    body: str
    bytes: int
    sha256: str
    near: int | None = None
    held: tuple[Held, ...] = ()


class LeavingResult(BaseModel):
    """What would leave: with the next sync, and in reply to a question. ``current``: False while the summaries are made anew."""

    current: bool
    sync: tuple[Body, ...]
    evidence: Body | None


def answer_text(told: AnswerResult) -> str:
    """An answer with its sources below, and what one has to know of it."""
    notes = (
        "Nobody's documents answer this." if not told.answered and not told.would_ask else "",
        "" if told.answered else summaries_reason(told.edges),
        f"Some sites did not answer: {told.reason}" if told.partial and told.reason else "",
        f"The cloud is away, so this is from this site alone: {told.reason}" if told.degraded else "",
        f"Nothing has left the site. To ask the others, call again with may_leave='yes'. They would read: {told.would_ask}"
        if told.would_ask
        else "",
    )
    doubt = doubts(told.unanswered, answered=told.answered, certain=told.certain)
    parts = (told.answer, doubt, told.coverage, listed(told.citations), listed_closest(told.closest), *notes)
    return "\n\n".join(filter(None, parts))


def passages_text(told: PassagesResult, token: str) -> str:
    """Numbered passages, each below the document and the site that it is from."""
    if not told.evidence:
        return "No passage was found." + (f" {told.reason}" if told.reason else "")
    parts = (
        f"[{n}] {located(one.document, place_of(one.places, one.span))} – {one.edge}, characters {one.span[0]} to {one.span[1]}\n"
        f"{one.text or '(not to be quoted)'}"
        for n, one in enumerate(told.evidence, start=1)
    )
    return framed("\n\n".join(parts), token)


def document_text(told: TextResult, token: str) -> str:
    """A part of a document, and where the next one begins."""
    more = "" if told.end >= told.length else f"\n\nMore follows: call again with start={told.end}."
    head = f"{told.name}\nCharacters {told.start} to {told.end} of {told.length}:\n\n"
    return framed(head + told.text, token) + more


def sites_text(told: SitesResult) -> str:
    """One line a site."""
    line = "connected to the cloud" if told.connected else f"not connected to the cloud: {told.error}"
    others = (f"- {one.edge}: {one.status}" + (f" ({one.reason})" if one.reason else "") for one in told.others)
    return "\n".join((f"- {told.home}: this site, {told.documents} documents, {line}", *others))


def shortened(body: dict[str, Any]) -> Body:
    """A body of which no more than the beginning is shown."""
    return Body.model_validate({**body, "body": body["body"][:MAX_BODY_CHARS]})


def leaving_text(told: LeavingResult, token: str) -> str:
    """Each body with its size."""
    bodies = [*told.sync, *([told.evidence] if told.evidence else [])]
    if not bodies:
        return "Nothing would leave." if told.current else "The summaries are being made anew, so nothing leaves now."
    return framed("\n\n".join(_body_lines(bodies)), token)


def _body_lines(bodies: Iterable[Body]) -> Iterable[str]:
    return (f"{one.kind}, {one.bytes:,} bytes, SHA-256 {one.sha256}\n{one.body}{_held_text(one)}" for one in bodies)


def _held_text(told: Body) -> str:
    if told.near == 0:
        return "\nNo passage here is near to the question, so the policy holds none back."
    return "".join(f"\nHeld back by the rule {one.rule}: {', '.join(one.documents)}" for one in told.held)
