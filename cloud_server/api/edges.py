"""What edges call about themselves."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from cloud_server.api.access import RULES, CloudDep, DoorDep, GuardedRoute, OwnEdge, RequestPath, get_cloud
from cloud_server.build import Cloud
from cloud_server.registry.authenticator import received
from cloud_server.registry.edges import EdgeRow
from cloud_server.registry.enrolment import no_invitation
from shared.errors import Conflict, Forbidden, TooLarge, Unauthenticated, WireMismatch
from shared.http.access import Unusable, guarded
from shared.http.middleware import while_connected
from shared.records import EdgeId
from shared.signing import claims_of
from shared.wire import (
    WIRE_TAKEN,
    WIRE_UNSAID,
    WIRE_VERSION,
    Countersigned,
    DeltaBody,
    Enrolled,
    Enrolment,
    EvidenceReply,
    Head,
    Heads,
    MemoryDelta,
    PollReply,
    Rotation,
)

router = APIRouter(prefix="/v1/edges", tags=["edges"], route_class=GuardedRoute)


async def wait_no_longer(request: Request, error: Unusable) -> None:
    """End the wait for a reply whose body cannot be used: only the edge that was asked knows the request's id."""
    reason = f"its reply was not taken: {error.message}" if isinstance(error, TooLarge) else "its reply is not of the agreed form"
    await get_cloud(request).fan_out.spoil(EdgeId(request.path_params["edge"]), request.path_params["request_id"], reason)


replies = APIRouter(prefix="/v1/edges", tags=["edges"], route_class=guarded(RULES, on_unusable=wait_no_longer))


@router.post("", status_code=201)
async def join(body: Enrolment, cloud: CloudDep, door: DoorDep, request: Request) -> Enrolled:
    """Make an edge known by its key, with an invitation; in open mode without one.

    403 ``forbidden`` (the invitation does not hold), ``expelled``; 409 ``edge_known``, ``wire_version``.
    """
    check_spoken(body.wire_version)
    edge = EdgeId(body.edge)
    try:
        if body.invitation:
            await asyncio.to_thread(cloud.credentials.joining.check, edge, body.public_key, body.invitation)
        elif not await asyncio.to_thread(door.opens_to, request):
            raise no_invitation()
        else:
            door.count_stranger(request)  # anybody of this machine may join, and nobody for ever
        await cloud.credentials.authenticator.check_joining(request, public_key=body.public_key)
    except (Unauthenticated, Forbidden):
        door.count_failure(request, account=f"edge {edge}")
        raise
    if body.invitation:
        row = await asyncio.to_thread(cloud.credentials.joining.with_invitation, edge, body.public_key, body.invitation)
    else:
        row = await asyncio.to_thread(cloud.credentials.joining.in_open_mode, edge, body.public_key)
    return _enrolled(cloud, row, speaks=body.wire_version)


@router.get("/{edge}")
async def greet(edge: OwnEdge, cloud: CloudDep, wire_version: int = WIRE_UNSAID, titles: bool = False) -> Enrolled:
    """What the cloud knows of the edge: how an edge that has joined opens its line; 409 ``wire_version`` to one of another release.

    ``titles``: the edge asks whether marks of titles are read; those that were made before there were any cannot read the answer.
    """
    check_spoken(wire_version)
    known = _enrolled(cloud, await asyncio.to_thread(cloud.registry.get, edge), speaks=wire_version)
    return known.model_copy(update={"titles": titles})


@router.post("/{edge}/keys")
async def rotate(edge: OwnEdge, body: Rotation, cloud: CloudDep, request: Request) -> Enrolled:
    """Take a further key; the present one ends after a grace."""
    present = claims_of(received(request)).key_id
    await asyncio.to_thread(cloud.credentials.rotate, edge, body, present=present, grace_s=cloud.settings.rotation_grace_s)
    return _enrolled(cloud, await asyncio.to_thread(cloud.registry.get, edge))


@router.put("/{edge}/ledger")
async def put_head(edge: OwnEdge, body: Head, cloud: CloudDep) -> Countersigned:
    """Countersign where the edge's egress ledger stands; 409 ``ledger_fork`` when it stood elsewhere before."""
    return await asyncio.to_thread(cloud.credentials.heads.countersign, edge, body)


@router.get("/{edge}/ledger")
async def newest_head(edge: OwnEdge, cloud: CloudDep) -> Countersigned:
    """The head that was countersigned last."""
    return await asyncio.to_thread(cloud.credentials.heads.newest, edge)


@router.get("/{edge}/ledger/heads")
async def heads(
    edge: OwnEdge,
    cloud: CloudDep,
    epoch: Annotated[str, Query(max_length=64)] = "",
    after: Annotated[int, Query(ge=0, lt=2**53)] = 0,
) -> Heads:
    """All heads that were countersigned, page by page: after record ``after`` of ``epoch``."""
    return Heads(heads=await asyncio.to_thread(partial(cloud.credentials.heads.page, edge, epoch=epoch, after=after)))


@router.put("/{edge}/summaries")
async def put_summaries(edge: OwnEdge, body: DeltaBody, cloud: CloudDep, request: Request) -> Enrolled:
    """Apply a delta once; 409 ``resync`` asks for a snapshot. Given up when the caller goes."""
    await while_connected(request, cloud.summary_index.accept(edge, body.to_record()))
    return _enrolled(cloud, await asyncio.to_thread(cloud.registry.get, edge))


@router.put("/{edge}/memories")
async def put_memories(edge: OwnEdge, body: MemoryDelta, cloud: CloudDep, request: Request) -> Enrolled:
    """Apply a delta once; 409 ``resync`` asks for a snapshot, and ``conflict`` says that this cloud holds no memories.

    Given up when the caller goes.
    """
    if not cloud.bank.is_on:
        raise Conflict("this cloud holds no memories", next_step="share none, or ask its operator for DGRAG_CLOUD_MEMORY_BANK")
    await while_connected(request, cloud.bank.accept(edge, body))
    return _enrolled(cloud, await asyncio.to_thread(cloud.registry.get, edge))


@router.post("/{edge}/poll")
async def poll(
    edge: OwnEdge,
    cloud: CloudDep,
    request: Request,
    wait_s: Annotated[float, Query(ge=0, le=60)] = 25.0,
    traced: bool = False,
    titled: bool = False,
) -> PollReply:
    """Held until a request for this edge comes, one is withdrawn, or the time is over.

    Given up when the caller goes, or it would take the next request. ``traced``: the edge reads the requests' ``traceparent``, ``titled``:
    their ``titles``; those that were made before there were any refuse them.
    """
    await asyncio.to_thread(cloud.registry.seen, edge)
    held = cloud.mailbox.poll(edge, wait_s=min(wait_s, cloud.settings.max_poll_s))
    requests = await while_connected(request, held)
    if not traced:
        requests = [asked.model_copy(update={"traceparent": ""}) for asked in requests]
    if not titled:
        requests = [asked.model_copy(update={"titles": "", "titles_only": False}) for asked in requests]
    return PollReply(requests=requests, withdrawn=cloud.mailbox.withdrawn(edge))


@replies.post("/{edge}/replies/{request_id}", status_code=204)
async def reply(edge: OwnEdge, request_id: RequestPath, body: EvidenceReply, cloud: CloudDep, request: Request) -> Response:
    """Take an edge's passages; 404 when nobody waits for them."""
    await asyncio.to_thread(cloud.registry.get, edge)
    await cloud.fan_out.deliver(edge, request_id, body, size=len(await request.body()))
    return Response(status_code=204)


def check_spoken(wire_version: int) -> None:
    """Raises WireMismatch for a number that this cloud does not take."""
    if wire_version not in WIRE_TAKEN:
        raise WireMismatch(edge=wire_version, cloud=WIRE_VERSION)


def _enrolled(cloud: Cloud, row: EdgeRow, *, speaks: int = WIRE_VERSION) -> Enrolled:
    """``speaks``: the edge's number, which is what the cloud then speaks with it."""
    return Enrolled(
        edge=row.edge,
        epoch=row.epoch,
        version=row.version,
        memory_epoch=row.memory_epoch,
        memory_version=row.memory_version,
        cloud_key=cloud.credentials.identity.public_key,
        wire_version=speaks,
    )
