"""The service itself: health, status; and what was built: graph, entities, subgraphs, summaries."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel

from edge_node.api.access import GuardedRoute, Node, ReaderDep
from shared.http.access import Caller, Role, caller_of
from shared.telemetry.metrics import CONTENT_TYPE, Scrape

router = APIRouter(route_class=GuardedRoute)
Limit = Annotated[int, Query(ge=1, le=1000)]


@router.get("/health")
async def health(request: Request, response: Response) -> dict[str, str]:
    """The process answers; 503 where only a new one helps."""
    is_healthy = bool(request.app.state.healthy)
    response.status_code = 200 if is_healthy else 503
    return {"status": "ok" if is_healthy else "broken"}


@router.get("/ready")
async def ready(node: Node, response: Response) -> dict[str, Any]:
    """Caches are built and the background tasks run: questions can come. ``faults``: kinds of documents that cannot be read now."""
    if node.failed:
        response.status_code = 503
    return {"ready": not node.failed, "reason": node.failed, "faults": [fault.message for fault in node.reads.faults]}


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """What this service counts and holds, as Prometheus reads it; figures of the store are at most 5 s old."""
    scrape = cast("Scrape", request.app.state.scrape)
    return Response(await scrape.page(), media_type=CONTENT_TYPE)


@router.get("/v1/status")
async def status(node: Node) -> dict[str, Any]:
    """Counts, cost and progress of this edge."""
    return await asyncio.to_thread(node.status) | {"memory": await node.memory_status()}


class CallerView(BaseModel):
    """``GET /v1/caller``."""

    edge: str
    name: str
    roles: list[Role]
    labels: list[str] | None  # reads documents with these labels, and those without any; null: all


@router.get("/v1/caller")
async def caller(node: Node, who: Annotated[Caller, Depends(caller_of)]) -> CallerView:
    """Which edge this is, whose key called it, and what that may do; ``local``: there are no keys, and everybody on this machine may."""
    return CallerView(
        edge=node.settings.id, name=who.name, roles=sorted(who.roles), labels=None if who.labels is None else sorted(who.labels)
    )


@router.get("/v1/graph")
async def graph(
    reader: ReaderDep, entity: Annotated[str, Query(max_length=512)] = "", hops: Annotated[int, Query(ge=0, le=3)] = 1, limit: Limit = 100
) -> dict[str, Any]:
    """The neighbourhood of an entity, or the entities of highest degree when none is named."""
    return await reader.neighbourhood(entity, hops=hops, limit=limit)


@router.get("/v1/graph.graphml")
async def export(reader: ReaderDep) -> Response:
    """The whole graph for other programs: Gephi, yEd, networkx."""
    return Response(await reader.graphml(), media_type="application/graphml+xml")


@router.get("/v1/entities")
async def entities(reader: ReaderDep, limit: Limit = 100, q: Annotated[str, Query(max_length=200)] = "") -> dict[str, Any]:
    """Entities by degree, highest first; with ``q`` those whose names hold its words or parts of words, the nearest names first."""
    return {"entities": await reader.named(q, limit=limit)}


@router.get("/v1/subgraphs")
async def subgraphs(node: Node) -> dict[str, Any]:
    """The parts of the graph with their entities' keys."""
    found = await asyncio.to_thread(node.graph.subgraphs)
    return {"subgraphs": [{"subgraph_id": key, "entities": members} for key, members in sorted(found.items())]}


@router.get("/v1/summaries")
async def summaries(node: Node) -> dict[str, Any]:
    """What the cloud knows, or will know at the next sync, of this edge."""
    return {"summaries": await asyncio.to_thread(node.graph.summaries), "version": await asyncio.to_thread(node.graph.version)}
