"""Every request that a service was sent: a line in the log, and its time on the meter. Never a path's values, a body or a header."""

from __future__ import annotations

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shared.correlation import method_of, route_of
from shared.logs import FACTS
from shared.metrics import Meter
from shared.redacted import redacted


class AccessLog:
    """ASGI middleware, within ``Correlation``: its lines bear the request's id."""

    def __init__(self, app: ASGIApp, *, meter: Meter, log: logging.Logger) -> None:
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
        except Exception as error:
            status = status or 500  # what the server outside of us makes of it
            self._log.error("an error that nobody expected: %s", redacted(error))
            raise
        finally:
            method, route, seconds = method_of(scope), route_of(scope), time.perf_counter() - started
            self._meter.http(method, route, status, seconds)
            facts = {"method": method, "route": route, "status": status, "ms": round(seconds * 1000, 1), "bytes": sent}
            self._log.info("%s %s %d %.1f ms %d bytes", *facts.values(), extra={FACTS: facts})
        return None
