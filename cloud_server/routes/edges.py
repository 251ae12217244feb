"""What edges call, and what operators call about edges."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel

from cloud_server.routes.deps import CloudDep, EdgePath, RequestPath
from shared.errors import WireMismatch
from shared.records import EdgeId
from shared.wire import WIRE_VERSION, DeltaBody, EdgeView, Enrolled, Enrolment, EvidenceReply, PollReply

router = APIRouter(prefix="/v1/edges", tags=["edges"])


class EdgeList(BaseModel):
    """``GET /v1/edges``."""

    edges: list[EdgeView]


class Expelled(BaseModel):
    """``DELETE /v1/edges/{id}``: a receipt."""

    edge: str
    summaries: int  # purged


@router.post("", status_code=201)
async def enrol(body: Enrolment, cloud: CloudDep) -> Enrolled:
    """Make an edge known; says what the cloud holds of its summaries. 403 ``expelled``, 409 ``wire_version``."""
    if body.wire_version != WIRE_VERSION:
        raise WireMismatch(edge=body.wire_version, cloud=WIRE_VERSION)
    row = await asyncio.to_thread(cloud.registry.enrol, EdgeId(body.edge))
    return Enrolled(edge=row.edge, epoch=row.epoch, version=row.version)


@router.get("")
async def list_edges(cloud: CloudDep) -> EdgeList:
    """All edges, by name."""
    return EdgeList(edges=await asyncio.to_thread(cloud.edges))


@router.put("/{edge}/summaries")
async def put_summaries(edge: EdgePath, body: DeltaBody, cloud: CloudDep) -> Enrolled:
    """Apply a delta once; 409 ``resync`` asks for a snapshot."""
    await cloud.catalogue.accept(EdgeId(edge), body.to_record())
    row = await asyncio.to_thread(cloud.registry.get, EdgeId(edge))
    return Enrolled(edge=row.edge, epoch=row.epoch, version=row.version)


@router.post("/{edge}/poll")
async def poll(edge: EdgePath, cloud: CloudDep, request: Request, wait_s: Annotated[float, Query(ge=0, le=60)] = 25.0) -> PollReply:
    """Held until a request for this edge comes, or the time is over."""
    await asyncio.to_thread(cloud.registry.seen, EdgeId(edge))
    held = asyncio.ensure_future(cloud.mailbox.poll(EdgeId(edge), wait_s=min(wait_s, cloud.settings.max_poll_s)))
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({held, gone}, return_when=asyncio.FIRST_COMPLETED)
        return PollReply(requests=held.result() if held.done() else [])
    finally:
        held.cancel()  # a poll whose caller has gone would swallow the next request
        gone.cancel()


@router.post("/{edge}/replies/{request_id}", status_code=204)
async def reply(edge: EdgePath, request_id: RequestPath, body: EvidenceReply, cloud: CloudDep, request: Request) -> Response:
    """Take an edge's passages; 404 when nobody waits for them."""
    await asyncio.to_thread(cloud.registry.get, EdgeId(edge))
    cloud.fan_out.deliver(EdgeId(edge), request_id, body, size=len(await request.body()))
    return Response(status_code=204)


@router.delete("/{edge}")
async def expel(edge: EdgePath, cloud: CloudDep) -> Expelled:
    """Shut an edge out and purge what it sent."""
    return Expelled(edge=edge, summaries=await cloud.expel(EdgeId(edge)))


@router.post("/{edge}/readmit", status_code=204)
async def readmit(edge: EdgePath, cloud: CloudDep) -> Response:
    """Let an expelled edge enrol again; 404 when it was not expelled."""
    await asyncio.to_thread(cloud.registry.readmit, EdgeId(edge))
    return Response(status_code=204)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
