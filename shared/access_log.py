"""Every request that a service was sent: a line in the log, and its time on the meter. Never a path's values, a body or a header."""

from __future__ import annotations

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shared.metrics import Meter

NO_ROUTE = "-"  # of a path that no route has


class AccessLog:
    """ASGI middleware, the outermost. ``log`` None: the meter alone is told."""

    def __init__(self, app: ASGIApp, *, meter: Meter, log: logging.Logger | None = None) -> None:
        self._app = app
        self._meter = meter
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        status, sent, started = 0, 0, time.perf_counter()

        async def watched(message: Message) -> None:
            nonlocal status, sent
            status = message.get("status", status)
            sent += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception:
            status = status or 500  # what the server outside of us makes of it
            raise
        finally:
            route = getattr(scope.get("route"), "path", NO_ROUTE)
            seconds = time.perf_counter() - started
            self._meter.http(scope["method"], route, status, seconds)
            if self._log is not None:
                self._log.info("%s %s %d %.1f ms %d bytes", scope["method"], route, status, seconds * 1000, sent)
        return None
