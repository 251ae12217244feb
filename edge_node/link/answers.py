"""What the cloud sends back, read as if it could be anything: pure, and every lie is CloudUnavailable."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from shared.citations import checked_answer
from shared.errors import CloudRefused, CloudUnavailable
from shared.inert import inert
from shared.records import Answer, Route
from shared.searching import FindLine, Found, checked_found
from shared.wire import NDJSON, AskLine

Body = TypeVar("Body", bound=BaseModel)
MAX_REASON_CHARS = 300


def check(status: int, content: bytes) -> None:
    """Nothing for a 2xx answer. Raises CloudRefused for 4xx, with the cloud's own words, and CloudUnavailable for the rest."""
    if 200 <= status < 300:
        return
    try:
        problem = orjson.loads(content)
    except orjson.JSONDecodeError:
        problem = None
    raise problem_of(problem if isinstance(problem, dict) else {}, status)


def problem_of(facts: Mapping[str, Any], status: int) -> CloudRefused | CloudUnavailable:
    """The error that a problem document (RFC 9457) tells of.

    >>> problem_of({"detail": "send a snapshot", "code": "resync"}, 409).message
    'send a snapshot'
    >>> problem_of({}, 503).message
    'the cloud answered with status 503'
    """
    said = inert(str(facts.get("detail", "")))[:MAX_REASON_CHARS]
    if 400 <= status < 500:
        return CloudRefused(said or f"status {status}", status=status, reason=str(facts.get("code", ""))[:64])
    return CloudUnavailable(f"the cloud answered with status {status}" + (f": {said}" if said else ""))


def parse(kind: type[Body], content: bytes) -> Body:
    """A body as a record. Raises CloudUnavailable."""
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        raise CloudUnavailable(f"the cloud's {kind.__name__} is not of the agreed form") from error


async def lines_of(content_type: str, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The whole lines of an NDJSON body, as they are complete. Raises CloudUnavailable for any other content type."""
    if content_type.split(";")[0].strip().lower() != NDJSON:
        raise CloudUnavailable("the cloud's answer is not of the agreed form")
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line


def answer_of(line: bytes, *, route: Route = "cloud") -> Answer | str | None:
    """The answer in a line of it, or its next sentences, "" where those so far are not the answer after all; None: a sign of life.

    Raises what a problem says, and CloudUnavailable for anything else.

    >>> answer_of(b'{"text": ""}'), answer_of(b'{"alive": true}')
    ('', None)
    >>> answer_of(b'{"text": "See [the"}'), answer_of(b'{"text": "list](http://x.example)."}')
    ('See [the ', 'list] (x.example). ')
    """
    told = parse(AskLine, line)
    _raise(told.problem)
    if told.answer is not None:
        return checked_answer(told.answer, route=route)
    shown = inert(told.text or "")
    if not shown:
        return "" if told.text == "" else None
    return shown + " " * (not shown[-1].isspace())  # so that no markup is closed by the next one


def found_of(line: bytes) -> Found | None:
    """The passages in a line; otherwise as ``answer_of``."""
    told = parse(FindLine, line)
    _raise(told.problem)
    return None if told.found is None else checked_found(told.found)


def _raise(problem: Mapping[str, str | int] | None) -> None:
    if problem is not None:
        status = problem.get("status", 500)
        raise problem_of(problem, status if isinstance(status, int) else 500)
