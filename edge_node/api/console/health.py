"""The state of the site: what it does and holds, its models and its line to the cloud; for admins its settings and backups."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, StreamingResponse

from edge_node.api import archive
from edge_node.api import backups as rest
from edge_node.api.access import Node
from edge_node.api.console.access import ConsoleRoute
from edge_node.api.console.figures import TICKS, WIDTH, across, figures_of
from edge_node.node import EdgeNode
from shared.errors import ModelTimeout, ModelUnavailable
from shared.http.console.pages import pages_of
from shared.settings_reference import reference

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)
REACH_S = 5.0  # that a model's server may take to say that it is there


@router.get("/console/health")
async def health_page(request: Request, node: Node) -> HTMLResponse:
    """Ready or not, at work or not, and all counts."""
    values = await asyncio.to_thread(_state, node) | {"memory": await node.memory_status()}
    ticks = [(f"{across(seconds):.1f}", label) for seconds, label in TICKS]
    return pages_of(request).page(request, "own/health.html", ticks=ticks, width=WIDTH, **values)


@router.get("/console/health/model")
async def model_state(request: Request, node: Node) -> HTMLResponse:
    """Whether the model's server answers; asked when the page is seen, as it may take its time."""
    problem = None
    if node.models.server is not None:
        try:
            await node.models.server.reach(deadline_s=REACH_S)
        except (ModelTimeout, ModelUnavailable) as error:
            problem = error
    return pages_of(request).page(request, "own/model_state.html", problem=problem, shortfalls=node.models.shortfalls())


@router.get("/console/health/settings")
async def settings_page(request: Request, node: Node) -> HTMLResponse:
    """Every setting with its value, its meaning and its default."""
    subjects = await asyncio.to_thread(reference, node.settings)
    return pages_of(request).page(request, "own/settings.html", subjects=subjects)


@router.get("/console/health/backups")
async def backups_page(request: Request, node: Node) -> HTMLResponse:
    """The backups that there are."""
    return pages_of(request).page(request, "own/backups.html", listed=await rest.list_backups(node), made=None)


@router.post("/console/health/backups")
async def make_backup(request: Request, node: Node) -> HTMLResponse:
    """Make one; the list with it."""
    made = await rest.make_backup(node)
    return pages_of(request).page(request, "own/backups.html", listed=await rest.list_backups(node), made=made)


@router.get("/console/health/export")
async def export(node: Node) -> StreamingResponse:
    """The documents, the policy and the settings as one file."""
    return await archive.export(node)


def _state(node: EdgeNode) -> dict[str, Any]:
    state = node.status()
    return {
        "state": state,
        "store_bytes": node.documents.database.size(),
        "version": node.graph.version(),
        "breaker_s": node.breaker.left_s(),
        "models": node.models,
        "reader_faults": node.reads.faults,
        "figures": figures_of(node.meter.page().decode()),
    }
