"""Questions, their evidence alone, and the matching of summaries alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Generic, Protocol, TypeVar

import orjson
from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import StreamingResponse

from cloud_server.api.access import CallerDep, CloudDep, GuardedRoute
from cloud_server.build import Cloud
from cloud_server.routing.matching import SummaryMatch
from shared.admission import Admission
from shared.errors import DeadlinePassed, DgragError, ModelTimeout
from shared.evidence import FindLine, Found, SearchBody
from shared.http.access import Caller
from shared.http.middleware import while_connected
from shared.http.problems import problem, status_of
from shared.limits import Deadline
from shared.records import Answer, EdgeId, TraceStep
from shared.wire import DEADLINE_HEADER, HEARTBEAT_S, MAX_EVIDENCE_CHARS, NDJSON, AskLine, Match, MatchBody, MatchReply, QuestionBody

router = APIRouter(prefix="/v1", tags=["questions"], route_class=GuardedRoute)
RemainingMs = Annotated[int | None, Header(alias=DEADLINE_HEADER, ge=100, le=3_600_000)]
Counting = Callable[[], AbstractContextManager[None]]
Said = TypeVar("Said", Answer, Found)
Said_co = TypeVar("Said_co", covariant=True)


class AnswerFunction(Protocol[Said_co]):
    """What is done for one body."""

    def __call__(self, *, deadline_s: float, asking: EdgeId | None, requester: str) -> Awaitable[Said_co]:
        """Raises ModelTimeout."""


@router.post("/questions", response_model=Answer)
async def ask(
    body: QuestionBody, cloud: CloudDep, caller: CallerDep, request: Request, deadline_ms: RemainingMs = None
) -> Answer | Response:
    """Answer a question within the caller's remaining time, from the sites that may know, or with ``mode: global`` from all sites' reports.

    Given up when the caller goes. With ``Accept: application/x-ndjson`` lines come: a sign of life again and again, a global answer's
    sentences as they are written, and at last the answer or the problem.
    """
    heard: list[str] = []
    work: AnswerFunction[Answer] = partial(cloud.coordinator.answer, body)
    limit_s, admission = cloud.settings.answer_deadline_s, request.app.state.admission
    if body.mode == "global":  # takes minutes: it has turns of its own, and leaves the others theirs
        work = partial(cloud.global_coordinator.answer, body, on_text=heard.append)
        limit_s, admission = cloud.settings.global_answer_deadline_s, request.app.state.global_admission
    turn = _turn(cloud, admission, caller, work, deadline_ms, limit_s=limit_s, counting=cloud.meter.counting_failures)
    return await _told(request, turn, lambda answer: AskLine(answer=answer), heard)


@router.post("/evidence", response_model=Found)
async def find(body: SearchBody, cloud: CloudDep, caller: CallerDep, request: Request, deadline_ms: RemainingMs = None) -> Found | Response:
    """The passages of all sites that may know, best first, for the asker's own model; deadlines and lines as for a question."""
    admission, limit_s = request.app.state.search_admission, cloud.settings.answer_deadline_s
    turn = _turn(cloud, admission, caller, partial(cloud.coordinator.find, body), deadline_ms, limit_s=limit_s)
    return await _told(request, turn, lambda found: FindLine(found=found), [])


@router.post("/match")
async def match(body: MatchBody, cloud: CloudDep, caller: CallerDep, request: Request) -> MatchReply:
    """The m summaries that a question matches, best first, as when it is answered; with ``min_score`` down to another cosine.

    Admins see their texts too. Given up when the caller goes.
    """
    found, edges = await while_connected(request, _matched(body, cloud, caller, request))
    shown = "admin" in caller.roles
    texts = await asyncio.to_thread(lambda: [cloud.summaries.text(one.edge, one.summary_id) if shown else "" for one in found])
    matches = [Match(edge=m.edge, summary_id=m.summary_id, score=m.score, text=text) for m, text in zip(found, texts, strict=True)]
    return MatchReply(matches=matches, edges=list(edges))


async def _matched(body: MatchBody, cloud: Cloud, caller: Caller, request: Request) -> tuple[Sequence[SummaryMatch], Sequence[EdgeId]]:
    limit_s = cloud.settings.answer_deadline_s
    try:
        async with asyncio.timeout(limit_s), request.app.state.search_admission.turn(caller.asker):
            return await cloud.collector.matched(body.question, m=body.m, min_score=body.min_score)
    except TimeoutError as error:
        raise ModelTimeout(deadline_s=limit_s) from error


@dataclass(frozen=True, slots=True)
class _Turn(Generic[Said]):
    """Work that waits for its turn."""

    admission: Admission
    asker: str
    run: Callable[[], Coroutine[Any, Any, Said]]
    # raises Expelled, Quarantined for an asker that was shut out, also meanwhile: it learns nothing
    admit: Callable[[], Coroutine[Any, Any, None]]
    counting: Counting  # around whatever may fail, each failure within one of them

    async def counted(self) -> Said:
        """The work, whose failure counts."""
        with self.counting():
            return await self.run()


def _turn(
    cloud: Cloud,
    admission: Admission,
    caller: Caller,
    work: AnswerFunction[Said],
    deadline_ms: int | None,
    *,
    limit_s: float,
    counting: Counting = nullcontext,
) -> _Turn[Said]:
    """The work in its turn, within the caller's remaining time. The wait is the first step of an answer's trace."""
    deadline_s = limit_s if deadline_ms is None else min(limit_s, deadline_ms / 1000)
    asking = EdgeId(caller.name) if "edge" in caller.roles else None

    async def admit() -> None:
        if asking is not None:
            await asyncio.to_thread(cloud.registry.admit_asking, asking)

    async def run() -> Said:
        await admit()
        requester, deadline = asking or f"operator:{caller.name}", Deadline(deadline_s)
        try:
            async with asyncio.timeout(deadline_s), admission.turn(caller.asker):  # waiting for a turn counts
                wait = TraceStep("wait", round((deadline_s - deadline.left_s()) * 1000, 2))
                said: Said = await work(deadline_s=deadline.left_s(), asking=asking, requester=requester)
        except (TimeoutError, ModelTimeout) as error:
            raise (DeadlinePassed if deadline_s < limit_s else ModelTimeout)(deadline_s=deadline_s) from error
        await admit()
        cloud.meter.fanned_out(said.edges)
        if isinstance(said, Answer):
            answer = replace(said, trace=(wait, *said.trace))
            cloud.meter.answered(answer, deadline_s - deadline.left_s(), at_cloud=True)
            return answer
        return said

    return _Turn(admission, caller.asker, run, admit, counting)


async def _told(
    request: Request, turn: _Turn[Said], line_of: Callable[[Said], AskLine | FindLine], heard: list[str]
) -> Said | StreamingResponse:
    if NDJSON not in request.headers.get("accept", ""):
        return await while_connected(request, turn.counted())
    with turn.counting():
        turn.admission.check(turn.asker)
    return StreamingResponse(_lines(turn, line_of, heard), media_type=NDJSON)


async def _lines(turn: _Turn[Said], line_of: Callable[[Said], AskLine | FindLine], heard: list[str]) -> AsyncIterator[bytes]:
    """The lines of one answer; what the work adds to ``heard`` leaves with the next sign of life. When the reader goes, it is cancelled."""
    task = asyncio.ensure_future(turn.run())
    try:
        with turn.counting():
            while not task.done():
                yield _line(AskLine())
                await asyncio.wait({task}, timeout=HEARTBEAT_S)
                if heard:
                    await turn.admit()
                while heard:
                    yield _line(AskLine(text=heard.pop(0)[:MAX_EVIDENCE_CHARS]))
            yield _line(line_of(task.result()))
    except DgragError as error:
        response = problem(status_of(error), error.code, error.message, error.next_step)
        yield _line(AskLine(problem=orjson.loads(response.body)))
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _line(line: AskLine | FindLine) -> bytes:
    return line.model_dump_json(exclude_none=True).encode() + b"\n"
