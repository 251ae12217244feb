"""The edge's HTTP service around a node."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from importlib import metadata

from fastapi import FastAPI

from edge_node.api import audit, chat, communities, documents, jobs, memories, policy, questions, service
from edge_node.api.access import GuardedRoute
from edge_node.api.deps import Admissions
from edge_node.build import Parts, build_node
from edge_node.metrics import EdgeReadings
from edge_node.node import EdgeNode
from edge_node.safe_mode import create_safe_app
from edge_node.settings import EdgeSettings
from shared.access_log import AccessLog
from shared.admission import Admission
from shared.clock import SystemClock
from shared.correlation import Correlation
from shared.docs import docs_router
from shared.errors import StoreDamaged
from shared.http_problems import install_problems
from shared.keyring import KeyRing
from shared.metrics import Scrape
from shared.redacted import redacted
from shared.service import TELEMETRY_OFF, doorkeeper

log = logging.getLogger("dgrag.edge")
access = logging.getLogger("dgrag.edge.access")
FORM_OVERHEAD = 64 * 2**10  # what a multipart form adds to its file


def open_app(settings: EdgeSettings, parts: Parts) -> FastAPI:
    """An edge's app; in safe mode when its store is damaged beyond mending. Raises DgragError for what a person must set right first."""
    try:
        return create_app(build_node(settings, parts))
    except StoreDamaged as error:
        log.critical("safe mode: %s – %s", error.message, error.next_step)
        return create_safe_app(settings, error)


def create_app(node: EdgeNode) -> FastAPI:
    """Routes over a node, behind a doorkeeper; its background work runs as long as the app does."""
    settings = node.settings
    door = doorkeeper(settings, KeyRing(settings.state_dir))

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        work = asyncio.create_task(node.run(), name="edge")
        work.add_done_callback(_report)
        try:
            yield
        finally:
            work.cancel()
            try:
                await asyncio.wait([work])  # raises nothing of the work's: _report has told it
            finally:
                await asyncio.to_thread(node.close)
                door.close()

    title, version = f"DGRAG edge {settings.id}", metadata.version("dgrag")
    app = FastAPI(title=title, lifespan=lifespan, version=version, redirect_slashes=False, openapi_url=None, telemetry=TELEMETRY_OFF)
    app.state.node, app.state.guard = node, door
    app.state.admissions = Admissions(
        Admission(at_once=settings.questions_at_once, waiting=settings.questions_waiting),
        Admission(at_once=settings.global_questions_at_once, waiting=settings.questions_waiting),
    )
    turns = {"question": app.state.admissions.questions, "global": app.state.admissions.overviews}
    app.state.scrape = Scrape(node.meter, EdgeReadings(node, turns).read, SystemClock())
    install_problems(app, max_body_bytes=settings.max_document_bytes + FORM_OVERHEAD)
    app.include_router(docs_router(GuardedRoute))
    for routes in (service, communities, policy, audit, documents, jobs, questions, memories, chat):
        app.include_router(routes.router)
    app.add_middleware(AccessLog, meter=node.meter, log=access)
    app.add_middleware(Correlation, recorder=node.recorder)
    return app


def _report(work: asyncio.Task[None]) -> None:
    if not work.cancelled() and work.exception() is not None:
        log.critical("the edge's background work failed; the node is not ready: %s", redacted(work.exception()))
