"""Calls of an app's own routes in its own process, whose answers come as they are made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx2
from starlette.types import ASGIApp, Message, Scope

ENDED: Message = {"type": "http.response.body", "body": b"", "more_body": False}


class InsideTransport(httpx2.AsyncBaseTransport):
    """A transport to an app. httpx2 has one too, which keeps a stream until it has ended; whoever closes this one's ends the work."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response, once its head is there. Raises ReadError where the app ends without one."""
        body, news = await request.aread(), asyncio.Queue[Message]()
        sent: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            if not sent:
                await asyncio.Event().wait()  # who called goes by closing the response
            return sent.pop()

        work = asyncio.ensure_future(self._app(_scope(request), receive, news.put))
        work.add_done_callback(lambda done: _end(done, news))
        try:
            head = await news.get()
        except asyncio.CancelledError:
            work.cancel()
            raise
        if head["type"] != "http.response.start":
            raise httpx2.ReadError("the app ended without an answer", request=request)
        return httpx2.Response(head["status"], headers=head["headers"], stream=_Body(news, work), request=request)


class _Body(httpx2.AsyncByteStream):
    def __init__(self, news: asyncio.Queue[Message], work: asyncio.Future[None]) -> None:
        self._news = news
        self._work = work

    async def __aiter__(self) -> AsyncIterator[bytes]:
        more = True
        while more:
            message = await self._news.get()
            more = bool(message.get("more_body", False))
            yield message.get("body", b"")

    async def aclose(self) -> None:
        self._work.cancel()
        await asyncio.wait([self._work])


def _end(work: asyncio.Future[None], news: asyncio.Queue[Message]) -> None:
    if not work.cancelled():
        work.exception()  # the app has told its log; unread, it would be told again
    news.put_nowait(ENDED)


def _scope(request: httpx2.Request) -> Scope:
    url = request.url
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": url.scheme,
        "path": url.path,
        "raw_path": url.raw_path.partition(b"?")[0],
        "root_path": "",
        "query_string": url.query,
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "client": ("127.0.0.1", 0),
        "server": (url.host, url.port),
    }
