"""Questions, their evidence alone, and the matching of summaries alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from functools import partial
from typing import Annotated, Any, Protocol, TypeVar, cast

import orjson
from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.responses import StreamingResponse

from cloud_server.build import Cloud
from cloud_server.routes.access import GuardedRoute
from cloud_server.routes.deps import CloudDep
from shared.admission import Admission
from shared.deadline import Deadline
from shared.disconnect import while_connected
from shared.errors import DeadlinePassed, DgragError, ModelTimeout
from shared.guard import Caller, caller_of
from shared.http_problems import problem, status_of
from shared.records import Answer, EdgeId
from shared.searching import FindLine, Found, SearchBody
from shared.wire import DEADLINE_HEADER, HEARTBEAT_S, NDJSON, AskLine, Match, MatchBody, MatchReply, QuestionBody

router = APIRouter(prefix="/v1", tags=["questions"], route_class=GuardedRoute)
RemainingMs = Annotated[int | None, Header(alias=DEADLINE_HEADER, ge=100, le=3_600_000)]
CallerDep = Annotated[Caller, Depends(caller_of)]
Said = TypeVar("Said", Answer, Found)
Said_co = TypeVar("Said_co", covariant=True)


class Work(Protocol[Said_co]):
    """What the coordinator does for one body."""

    def __call__(self, *, deadline_s: float, asking: EdgeId | None, requester: str) -> Awaitable[Said_co]:
        """Raises ModelTimeout."""


@router.post("/questions", response_model=Answer)
async def ask(
    body: QuestionBody, cloud: CloudDep, caller: CallerDep, request: Request, deadline_ms: RemainingMs = None
) -> Answer | Response:
    """Answer an escalated question within the caller's remaining time; given up when the caller goes.

    With ``Accept: application/x-ndjson`` lines come: a sign of life again and again, and at last the answer or the problem.
    """
    work = _work(cloud, request, caller, partial(cloud.coordinator.answer, body), deadline_ms)
    return await _told(request, work, lambda answer: AskLine(answer=answer))


@router.post("/evidence", response_model=Found)
async def find(body: SearchBody, cloud: CloudDep, caller: CallerDep, request: Request, deadline_ms: RemainingMs = None) -> Found | Response:
    """The passages of all sites that may know, best first, for the asker's own model; deadlines and lines as for a question."""
    work = _work(cloud, request, caller, partial(cloud.coordinator.find, body), deadline_ms)
    return await _told(request, work, lambda found: FindLine(found=found))


@router.post("/match")
async def match(body: MatchBody, cloud: CloudDep) -> MatchReply:
    """The m summaries that a question matches, best first, as when it is answered; with ``min_score`` down to another cosine."""
    found, edges = await cloud.gatherer.matched(body.question, m=body.m, min_score=body.min_score)
    return MatchReply(matches=[Match(edge=one.edge, summary_id=one.summary_id, score=one.score) for one in found], edges=list(edges))


def _work(
    cloud: Cloud, request: Request, caller: Caller, work: Work[Said], deadline_ms: int | None
) -> Callable[[], Coroutine[Any, Any, Said]]:
    """The work in its turn, within the caller's remaining time."""
    admission = cast("Admission", request.app.state.admission)
    limit_s = cloud.settings.answer_deadline_s
    deadline_s = limit_s if deadline_ms is None else min(limit_s, deadline_ms / 1000)
    asking = EdgeId(caller.name) if "edge" in caller.roles else None

    async def working() -> Said:
        requester, deadline = asking or f"operator:{caller.name}", Deadline(deadline_s)
        try:
            async with asyncio.timeout(deadline_s), admission.turn():  # waiting for a turn counts
                said = await work(deadline_s=deadline.left_s(), asking=asking, requester=requester)
        except (TimeoutError, ModelTimeout) as error:
            raise (DeadlinePassed if deadline_s < limit_s else ModelTimeout)(deadline_s=deadline_s) from error
        if asking is not None:  # it may have been expelled meanwhile: then it learns nothing of the others any more
            await asyncio.to_thread(cloud.registry.admit, asking)
        return said

    return working


async def _told(
    request: Request, working: Callable[[], Coroutine[Any, Any, Said]], line_of: Callable[[Said], AskLine | FindLine]
) -> Said | StreamingResponse:
    if NDJSON not in request.headers.get("accept", ""):
        return await while_connected(request, working())
    cast("Admission", request.app.state.admission).check()
    return StreamingResponse(_lines(working, line_of), media_type=NDJSON, headers={"Cache-Control": "no-store"})


async def _lines(working: Callable[[], Coroutine[Any, Any, Said]], line_of: Callable[[Said], AskLine | FindLine]) -> AsyncIterator[bytes]:
    """The lines of one answer. When the reader goes, the work is cancelled."""
    task = asyncio.ensure_future(working())
    try:
        while not task.done():
            yield _line(AskLine())
            await asyncio.wait({task}, timeout=HEARTBEAT_S)
        yield _line(line_of(task.result()))
    except DgragError as error:
        response = problem(status_of(error), error.code, error.message, error.next_step)
        yield _line(AskLine(problem=orjson.loads(response.body)))
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _line(line: AskLine | FindLine) -> bytes:
    return line.model_dump_json(exclude_none=True).encode() + b"\n"
