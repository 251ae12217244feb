"""An answer while it is made: the events of an edge's stream, for programs that wait and for those that do not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
from httpx2 import ServerSentEvent
from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from shared.client.errors import BadReply, body, refusal
from shared.errors import DeadlinePassed
from shared.limits import Deadline
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
MAX_EVENT_BYTES = 16 * 2**20  # an answer with the sentences of all its passages has some ten thousand
STEP, ANSWER = TypeAdapter(TraceStep), TypeAdapter(Answer)


def events(
    http: httpx2.Client, url: str, asked: Mapping[str, Any], wait: httpx2.Timeout, deadline: Deadline | None = None
) -> Iterator[Event]:
    """Kind and data of each event, up to the answer.

    Raises ServiceError where the edge says no, before the stream or in it, BadReply where the stream ends without an answer,
    httpx2.TransportError, and DeadlinePassed: each piece that comes is looked at, a comment that keeps the connection open too. A silence
    may be as long as ``wait`` has it.
    """
    with http.sse(url, method="POST", json={**asked, "stream": True}, timeout=wait, max_event_size=MAX_EVENT_BYTES) as source:
        if not source.response.is_success:
            source.response.read()
            body(source.response)
        if deadline:
            source.response.stream = _Until(source.response, deadline)
        for event in source:
            yield _told(event, source.response)
            if event.event == "answer":
                return
    raise _half(url)


async def aevents(
    http: httpx2.AsyncClient, url: str, asked: Mapping[str, Any], wait: httpx2.Timeout, deadline: Deadline
) -> AsyncIterator[Event]:
    """As ``events``, but a silence too ends at the deadline."""
    async with http.sse(url, method="POST", json={**asked, "stream": True}, timeout=wait, max_event_size=MAX_EVENT_BYTES) as source:
        if not source.response.is_success:
            await source.response.aread()
            body(source.response)
        source.response.stream = _AsyncUntil(source.response, deadline)
        async for event in source:
            yield _told(event, source.response)
            if event.event == "answer":
                return
    raise _half(url)


class _Until(httpx2.SyncByteStream):
    """The pieces of a response that come before a deadline. Raises DeadlinePassed."""

    def __init__(self, response: httpx2.Response, deadline: Deadline) -> None:
        if not isinstance(response.stream, httpx2.SyncByteStream):
            raise TypeError("an awaited response")
        self._pieces, self._deadline = response.stream, deadline

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            _check(self._deadline)
            yield piece

    def close(self) -> None:
        self._pieces.close()


class _AsyncUntil(httpx2.AsyncByteStream):
    """As ``_Until``."""

    def __init__(self, response: httpx2.Response, deadline: Deadline) -> None:
        if not isinstance(response.stream, httpx2.AsyncByteStream):
            raise TypeError("a response that is not awaited")
        self._pieces, self._deadline = response.stream, deadline

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces = aiter(self._pieces)
        while True:
            _check(self._deadline)
            try:
                async with asyncio.timeout(self._deadline.left_s()):
                    piece = await anext(pieces, None)
            except TimeoutError as error:
                raise DeadlinePassed(deadline_s=self._deadline.seconds) from error
            if piece is None:
                return
            yield piece

    async def aclose(self) -> None:
        await self._pieces.aclose()


def _check(deadline: Deadline) -> None:
    if not deadline.left_s():
        raise DeadlinePassed(deadline_s=deadline.seconds)


def news_of(event: Event) -> News | None:
    """What an event tells; None for a kind that we do not know. Raises BadReply where it is of another form.

    >>> news_of(("text", "Juniper")), news_of(("hint", {})), news_of(("void", None))
    ('Juniper', None, Void())
    """
    try:
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
    except ValidationError as error:
        said = f"the event {event[0]!r} is not as agreed: {error.error_count()} faults"
        raise BadReply(said, next_step="is it an edge of this release?") from error
    return None


def _told(event: ServerSentEvent, response: httpx2.Response) -> Event:
    try:
        data = from_json(event.data)
    except ValueError as error:
        raise BadReply(f"{response.url} sends events that are no JSON", next_step="is it a dgrag service?") from error
    if event.event == "error":
        raise refusal(data if isinstance(data, dict) else {}, response)
    return event.event, data


def _half(url: str) -> BadReply:
    return BadReply(f"{url.removesuffix('/v1/query') or 'the edge'} ended its answer half-way", next_step="ask again, and see its log")
