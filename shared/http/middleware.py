"""Around every request: a line in the log, a time on the meter, and an end of the work when its client has gone (goal R13)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shared.telemetry.correlation import method_of, route_of
from shared.telemetry.logs import FACTS, redacted
from shared.telemetry.metrics import Meter

T = TypeVar("T")


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """What ``work`` returns or raises. Cancels it when the client goes (then HTTPException, which nobody reads).

    The request's body must have been read.
    """
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise HTTPException(408, "the client has gone")
        return task.result()
    finally:
        gone.cancel()
        task.cancel()
        await asyncio.gather(gone, task, return_exceptions=True)  # what it held is free when this returns


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


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
