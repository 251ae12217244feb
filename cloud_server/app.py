"""The cloud's REST API (design §11): routes translate, and do nothing else."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cloud_server.build import Cloud
from cloud_server.routes import edges, operators, questions, service
from cloud_server.routes.access import GuardedRoute
from shared.admission import Admission
from shared.docs import docs_router
from shared.http_problems import install_problems
from shared.keyring import KeyRing
from shared.service import doorkeeper

access = logging.getLogger("dgrag.cloud.access")


def create_app(cloud: Cloud) -> FastAPI:
    """The app of one cloud, behind a doorkeeper; its index is filled when the app starts, its store closed when it stops."""
    settings = cloud.settings
    door = doorkeeper(settings, KeyRing(settings.state_dir), cloud.roll.authenticator)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await cloud.open()
        app.state.ready = True
        erasing = asyncio.create_task(cloud.eraser.run(), name="eraser")
        yield
        app.state.ready = False
        erasing.cancel()
        await asyncio.wait([erasing])
        cloud.mailbox.close()
        await asyncio.to_thread(cloud.close)
        door.close()

    app = FastAPI(title="DGRAG cloud", lifespan=lifespan, redoc_url=None, redirect_slashes=False, openapi_url=None)
    app.state.cloud, app.state.ready, app.state.guard = cloud, False, door
    app.state.admission = Admission(at_once=settings.questions_at_once, waiting=settings.questions_waiting)
    app.state.global_admission = Admission(at_once=settings.global_questions_at_once, waiting=settings.questions_waiting)
    app.include_router(docs_router(GuardedRoute))
    for router in (edges.router, edges.replies, operators.router, questions.router, service.router):
        app.include_router(router)
    install_problems(app, max_body_bytes=settings.max_body_bytes)
    app.add_middleware(AccessLog)
    return app


class AccessLog:
    """One line a request: method, route, status, time, bytes. Never a path's values, a body or a header."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

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
        finally:
            route = getattr(scope.get("route"), "path", "-")
            ms = (time.perf_counter() - started) * 1000
            access.info("%s %s %d %.1f ms %d bytes", scope["method"], route, status, ms, sent)
        return None
