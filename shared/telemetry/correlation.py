"""Which request the work of this moment is for: W3C Trace Context, the same id on every service that a question passes.

The id of a request is its trace id. What comes in is taken as hexadecimal digits of the agreed form or not at all, so that an id
can be written to any log.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shared.records import TraceStep

HEADER = "traceparent"
REQUEST_ID = "x-request-id"
FORM = r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
NO_ROUTE = "-"  # of a path that no route has
STATUS = "http.response.status_code"  # OpenTelemetry's name; no fact where the caller went before there was one
_SCOPE_KEY = "dgrag.request"  # for the handler of the last resort, which stands outside of all middleware
_AGREED = re.compile(FORM)


@dataclass(frozen=True, slots=True)
class SpanPlace:
    """A place in a trace. ``trace_id``: 32 hexadecimal digits; ``span_id``, and ``parent_id`` where somebody sent us this: 16."""

    trace_id: str
    span_id: str
    parent_id: str = ""

    @property
    def traceparent(self) -> str:
        """As it is sent on, 55 characters: whoever gets it works for us."""
        return f"00-{self.trace_id}-{self.span_id}-01"

    def child(self) -> SpanPlace:
        """A new place below this one."""
        return SpanPlace(self.trace_id, secrets.token_hex(8), self.span_id)


class Recorder(Protocol):
    """Is told of what ends; as ``shared.telemetry.spans``."""

    def step(self, place: SpanPlace, step: TraceStep) -> None:
        """A step within the work at ``place`` has just ended."""

    def work(self, work: RequestWork, seconds: float) -> None:
        """Work has just ended."""

    def close(self) -> None:
        """Nothing more will end. Blocks for some seconds at most."""


@dataclass(slots=True)
class RequestWork:
    """What a service does for one request; ``name`` and ``facts`` are of closed lists."""

    place: SpanPlace
    recorder: Recorder | None = None
    name: str = ""
    facts: dict[str, str | int] = field(default_factory=dict)


_current: ContextVar[RequestWork | None] = ContextVar("work", default=None)


def parsed(header: str) -> SpanPlace | None:
    """The sender's place; None for anything but 55 characters of the agreed form.

    >>> parsed("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").span_id
    '00f067aa0ba902b7'
    >>> parsed("00-" + "0" * 32 + "-00f067aa0ba902b7-01"), parsed("a question?")
    (None, None)
    """
    if _AGREED.fullmatch(header) is None:
        return None
    version, trace_id, span_id, _ = header.split("-")
    return None if version == "ff" or trace_id == "0" * 32 or span_id == "0" * 16 else SpanPlace(trace_id, span_id)


def entered(header: str) -> SpanPlace:
    """Our place in the sender's trace, or in a new one where the header says nothing of use."""
    sender = parsed(header)
    return SpanPlace(secrets.token_hex(16), secrets.token_hex(8)) if sender is None else sender.child()


@contextmanager
def working(header: str, recorder: Recorder | None = None, *, name: str = "") -> Iterator[RequestWork]:
    """Within, all that this task and those that it starts do is work for the request with this ``traceparent``."""
    work, started = RequestWork(entered(header), recorder, name), time.perf_counter()
    token = _current.set(work)
    try:
        yield work
    finally:
        _current.reset(token)
        if recorder is not None:
            recorder.work(work, time.perf_counter() - started)


def request_id() -> str:
    """The id of the request that is worked for; "": for none."""
    work = _current.get()
    return "" if work is None else work.place.trace_id


def traceparent() -> str:
    """What the work's next receiver is told; "" where there is no request."""
    work = _current.get()
    return "" if work is None else work.place.traceparent


def headers() -> dict[str, str]:
    """The headers that send it on, none where there is no request. Not signed: they mean nothing to whoever gets them."""
    sent = traceparent()
    return {HEADER: sent} if sent else {}


def tell(step: TraceStep) -> None:
    """Let the work's recorder know of a step that has just ended here."""
    work = _current.get()
    if work is not None and work.recorder is not None:
        work.recorder.step(work.place, step)


def request_id_of(scope: Scope) -> str:
    """The id of a request that was served, outside of ``working``; "" where it had none."""
    return str(scope.get(_SCOPE_KEY, ""))


class Correlation:
    """ASGI middleware, the outermost: a request is work with an id, and the response bears it."""

    def __init__(self, app: ASGIApp, *, recorder: Recorder | None = None) -> None:
        self._app = app
        self._recorder = recorder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        with working(_sent_with(scope), self._recorder) as work:
            scope[_SCOPE_KEY] = work.place.trace_id
            named, status = (REQUEST_ID.encode(), work.place.trace_id.encode()), 0

            async def told(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                    message = {**message, "headers": [*message.get("headers", ()), named]}
                await send(message)

            try:
                await self._app(scope, receive, told)
            except Exception:
                status = status or 500  # what is made of it outside of us
                raise
            finally:
                method, route = method_of(scope), route_of(scope)
                work.name = f"{method} {route}"
                work.facts |= {"http.request.method": method, "http.route": route} | ({STATUS: status} if status else {})
        return None


def method_of(scope: Scope) -> str:
    """A request's method; a caller may write any word, and what no route of ours has is "OTHER"."""
    method = str(scope["method"])
    return method if method in METHODS else "OTHER"


def route_of(scope: Scope) -> str:
    """The template of a request's route, once it was served: never its path."""
    return str(getattr(scope.get("route"), "path", NO_ROUTE))


def _sent_with(scope: Scope) -> str:
    """The header, where the request has exactly one."""
    given = [value for name, value in scope["headers"] if name == b"traceparent"]
    return given[0].decode("latin-1") if len(given) == 1 else ""
