"""Questions, and the matching of summaries alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Annotated, Any, cast

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
from shared.sentences import questions_in
from shared.wire import DEADLINE_HEADER, HEARTBEAT_S, NDJSON, AskLine, Match, MatchBody, MatchReply, QuestionBody

router = APIRouter(prefix="/v1", tags=["questions"], route_class=GuardedRoute)
RemainingMs = Annotated[int | None, Header(alias=DEADLINE_HEADER, ge=100, le=3_600_000)]
CallerDep = Annotated[Caller, Depends(caller_of)]


@router.post("/questions", response_model=Answer)
async def ask(
    body: QuestionBody, cloud: CloudDep, caller: CallerDep, request: Request, deadline_ms: RemainingMs = None
) -> Answer | Response:
    """Answer an escalated question within the caller's remaining time; given up when the caller goes.

    With ``Accept: application/x-ndjson`` lines come: a sign of life again and again, and at last the answer or the problem.
    """
    admission = cast("Admission", request.app.state.admission)
    limit_s = cloud.settings.answer_deadline_s
    deadline_s = limit_s if deadline_ms is None else min(limit_s, deadline_ms / 1000)

    def answering() -> Coroutine[Any, Any, Answer]:
        return _answer(cloud, admission, body, caller, deadline_s=deadline_s)

    if NDJSON not in request.headers.get("accept", ""):
        return await while_connected(request, answering())
    admission.check()
    return StreamingResponse(_lines(answering), media_type=NDJSON, headers={"Cache-Control": "no-store"})


@router.post("/match")
async def match(body: MatchBody, cloud: CloudDep) -> MatchReply:
    """The m summaries nearest to a question, best first, without a threshold, whoever they belong to."""
    questions = await cloud.models.embedder.embed(questions_in(body.question))
    found = await cloud.catalogue.match(questions, m=body.m, min_cosine=-1.0, slots=body.m)
    return MatchReply(matches=[Match(edge=one.edge, summary_id=one.summary_id, score=one.score) for one in found[: body.m]])


async def _answer(cloud: Cloud, admission: Admission, body: QuestionBody, caller: Caller, *, deadline_s: float) -> Answer:
    asking = EdgeId(caller.name) if "edge" in caller.roles else None
    requester, deadline = asking or f"operator:{caller.name}", Deadline(deadline_s)
    try:
        async with asyncio.timeout(deadline_s), admission.turn():  # waiting for a turn counts
            answer = await cloud.coordinator.answer(body, deadline_s=deadline.left_s(), asking=asking, requester=requester)
    except (TimeoutError, ModelTimeout) as error:
        own = deadline_s < cloud.settings.answer_deadline_s
        raise (DeadlinePassed if own else ModelTimeout)(deadline_s=deadline_s) from error
    if asking is not None:  # it may have been expelled meanwhile: then it learns nothing of the others any more
        await asyncio.to_thread(cloud.registry.admit, asking)
    return answer


async def _lines(answering: Callable[[], Coroutine[Any, Any, Answer]]) -> AsyncIterator[bytes]:
    """The lines of one answer. When the reader goes, the answering is cancelled."""
    task = asyncio.ensure_future(answering())
    try:
        while not task.done():
            yield _line(AskLine())
            await asyncio.wait({task}, timeout=HEARTBEAT_S)
        yield _line(AskLine(answer=task.result()))
    except DgragError as error:
        response = problem(status_of(error), error.code, error.message, error.next_step)
        yield _line(AskLine(problem=orjson.loads(response.body)))
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _line(line: AskLine) -> bytes:
    return line.model_dump_json(exclude_none=True).encode() + b"\n"
