"""What may be stored or held up between a service and who asks: nothing, unless a route says otherwise.

A shared cache may keep an answer without ``Cache-Control`` by its own judgement (RFC 9111 §4.2.2), and a proxy collects a stream
until its buffer is full, unless the answer says not to. So both are said here once, for all routes of a service.
"""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

NO_STORE = "no-store"
NO_TRANSFORM = "no-transform"  # compressing a stream holds it up as well (RFC 9111 §5.2.2.6)
NEGOTIATED = ("Accept", "Authorization", "Cookie", "HX-Request")  # headers by which answers of one URL differ
BODILESS = frozenset({204, 304})


class CacheHeaders:
    """ASGI middleware around all routes; what a route says of caches itself, as a static file does, it keeps."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def completed(message: Message) -> None:
            if message["type"] == "http.response.start":
                complete(MutableHeaders(scope=message), status=message["status"])
            await send(message)

        await self._app(scope, receive, completed)


def complete(headers: MutableHeaders, *, status: int) -> None:
    """Add what an answer does not say itself. One without a length is a stream, whatever its media type.

    >>> headers = MutableHeaders({"content-type": "application/x-ndjson"})
    >>> complete(headers, status=200)
    >>> headers["cache-control"], headers["x-accel-buffering"]
    ('no-store, no-transform', 'no')
    """
    headers.setdefault("cache-control", NO_STORE)
    control = headers["cache-control"]
    if "public" not in control:
        for name in NEGOTIATED:
            headers.add_vary_header(name)
    if "content-length" not in headers and status not in BODILESS:
        headers["x-accel-buffering"] = "no"
        if NO_TRANSFORM not in control:
            headers["cache-control"] = f"{control}, {NO_TRANSFORM}"
