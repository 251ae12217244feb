"""Letting a site in: the line that its operator runs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, Field

from cloud_server.api import operators
from cloud_server.api.access import CloudDep, EdgePath
from cloud_server.api.console.access import ConsoleRoute
from cloud_server.build import Cloud
from shared.http.console.pages import pages_of
from shared.tls import is_loopback
from shared.wire import EdgeName, InviteBody

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)
MINUTE_S = 60.0


class InviteForm(BaseModel):
    """The form of an invitation."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    edge: EdgeName
    minutes: Annotated[float, Field(ge=1, le=60)] = 60.0
    replace: bool = False


@router.get("/console/invite")
async def invite_page(request: Request, cloud: CloudDep) -> HTMLResponse:
    """Where a site's name is given, and the invitations that are open."""
    return await _page(request, cloud, invited=None)


@router.post("/console/invite")
async def invite(form: Annotated[InviteForm, Form()], request: Request, cloud: CloudDep) -> HTMLResponse:
    """Make an invitation; its line is shown this once, with the address by which the browser has called the cloud."""
    invited = await operators.invite(InviteBody(edge=form.edge, ttl_s=form.minutes * MINUTE_S, replace=form.replace), cloud)
    called = request.base_url.replace(scheme="https") if cloud.settings.behind_tls_proxy else request.base_url
    url, is_here = str(called).rstrip("/"), is_loopback(called.hostname or "")
    return await _page(request, cloud, invited=invited, url=url, is_here=is_here)


@router.delete("/console/invite/{edge}")
async def withdraw(edge: EdgePath, request: Request, cloud: CloudDep) -> HTMLResponse:
    """Let a site in by none of its invitations."""
    await operators.withdraw(edge, cloud)
    return await _page(request, cloud, invited=None, withdrawn=edge)


async def _page(request: Request, cloud: Cloud, *, withdrawn: str = "", **values: Any) -> HTMLResponse:
    listed = await operators.list_invites(cloud)
    return pages_of(request).page(request, "own/invite.html", waiting=listed.invites, withdrawn=withdrawn, **values)
