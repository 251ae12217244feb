"""Errors as RFC 9457 problem details, the same for both services: one table, no echo of what the caller sent."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shared import errors
from shared.http.caching import NO_STORE
from shared.telemetry import correlation

STATUS: dict[type[errors.DgragError], int] = {  # the nearest base class counts
    errors.InputError: 400,
    errors.BlankQuestion: 422,
    errors.MalformedText: 422,
    errors.Unstorable: 422,
    errors.UnreadableDocument: 422,
    errors.ReaderUnavailable: 503,
    errors.TooLarge: 413,
    errors.NotFound: 404,
    errors.Unauthenticated: 401,
    errors.Overloaded: 503,  # 429 where it is the caller's own doing: see status_of
    errors.Forbidden: 403,
    errors.Conflict: 409,
    errors.OriginalDropped: 410,
    errors.ModelError: 502,
    errors.ModelTimeout: 504,
    errors.ModelUnavailable: 503,
    errors.CloudError: 502,
    errors.CloudUnavailable: 503,
    errors.StoreError: 500,
    errors.DiskFull: 507,
    errors.DiskFailed: 503,
    errors.StoreAway: 503,
    errors.EmbedderChanged: 503,
    errors.SafeMode: 503,
    errors.FetchError: 503,
    errors.NotInstalled: 501,
    errors.SettingsError: 500,
    errors.DgragError: 500,
}
CODES = {
    400: "bad_input",
    404: "no_such_route",
    405: "method_not_allowed",
    408: "slow_body",
    413: "too_large",
    415: "unsupported_encoding",
}
UNREAD_BYTES = 64 * 2**10  # what a server may have taken in before we see the head of a request
BODY_GAP_S = 30.0  # longest wait for the next piece of a body
BACK_S = 10  # what a restart takes, about
MAX_FAULTS = 3
REPORT = "report it with the log"
JSON = "application/json"
OUTSIDE_BODY = (("query",), ("path",), ("header",))  # where a fault may be that no content type mends
MAX_DETAIL_CHARS = 500


def status_of(error: errors.DgragError) -> int:
    """The HTTP status of an error.

    >>> status_of(errors.ResyncNeeded("ward", version=3))
    409
    """
    if isinstance(error, errors.Overloaded) and error.of_caller:
        return HTTPStatus.TOO_MANY_REQUESTS
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def headers_of(error: errors.DgragError, request: Request) -> dict[str, str]:
    """What an error says in headers: when to come again, what to show, and that the rest of the body is not wanted.

    The connection is closed where more may come than has been read; else a server would go on reading what nobody uses.
    """
    headers = closing(request)
    if isinstance(error, errors.Overloaded | errors.StoreAway):
        headers["Retry-After"] = str(math.ceil(error.retry_after_s))
    if isinstance(error, errors.Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    return headers


def closing(request: Request) -> dict[str, str]:
    """``Connection: close`` for a refused request whose body may be long."""
    long = "transfer-encoding" in request.headers or _declared(request.scope) > UNREAD_BYTES
    return {"Connection": "close"} if long else {}


def problem(
    status: int, code: str, detail: str, next_step: str = "", *, headers: Mapping[str, str] | None = None, request_id: str = ""
) -> JSONResponse:
    """A problem document: ``{type, title, status, detail, code, next_step, request}``, the last one its id."""
    body = {
        "type": f"urn:dgrag:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": printable(detail),
        "code": code,
        "next_step": next_step,
        "request": request_id or correlation.request_id(),
    }
    return JSONResponse(body, status, headers, media_type="application/problem+json")


def printable(text: str) -> str:
    """Text that any log and any JSON reader can take: no lone surrogates, bounded length."""
    return text.encode("utf-8", "backslashreplace").decode()[:MAX_DETAIL_CHARS]


def faults_of(error: RequestValidationError) -> str:
    """What is wrong with a request, without its content; the first three faults."""
    faults = [(".".join(str(part)[:40] for part in fault["loc"]), fault["msg"]) for fault in error.errors()[:MAX_FAULTS]]
    return "; ".join(f"{where}: {said.removeprefix('Value error, ')}" for where, said in faults)


def step_of(error: RequestValidationError, request: Request) -> str:
    """Which content type a route expects that got a body of another one, or of none; "" where the type is not what is wrong."""
    expected = _content_types(request)
    said = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    elsewhere = any(fault["loc"][:1] in OUTSIDE_BODY for fault in error.errors())
    if elsewhere or said in expected:
        return ""
    return f"send the body with the header `Content-Type: {'` or `Content-Type: '.join(expected)}`; /docs describes it"


def _content_types(request: Request) -> list[str]:
    """What the route takes: what it says of itself, as one does that reads its body itself, or JSON."""
    said = getattr(request.scope.get("route"), "openapi_extra", None) or {}
    return list(said.get("requestBody", {}).get("content", {})) or [JSON]


@dataclass(frozen=True, slots=True)
class Told:
    """What a caller is told of an error."""

    status: int
    code: str
    detail: str
    next_step: str
    headers: Mapping[str, str]


PageOf = Callable[[Request, Told], Response | None]  # an error for a person to read; None: no person asks


def no_page(_: Request, __: Told) -> None:
    """Of a service without a console."""


def install_problems(app: FastAPI, *, max_body_bytes: int, page: PageOf = no_page) -> None:
    """Make ``app`` answer every error with a problem document or a ``page``, and refuse bodies over ``max_body_bytes`` (413) unread."""

    async def on_known(request: Request, error: Exception) -> Response:
        return answer_of(request, told_of(error, request), page)

    async def on_surprise(request: Request, _: Exception) -> Response:
        # Starlette calls this outside of all middleware, which adds these headers to every other answer.
        headers = {correlation.REQUEST_ID: correlation.request_id_of(request.scope), "Cache-Control": NO_STORE}
        return answer_of(request, Told(500, "internal", "an error inside the service; its log tells more", REPORT, headers), page)

    for kind in KNOWN:
        app.add_exception_handler(kind, on_known)
    app.add_exception_handler(Exception, on_surprise)
    app.add_middleware(BodyCap, max_body_bytes=max_body_bytes, page=page)
    app.add_middleware(StoppingResponse, page=page)
    app.state.stopping = False


def answer_of(request: Request, told: Told, page: PageOf) -> Response:
    """An error as a page, where a person reads it; else as a problem document."""
    shown = page(request, told)
    request_id = correlation.request_id_of(request.scope)
    return shown or problem(told.status, told.code, told.detail, told.next_step, headers=told.headers, request_id=request_id)


KNOWN = (errors.DgragError, RequestValidationError, HTTPException)  # errors that somebody has thought of


def told_of(error: Exception, request: Request) -> Told:
    """What is told of one of the ``KNOWN`` errors."""
    if isinstance(error, errors.DgragError):
        return Told(status_of(error), error.code, error.message, error.next_step, headers_of(error, request))
    if isinstance(error, RequestValidationError):
        return Told(422, "bad_input", faults_of(error), step_of(error, request) or "send the body that /docs describes", {})
    assert isinstance(error, HTTPException)
    code = CODES.get(error.status_code, "http_error")
    return Told(error.status_code, code, str(error.detail), "see /docs for the routes", closing(request))


class StoppingResponse:
    """Answers what is cut short by a stop of the service: the server cancels it, and would say nothing but 500 by itself.

    ``app.state.stopping`` tells a stop from every other cancellation, which goes on as it came.
    """

    def __init__(self, app: ASGIApp, *, page: PageOf = no_page) -> None:
        self._app = app
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        began = False

        async def watched(message: Message) -> None:
            nonlocal began
            began = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except asyncio.CancelledError:
            if scope["type"] != "http" or not scope["app"].state.stopping:
                raise
            if not began:
                headers = {"Retry-After": str(BACK_S), "Connection": "close"}
                told = Told(503, "stopping", "the service is being stopped", "ask again when it is back", headers)
                await answer_of(Request(scope), told, self._page)(scope, receive, send)


class BodyTooLarge(HTTPException):
    """Raised while a body is read; an HTTPException, because FastAPI turns any other error in a body into a 400."""

    def __init__(self, limit: int) -> None:
        super().__init__(413, errors.TooLarge("the request body", limit=limit).message)


class BodyCap:
    """Stops reading a request's body at ``max_body_bytes``, whether its length was declared or not, and when nothing more comes."""

    def __init__(self, app: ASGIApp, *, max_body_bytes: int, page: PageOf = no_page) -> None:
        self._app = app
        self._limit = max_body_bytes
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif _declared(scope) > self._limit:
            too_large = errors.TooLarge("the request body", limit=self._limit)
            told = Told(413, too_large.code, too_large.message, too_large.next_step, {"Connection": "close"})
            await answer_of(Request(scope), told, self._page)(scope, receive, send)
        else:
            await self._app(scope, self._counted(receive), send)

    def _counted(self, receive: Receive) -> Callable[[], Awaitable[Message]]:
        read, more = 0, True

        async def capped() -> Message:
            nonlocal read, more
            try:
                async with asyncio.timeout(BODY_GAP_S if more else None):
                    message = await receive()
            except TimeoutError as error:
                raise HTTPException(408, f"nothing more of the request body came for {BODY_GAP_S:.0f} s") from error
            more = bool(message.get("more_body", False))
            read += len(message.get("body", b""))
            if read > self._limit:
                raise BodyTooLarge(self._limit)
            return message

        return capped


def _declared(scope: Scope) -> int:
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    return max((int(value[:20]) for value in lengths if value.isdigit()), default=0)  # 20 digits are too much, and int() takes 4300
