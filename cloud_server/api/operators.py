"""What operators call about edges: who may come in, who is set aside, who is shut out."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from cloud_server.api.access import CallerDep, CloudDep, EdgePath, GuardedRoute
from cloud_server.registry.enrolment import OpenInvitation
from shared.records import EdgeId
from shared.wire import EdgeView, InviteBody, Invited, Wire

router = APIRouter(prefix="/v1", tags=["operators"], route_class=GuardedRoute)


class EdgeList(BaseModel):
    """``GET /v1/edges``."""

    edges: list[EdgeView]


class InviteList(BaseModel):
    """``GET /v1/invites``."""

    invites: list[OpenInvitation]


class ExpelledEdge(BaseModel):
    """One that may not join until it is readmitted."""

    edge: str
    at: float  # seconds since the epoch


class ExpelledList(BaseModel):
    """``GET /v1/expelled``."""

    expelled: list[ExpelledEdge]


class Expulsion(BaseModel):
    """``DELETE /v1/edges/{id}``: a receipt."""

    edge: str
    summaries: int  # purged


class Quarantine(Wire):
    """``POST /v1/edges/{id}/quarantine``."""

    reason: Annotated[str, Field(min_length=1, max_length=300)] = "set aside by an operator"


@router.post("/invites", status_code=201)
async def invite(body: InviteBody, cloud: CloudDep) -> Invited:
    """Let one edge in, once, within the hour; the token is shown here only. 409 ``edge_known``: it has joined."""
    made = await asyncio.to_thread(cloud.credentials.joining.invite, EdgeId(body.edge), ttl_s=body.ttl_s, replaces=body.replace)
    return Invited(edge=made.edge, token=made.token, expires=made.expires)


@router.get("/invites")
async def list_invites(cloud: CloudDep) -> InviteList:
    """The invitations that nobody has used yet, by the edge's name; without their tokens."""
    return InviteList(invites=await asyncio.to_thread(cloud.credentials.invites.open))


@router.delete("/invites/{edge}", status_code=204)
async def withdraw(edge: EdgePath, cloud: CloudDep) -> Response:
    """End all invitations of an edge that are open; 404 where none is."""
    await asyncio.to_thread(cloud.credentials.invites.withdraw, EdgeId(edge))
    return Response(status_code=204)


@router.get("/edges")
async def list_edges(cloud: CloudDep) -> EdgeList:
    """All edges, by name."""
    return EdgeList(edges=await asyncio.to_thread(cloud.edges))


@router.get("/expelled")
async def list_expelled(cloud: CloudDep) -> ExpelledList:
    """The edges that are shut out, by name, and since when."""
    return ExpelledList(expelled=[ExpelledEdge(edge=edge, at=at) for edge, at in await asyncio.to_thread(cloud.registry.expelled)])


@router.post("/edges/{edge}/quarantine", status_code=204)
async def quarantine(edge: EdgePath, body: Quarantine, cloud: CloudDep, caller: CallerDep) -> Response:
    """Set an edge aside: it keeps its line and may sync, but neither asks nor is asked, and its summaries match nothing."""
    await asyncio.to_thread(cloud.registry.quarantine, EdgeId(edge), body.reason, by=caller.name)
    return Response(status_code=204)


@router.post("/edges/{edge}/release", status_code=204)
async def release(edge: EdgePath, cloud: CloudDep, caller: CallerDep) -> Response:
    """End a quarantine."""
    await asyncio.to_thread(cloud.registry.release, EdgeId(edge), by=caller.name)
    return Response(status_code=204)


@router.delete("/edges/{edge}")
async def expel(edge: EdgePath, cloud: CloudDep, caller: CallerDep) -> Expulsion:
    """Shut an edge out and purge what it sent; its keys end."""
    return Expulsion(edge=edge, summaries=await cloud.expel(EdgeId(edge), by=caller.name))


@router.post("/edges/{edge}/readmit", status_code=204)
async def readmit(edge: EdgePath, cloud: CloudDep, caller: CallerDep) -> Response:
    """Let an expelled edge join again; 404 when it was not expelled."""
    await asyncio.to_thread(cloud.registry.readmit, EdgeId(edge), by=caller.name)
    return Response(status_code=204)
