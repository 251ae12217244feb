"""The federation at the console: who belongs to it and how each site does; what an operator does about one."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, StringConstraints

from cloud_server.api import operators
from cloud_server.api.access import CallerDep, CloudDep, EdgePath
from cloud_server.api.console.access import ConsoleRoute
from cloud_server.api.console.map import FEW, HEIGHT, MOST, WIDTH, placed, state_of, view_box
from cloud_server.build import Cloud
from shared.errors import NotFound
from shared.http.console.pages import pages_of
from shared.ports import Adaptable
from shared.records import EdgeId

Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]


class QuarantineForm(BaseModel):
    """The form of a quarantine: a person is asked why."""

    model_config = ConfigDict(extra="forbid")

    reason: Reason


router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)
BACK = {"HX-Redirect": "/"}  # to the federation: the site's own page is gone


@router.get("/")
async def federation_page(request: Request, cloud: CloudDep) -> HTMLResponse:
    """All sites, as a picture and as a table; those that were expelled; and what the cloud's model server lacks."""
    sites, expelled = await asyncio.gather(asyncio.to_thread(cloud.edges), asyncio.to_thread(cloud.registry.expelled))
    states = [state_of(site) for site in sites]
    places = placed(sites)
    drawing: dict[str, Any] = {
        "places": places,
        "centre": (WIDTH // 2, HEIGHT // 2),
        "view_box": view_box(places),
        "most": MOST,
        "few": FEW,
    }
    generator = cloud.models.generator
    lacks = generator.shortfalls() if isinstance(generator, Adaptable) else ()
    model: dict[str, Any] = {"name": generator.name, "shortfalls": lacks}
    return pages_of(request).page(request, "own/federation.html", sites=sites, states=states, expelled=expelled, model=model, **drawing)


@router.get("/console/sites/{edge}")
async def site_page(edge: EdgePath, request: Request, cloud: CloudDep) -> HTMLResponse:
    """All that the cloud knows of one site."""
    return await _site(edge, request, cloud)


@router.post("/console/sites/{edge}/quarantine")
async def quarantine(
    edge: EdgePath, form: Annotated[QuarantineForm, Form()], request: Request, cloud: CloudDep, caller: CallerDep
) -> HTMLResponse:
    """Set a site aside."""
    await operators.quarantine(edge, operators.Quarantine(reason=form.reason), cloud, caller)
    return await _site(edge, request, cloud)


@router.post("/console/sites/{edge}/release")
async def release(edge: EdgePath, request: Request, cloud: CloudDep, caller: CallerDep) -> HTMLResponse:
    """End a quarantine."""
    await operators.release(edge, cloud, caller)
    return await _site(edge, request, cloud)


@router.delete("/console/sites/{edge}")
async def expel(edge: EdgePath, cloud: CloudDep, caller: CallerDep) -> Response:
    """Shut a site out and purge what it sent."""
    await operators.expel(edge, cloud, caller)
    return Response(status_code=204, headers=BACK)


@router.post("/console/sites/{edge}/readmit")
async def readmit(edge: EdgePath, cloud: CloudDep, caller: CallerDep) -> Response:
    """Let an expelled site join again."""
    await operators.readmit(edge, cloud, caller)
    return Response(status_code=204, headers=BACK)


async def _site(edge: str, request: Request, cloud: Cloud) -> HTMLResponse:
    site = next((one for one in await asyncio.to_thread(cloud.edges) if one.edge == edge), None)
    if site is None:
        raise NotFound("site", edge)
    decisions = await asyncio.to_thread(cloud.registry.decisions, EdgeId(edge))
    return pages_of(request).page(request, "own/site.html", one=site, state=state_of(site), decisions=decisions)
