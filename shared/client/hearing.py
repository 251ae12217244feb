"""An answer while it is made: the events of an edge's stream, for programs that wait and for those that do not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
from httpx_sse import ServerSentEvent, aconnect_sse, connect_sse
from pydantic import TypeAdapter
from pydantic_core import from_json

from shared.client.errors import BadReply, body, refusal
from shared.records import Answer, TraceStep


@dataclass(frozen=True, slots=True)
class Void:
    """The text so far is not the answer after all."""


@dataclass(frozen=True, slots=True)
class Completed:
    """The question that is answered: a follow-up, completed from the conversation."""

    question: str


News = TraceStep | Completed | str | Void | Answer  # a step that has ended, what is answered, a piece of text, and at last the whole
Event = tuple[str, Any]
STEP, ANSWER = TypeAdapter(TraceStep), TypeAdapter(Answer)


def events(http: httpx.Client, url: str, asked: Mapping[str, Any], wait: httpx.Timeout) -> Iterator[Event]:
    """Kind and data of each event, up to the answer.

    Raises ServiceError where the edge says no, before the stream or in it, BadReply where the stream ends without an answer, and
    httpx.TransportError.
    """
    with connect_sse(http, "POST", url, json={**asked, "stream": True}, timeout=wait) as source:
        if not source.response.is_success:
            source.response.read()
            body(source.response)
        for event in source.iter_sse():
            yield _told(event, source.response)
            if event.event == "answer":
                return
    raise _half(url)


async def aevents(http: httpx.AsyncClient, url: str, asked: Mapping[str, Any], wait: httpx.Timeout) -> AsyncIterator[Event]:
    """As ``events``."""
    async with aconnect_sse(http, "POST", url, json={**asked, "stream": True}, timeout=wait) as source:
        if not source.response.is_success:
            await source.response.aread()
            body(source.response)
        async for event in source.aiter_sse():
            yield _told(event, source.response)
            if event.event == "answer":
                return
    raise _half(url)


def news_of(event: Event) -> News | None:
    """What an event tells; None for a kind that we do not know.

    >>> news_of(("text", "Juniper")), news_of(("hint", {})), news_of(("void", None))
    ('Juniper', None, Void())
    """
    match event:
        case ("step", data):
            return STEP.validate_python(data)
        case ("text", str(data)):
            return data
        case ("asked", str(question)):
            return Completed(question)
        case ("void", _):
            return Void()
        case ("answer", data):
            return ANSWER.validate_python(data)
    return None


def _told(event: ServerSentEvent, response: httpx.Response) -> Event:
    try:
        data = from_json(event.data)
    except ValueError as error:
        raise BadReply(f"{response.url} sends events that are no JSON", next_step="is it a dgrag service?") from error
    if event.event == "error":
        raise refusal(data if isinstance(data, dict) else {}, response)
    return event.event, data


def _half(url: str) -> BadReply:
    return BadReply(f"{url.removesuffix('/v1/query') or 'the edge'} ended its answer half-way", next_step="ask again, and see its log")
