"""Is it alive, is it ready."""

from __future__ import annotations

import asyncio
from typing import cast

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel

from cloud_server.api.access import CloudDep, GuardedRoute
from shared.telemetry.metrics import CONTENT_TYPE, Scrape

router = APIRouter(tags=["service"], route_class=GuardedRoute)


class Ready(BaseModel):
    """``GET /ready``."""

    ready: bool
    edges: int
    summaries: int


@router.get("/health")
async def health(request: Request, response: Response) -> dict[str, str]:
    """The process answers; 503 where only a new one helps."""
    is_healthy = bool(request.app.state.healthy)
    response.status_code = 200 if is_healthy else 503
    return {"status": "ok" if is_healthy else "broken"}


@router.get("/ready")
async def ready(request: Request, response: Response, cloud: CloudDep) -> Ready:
    """The index is filled, and all that runs beside the requests runs; 503 else."""
    is_ready = bool(request.app.state.ready and request.app.state.healthy)
    response.status_code = 200 if is_ready else 503
    edges = await asyncio.to_thread(cloud.registry.all)
    return Ready(ready=is_ready, edges=len(edges), summaries=len(cloud.summary_index))


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """What this service counts and holds, as Prometheus reads it; figures of the store are at most 5 s old."""
    scrape = cast("Scrape", request.app.state.scrape)
    return Response(await scrape.page(), media_type=CONTENT_TYPE)
