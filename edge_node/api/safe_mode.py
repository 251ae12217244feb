"""What an edge serves whose store is damaged beyond mending: its status, a page, and a no to the rest. It does not end (R10)."""

from __future__ import annotations

import logging
from importlib import metadata
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import HTMLResponse

from edge_node.api.access import RULES
from edge_node.api.console.access import ConsoleRoute, edge_pages
from edge_node.settings import EdgeSettings
from shared.errors import SafeMode, StoreDamaged
from shared.http.access import Rule, guarded
from shared.http.caching import CacheHeaders
from shared.http.console.pages import pages_of
from shared.http.console.routes import console_problem, console_router
from shared.http.keyring import KeyRing
from shared.http.middleware import AccessLog
from shared.http.problems import install_problems
from shared.http.service import TELEMETRY_OFF, browser_sessions, doorkeeper
from shared.telemetry.correlation import Correlation
from shared.telemetry.metrics import Meter

access = logging.getLogger("dgrag.edge.access")
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
ANY_LENGTH = 2**63  # no body is read here
GuardedRoute = guarded({**RULES, **{(method, "/{path:path}"): Rule(frozenset({"read"}), None) for method in METHODS}})


def create_safe_app(settings: EdgeSettings, reason: StoreDamaged) -> FastAPI:
    """Routes that need no store, behind the door of the whole edge; ``reason`` says what is wrong and what to do.

    Raises StoreError when the store of the keys is damaged too: nobody could come in.
    """
    title, version = f"DGRAG edge {settings.id} in safe mode", metadata.version("dgrag")
    app = FastAPI(title=title, version=version, redirect_slashes=False, openapi_url=None, telemetry=TELEMETRY_OFF)
    ring = KeyRing(settings.state_dir)
    sessions = browser_sessions(settings, ring, kind="edge", name=settings.id, key_id="safe")
    app.state.guard = doorkeeper(settings, ring, sessions=sessions)
    app.state.sessions, app.state.pages = sessions, edge_pages(settings, sessions, entries=())
    install_problems(app, max_body_bytes=ANY_LENGTH, page=console_problem)
    refusal = SafeMode(reason)
    for router in (console_router(ConsoleRoute), _page(refusal), _routes(settings, refusal)):
        app.include_router(router)
    app.add_middleware(CacheHeaders)
    app.add_middleware(AccessLog, meter=Meter(settings.id), log=access)
    app.add_middleware(Correlation)
    return app


def _page(refusal: SafeMode) -> APIRouter:
    router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)

    @router.get("/")
    async def safe_page(request: Request) -> HTMLResponse:
        """What is wrong, and what to do, for who opens the console."""
        return pages_of(request).page(request, "own/safe_mode.html", status=503, refusal=refusal)

    return router


def _routes(settings: EdgeSettings, refusal: SafeMode) -> APIRouter:
    router = APIRouter(route_class=GuardedRoute)

    @router.get("/health")
    async def health() -> dict[str, str]:
        """The process answers."""
        return {"status": "ok"}

    @router.get("/ready")
    async def ready(response: Response) -> dict[str, Any]:
        """Never: a restart after the store was restored ends safe mode."""
        response.status_code = 503
        return {"ready": False, "reason": refusal.message, "code": refusal.code, "next_step": refusal.next_step}

    @router.get("/v1/status")
    async def status() -> dict[str, Any]:
        """That nothing works, and why."""
        return {"edge": settings.id, "failed": f"{refusal.message} – {refusal.next_step}", "settled": False, "documents": {}}

    @router.api_route("/{path:path}", methods=METHODS)
    async def anything(path: str) -> None:  # noqa: ARG001 - the route takes every path
        """Refuses."""
        raise refusal

    return router
