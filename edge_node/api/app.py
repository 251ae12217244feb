"""The edge's HTTP service around a node."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from importlib import metadata

from fastapi import FastAPI

from edge_node.api import (
    archive,
    backups,
    calibration,
    chat,
    communities,
    dify,
    documents,
    embeddings,
    memories,
    ollama,
    policy,
    questions,
    service,
)
from edge_node.api.access import GuardedRoute
from edge_node.api.console import ask, audit, document, graph, health, sharing
from edge_node.api.console import documents as documents_page
from edge_node.api.console.access import KEYS, ConsoleRoute, edge_pages
from edge_node.api.mcp import route as mcp
from edge_node.api.mcp.route import serving_mcp
from edge_node.api.metrics import EdgeReadings
from edge_node.api.safe_mode import create_safe_app
from edge_node.build import Adapters, build_node
from edge_node.cloud.membership import Membership
from edge_node.node import EdgeNode
from edge_node.settings import EdgeSettings
from shared.errors import StoreDamaged
from shared.http.background import at_work
from shared.http.caching import CacheHeaders
from shared.http.console.keys import key_pages
from shared.http.console.routes import console_problem, console_router
from shared.http.docs import docs_router
from shared.http.keyring import KeyRing
from shared.http.keys import keys_router
from shared.http.middleware import AccessLog
from shared.http.problems import install_problems
from shared.http.service import TELEMETRY_OFF, browser_sessions, doorkeeper
from shared.ports import SystemClock
from shared.telemetry.correlation import Correlation
from shared.telemetry.metrics import Scrape

log = logging.getLogger("dgrag.edge")
access = logging.getLogger("dgrag.edge.access")
REST = (
    *(
        service.router,
        communities.router,
        policy.router,
        policy.audit_router,
        documents.router,
        backups.router,
        archive.router,
        calibration.router,
        questions.router,
    ),
    *(memories.router, chat.router, embeddings.router, mcp.router, ollama.router, dify.router),
)
PAGES = (ask.router, documents_page.router, document.router, graph.router, sharing.router, audit.router, health.router)
FORM_OVERHEAD = 64 * 2**10  # what a multipart form adds to its file


def open_app(settings: EdgeSettings, parts: Adapters) -> FastAPI:
    """An edge's app; in safe mode when its store is damaged beyond mending. Raises DgragError for what a person must set right first."""
    try:
        return create_app(build_node(settings, parts))
    except StoreDamaged as error:
        log.critical("safe mode: %s – %s", error.message, error.next_step)
        return create_safe_app(settings, error)


def create_app(node: EdgeNode) -> FastAPI:
    """Routes over a node, behind a doorkeeper; its background work runs as long as the app does."""
    settings = node.settings
    ring, clock = KeyRing(settings.state_dir), SystemClock()
    own_key = Membership(settings.state_dir, clock).identity().key_id
    sessions = browser_sessions(settings, ring, kind="edge", name=settings.id, key_id=own_key)
    door = doorkeeper(settings, ring, sessions=sessions)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        try:
            async with at_work(app, [node.run]), serving_mcp(app):
                yield
        finally:
            await asyncio.to_thread(node.close)
            door.close()

    title, version = f"DGRAG edge {settings.id}", metadata.version("dgrag")
    app = FastAPI(title=title, lifespan=lifespan, version=version, redirect_slashes=False, openapi_url=None, telemetry=TELEMETRY_OFF)
    app.state.node, app.state.healthy, app.state.guard = node, True, door
    app.state.sessions, app.state.pages = sessions, edge_pages(settings, sessions)
    app.state.scrape = Scrape(node.meter, EdgeReadings(node, node.admissions.by_kind()).read, clock)
    install_problems(app, max_body_bytes=settings.max_document_bytes + FORM_OVERHEAD, page=console_problem)
    made_here = (docs_router(GuardedRoute), keys_router(GuardedRoute, ring, clock))
    for routes in (*made_here, *REST, console_router(ConsoleRoute), key_pages(ConsoleRoute, KEYS, ring, clock), *PAGES):
        app.include_router(routes)
    app.add_middleware(CacheHeaders)
    app.add_middleware(AccessLog, meter=node.meter, log=access)
    app.add_middleware(Correlation, recorder=node.recorder)
    return app
