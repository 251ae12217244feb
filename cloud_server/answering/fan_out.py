"""Ask the chosen edges at once, under one deadline; who failed is part of the result (reliability goal R6)."""

from __future__ import annotations

import asyncio
import contextlib
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pydantic import BaseModel

from cloud_server.answering.mailbox import Mailbox, already_answered
from cloud_server.answering.patience import SLOWER, Patience
from shared.errors import Conflict, NotFound, StoreError
from shared.ports import Clock
from shared.records import (
    BROKEN,
    BUSY,
    OUT_OF_TIME,
    SOME_SUMMARIES_ONLY,
    ChunkId,
    DocumentId,
    EdgeId,
    EdgeReport,
    EdgeStatus,
    Evidence,
    Level,
    TraceStep,
)
from shared.telemetry import correlation
from shared.text.fence import one_line
from shared.text.inert import inert
from shared.wire import EvidenceBody, EvidenceReply, EvidenceRequest, Task

UNABLE: Mapping[str, EdgeStatus] = {BUSY: "late", OUT_OF_TIME: "late", BROKEN: "failed"}  # by what an edge says of itself
WAY_BACK = 0.1  # share of the deadline that the edge must leave for its reply to arrive
UNSCORED = 0.0  # until the cloud has compared a passage itself
MAX_REASON_CHARS, MAX_STEP_CHARS, MOST_STEPS = 300, 64, 16  # of what an edge says of itself: operators and other sites read it


@dataclass(frozen=True, slots=True)
class FanOutRequest:
    """What is asked of every edge alike, but for the memories that each has told of."""

    question: str
    budget_tokens: int
    requester: str = ""  # an edge, or "operator:<key name>": the cloud knows who asks
    purpose: str | None = None  # as the requester states it
    whole: bool = False  # whole passages; False: their best sentences
    task: Task = "evidence"  # "reports": points for a global answer (GraphRAG §2.6)
    level: Level = "dynamic"  # of the reports
    max_bytes: int = 250_000  # of the reply: the most that the wire allows
    memories: Mapping[EdgeId, Sequence[str]] = field(default_factory=dict)  # that edges told of: their passages may answer
    memories_only: bool = False  # and nothing else is wanted
    titles: Mapping[EdgeId, bytes] = field(default_factory=dict)  # marks, of documents of an edge that were named
    titles_only: Collection[EdgeId] = ()  # edges of which nothing else is wanted


@dataclass(frozen=True, slots=True)
class FanOutResult:
    """What came back: passages by edge, and a report for every edge that was asked, in the order of asking."""

    evidence: dict[EdgeId, tuple[Evidence, ...]]
    reports: tuple[EdgeReport, ...]
    transfers: tuple[TraceStep, ...]  # what crossed the link, a step for each edge that was online
    steps: tuple[TraceStep, ...]  # what the edges did, each step under its edge's name
    unread: dict[EdgeId, int] = field(default_factory=dict)  # reports that an edge chose for a global answer and did not read, where some
    without_model: frozenset[EdgeId] = frozenset()  # edges whose points no model has written
    outpaced: frozenset[EdgeId] = frozenset()  # edges that were left out because the others had answered long before

    @property
    def bytes_out(self) -> int:
        """Of all requests."""
        return sum(step.bytes_out for step in self.transfers)

    @property
    def bytes_in(self) -> int:
        """Of all replies."""
        return sum(step.bytes_in for step in self.transfers)

    @property
    def missing(self) -> tuple[EdgeReport, ...]:
        """The edges that gave no answer."""
        return tuple(report for report in self.reports if report.status != "answered")


@dataclass(frozen=True, slots=True)
class _Arrived:
    reply: EvidenceReply
    bytes: int
    at: float  # monotonic seconds


class _Forwarded(BaseModel):
    """A reply on its way from the cloud that took it to the one that asked."""

    reply: EvidenceReply | None = None
    bytes: int = 0
    reason: str = ""  # why it cannot be used; then there is no reply


@dataclass(frozen=True, slots=True)
class _Asked:
    edge: EdgeId
    request: EvidenceRequest
    arrival: asyncio.Future[_Arrived | str]  # words: why nothing came or will come


class FanOut:
    """Sends evidence requests through the mailbox and pairs the replies. All methods belong to the event loop's thread."""

    def __init__(self, mailbox: Mailbox, clock: Clock, new_id: Callable[[], str], patience: Patience | None = None) -> None:
        self._mailbox = mailbox
        self._clock = clock
        self._new_id = new_id
        self._pending: dict[str, _Asked] = {}
        self._patience = patience or Patience()
        mailbox.serve(self)

    async def ask(
        self,
        edges: Sequence[EdgeId],
        wanted: FanOutRequest,
        *,
        deadline_s: float,
        straggler_s: float | None = None,
        earlier: Sequence[EdgeReport] = (),
    ) -> FanOutResult:
        """Ask ``edges`` for passages or points; returns when all have answered, and after ``deadline_s`` at the latest.

        With ``straggler_s`` half of the edges are enough, as ``Patience`` says; those of ``earlier`` rounds count.
        A late, offline, refusing or expelled edge is a value in the reports. What has no reply by then, or when the caller is cancelled,
        is withdrawn.
        """
        started = self._clock.monotonic()
        asked = [self._addressed(edge, wanted, deadline_s) for edge in edges]
        posting = [asyncio.create_task(self._post(item)) for item in asked]
        try:
            everything: list[asyncio.Future[Any]] = [*posting, *(item.arrival for item in asked)]
            is_cut = await self._wait(everything, asked, deadline_s, straggler_s or deadline_s, earlier)
        finally:
            for item, post in zip(asked, posting, strict=True):
                self._pending.pop(item.request.request_id)
                post.add_done_callback(partial(self._end, item))
        ended = self._clock.monotonic()
        why_late = f"no reply within {deadline_s:.3g} s" if not is_cut else "no reply long after others had answered"
        outcomes = [_outcome(item, why_late, started=started, ended=ended) for item in asked]
        replies = {item.edge: arrived.reply for item in asked if item.request.task == "reports" and (arrived := _arrived(item))}
        self._remember(asked, started=started, ended=ended)
        outpaced = frozenset(item.edge for item in asked if not item.arrival.done()) if is_cut else frozenset[EdgeId]()
        return FanOutResult(
            evidence={report.edge: passages for report, passages in outcomes if passages},
            reports=tuple(report for report, _ in outcomes),
            transfers=tuple(
                _transfer(item, report) for item, (report, _) in zip(asked, outcomes, strict=True) if report.status != "offline"
            ),
            steps=tuple(step for item in asked for step in _steps(item)),
            unread={edge: reply.unread for edge, reply in replies.items() if reply.unread},
            without_model=frozenset(edge for edge, reply in replies.items() if reply.without_model),
            outpaced=outpaced,
        )

    def reaches(self, edge: EdgeId) -> bool:
        """Whether an edge holds a poll, or did a moment ago."""
        return self._mailbox.online(edge)

    async def deliver(self, edge: EdgeId, request_id: str, reply: EvidenceReply, *, size: int) -> None:
        """Take an edge's reply of ``size`` bytes, which the door has bounded; whichever cloud asked gets it.

        Raises Conflict for a second reply; NotFound for a request that does not exist, is over, or was sent to another edge
        (one answer for all three: an edge learns nothing about others).
        """
        if not self._took(edge, request_id, _Arrived(reply, size, self._clock.monotonic())):
            await self._mailbox.forward(edge, request_id, _Forwarded(reply=reply, bytes=size).model_dump_json().encode())

    async def spoil(self, edge: EdgeId, request_id: str, reason: str) -> None:
        """An edge has replied with what cannot be used: nobody waits for it any longer. An unknown request is ignored."""
        with contextlib.suppress(NotFound, Conflict, StoreError):
            if not self._took(edge, request_id, reason):
                await self._mailbox.forward(edge, request_id, _Forwarded(reason=reason).model_dump_json().encode())

    def arrived(self, edge: EdgeId, request_id: str, reply: bytes) -> None:
        """Another cloud took this reply, or what cannot be used; ignored where nobody waits for it."""
        came = _Forwarded.model_validate_json(reply)
        outcome = _Arrived(came.reply, came.bytes, self._clock.monotonic()) if came.reply else came.reason
        self._resolve(edge, request_id, outcome)

    def lost(self, edge: EdgeId, request_id: str, reason: str) -> None:
        """Wait no longer for this reply."""
        self._resolve(edge, request_id, reason)

    def give_up(self, edge: EdgeId) -> None:
        """Wait no longer for an edge: it was expelled."""
        self._patience.forget(edge)
        for asked in self._pending.values():
            if asked.edge == edge and not asked.arrival.done():
                asked.arrival.set_result("the edge was expelled meanwhile")

    def _took(self, edge: EdgeId, request_id: str, outcome: _Arrived | str) -> bool:
        """Whether this cloud waits for that reply, and now has it. Raises Conflict for a second one."""
        asked = self._pending.get(request_id)
        if asked is None or asked.edge != edge:
            return False
        if asked.arrival.done():
            raise already_answered(request_id)
        asked.arrival.set_result(outcome)
        self._mailbox.answered(request_id)
        return True

    def _resolve(self, edge: EdgeId, request_id: str, outcome: _Arrived | str) -> None:
        asked = self._pending.get(request_id)
        if asked is not None and asked.edge == edge and not asked.arrival.done():
            asked.arrival.set_result(outcome)

    async def _wait(
        self,
        everything: Sequence[asyncio.Future[Any]],
        asked: Sequence[_Asked],
        deadline_s: float,
        straggler_s: float,
        earlier: Sequence[EdgeReport],
    ) -> bool:
        """Until all is done, or no longer worth waiting for; True: though the deadline is not over."""
        pending, began = set(everything), self._clock.monotonic()
        heard = [report for report in earlier if report.status in ("answered", "late")]
        before_s = {report.edge: report.ms / 1000 if report.status == "answered" else None for report in heard}
        while pending:
            patience_s = self._patience_s(asked, before_s, began=began, straggler_s=straggler_s)
            left_s = began + min(patience_s or deadline_s, deadline_s) - self._clock.monotonic()
            if left_s <= 0:
                return patience_s is not None and patience_s < deadline_s
            _, pending = await asyncio.wait(pending, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
        return False

    def _patience_s(
        self, asked: Sequence[_Asked], before_s: Mapping[EdgeId, float | None], *, began: float, straggler_s: float
    ) -> float | None:
        """As ``Patience.limit_s``; points for a global answer take as long as there are reports, so there half of the edges decide.

        ``before_s``: what edges took in earlier rounds; None: they were late. Of the pace of others who refuses, fails
        or is away says nothing.
        """
        pending = {item.edge for item in asked if not item.arrival.done()}
        now_s = {item.edge: arrived.at - began for item in asked if (arrived := _arrived(item)) and _has_looked(arrived.reply)}
        there = {**before_s, **now_s}
        others_s = [seconds for edge, seconds in there.items() if seconds is not None and edge not in pending]
        among = len(there.keys() | pending)
        if 2 * len(others_s) < among:  # then by what those took before who are asked again
            others_s = [seconds for seconds in there.values() if seconds is not None]
        if asked[0].request.task == "reports":
            return max(straggler_s, SLOWER * max(others_s)) if others_s and 2 * len(others_s) >= among else None
        is_later = bool(before_s)
        return self._patience.limit_s(pending, others_s, among=among, straggler_s=straggler_s, is_later=is_later)

    def _remember(self, asked: Sequence[_Asked], *, started: float, ended: float) -> None:
        """What each edge took for passages; who failed or is offline says nothing of its pace."""
        for item in asked:
            if item.request.task == "reports" or item.request.memories_only:
                continue
            if (arrived := _arrived(item)) and _has_looked(arrived.reply):
                self._patience.note(item.edge, arrived.at - started)
            elif not item.arrival.done():
                self._patience.note(item.edge, ended - started)

    def _end(self, asked: _Asked, _: asyncio.Task[None]) -> None:
        """The request was posted, or could not be: nobody waits for it now."""
        if asked.arrival.done():
            self._mailbox.settle(asked.request.request_id)
        else:
            self._mailbox.withdraw(asked.edge, asked.request.request_id)

    def _addressed(self, edge: EdgeId, wanted: FanOutRequest, deadline_s: float) -> _Asked:
        request = EvidenceRequest(
            request_id=self._new_id(),
            question=wanted.question,
            requester=wanted.requester,
            purpose=wanted.purpose,
            budget_tokens=wanted.budget_tokens,
            whole=wanted.whole,
            deadline_ms=int(deadline_s * (1 - WAY_BACK) * 1000),
            task=wanted.task,
            level=wanted.level,
            max_bytes=wanted.max_bytes,
            memories=list(wanted.memories.get(edge, ())),
            memories_only=wanted.memories_only,
            titles=b64encode(wanted.titles.get(edge, b"")).decode(),
            titles_only=edge in wanted.titles_only,
            traceparent=correlation.traceparent(),
        )
        asked = _Asked(edge, request, asyncio.get_running_loop().create_future())
        self._pending[request.request_id] = asked
        return asked

    async def _post(self, asked: _Asked) -> None:
        """Hand the request over; that it could not be is its outcome."""
        try:
            is_posted = await self._mailbox.post(asked.edge, asked.request)
        except StoreError as error:
            self._resolve(asked.edge, asked.request.request_id, error.message)
            return
        if not is_posted and not asked.arrival.done():
            asked.arrival.cancel()


def of_each(reports: Iterable[EdgeReport]) -> tuple[EdgeReport, ...]:
    """One report for each edge, of all rounds. Only who answered is asked again, so the last one says what became of it."""
    told = dict[EdgeId, EdgeReport]()
    for one in reports:
        if before := told.get(one.edge):
            one = replace(one, ms=before.ms + one.ms, bytes=before.bytes + one.bytes, evidence=before.evidence + one.evidence)
        told[one.edge] = one
    return tuple(told.values())


def _outcome(asked: _Asked, why_late: str, *, started: float, ended: float) -> tuple[EdgeReport, tuple[Evidence, ...]]:
    task = asked.request.task
    if asked.arrival.cancelled():
        return EdgeReport(asked.edge, task, "offline", 0.0, 0, 0, "the edge holds no poll"), ()
    if not asked.arrival.done():
        return EdgeReport(asked.edge, task, "late", _ms(ended - started), 0, 0, why_late), ()
    arrived = asked.arrival.result()
    if isinstance(arrived, str):
        return EdgeReport(asked.edge, task, "failed", _ms(ended - started), 0, 0, arrived), ()
    ms, reply = _ms(arrived.at - started), arrived.reply
    if reply.refused and _has_looked(reply):
        return EdgeReport(asked.edge, task, "answered", ms, arrived.bytes, 0, reply.refused), ()
    if reply.refused:
        status = UNABLE.get(reply.refused, "refused")
        return EdgeReport(asked.edge, task, status, ms, arrived.bytes, 0, _said(reply.refused, MAX_REASON_CHARS)), ()
    passages = tuple(_passage(asked.edge, body) for body in reply.evidence if _is_of(body, task))
    report = EdgeReport(asked.edge, task, "answered", ms, arrived.bytes, len(passages))
    if task == "reports":
        read = min(reply.reports, reply.reports_there)
        report = replace(report, reports=read, reports_there=reply.reports_there, reason=_shortfall(reply))
    return report, passages


def _has_looked(reply: EvidenceReply) -> bool:
    """Whether the edge has searched: where some of its passages may not leave, it says so when it found nothing among the others."""
    return reply.refused in ("", SOME_SUMMARIES_ONLY)


def _is_of(body: EvidenceBody, task: Task) -> bool:
    """Whether it is what was asked for: a point is of a report, a passage of none."""
    return bool(body.report) if task == "reports" else not (body.report or body.point)


def _passage(edge: EdgeId, body: EvidenceBody) -> Evidence:
    ids = DocumentId(body.document_id), body.document, ChunkId(body.chunk_id)
    more = tuple(ChunkId(chunk_id) for chunk_id in body.chunk_ids)
    return Evidence(edge, *ids, body.span, body.text, UNSCORED, body.quotable, body.title, body.point, body.report, more)


def _transfer(asked: _Asked, report: EdgeReport) -> TraceStep:
    sent = len(asked.request.model_dump_json().encode())
    return TraceStep(f"{asked.edge}: transfer", report.ms, bytes_out=sent, bytes_in=report.bytes)


def _steps(asked: _Asked) -> list[TraceStep]:
    arrived = _arrived(asked)
    steps = arrived.reply.trace[:MOST_STEPS] if arrived else ()
    return [replace(step, step=f"{asked.edge}: {_said(step.step, MAX_STEP_CHARS)}") for step in steps]


def _arrived(asked: _Asked) -> _Arrived | None:
    arrived = asked.arrival.result() if asked.arrival.done() and not asked.arrival.cancelled() else ""
    return None if isinstance(arrived, str) else arrived


def _shortfall(reply: EvidenceReply) -> str:
    """What an edge that answered has not done for a global answer; empty when nothing."""
    return ", ".join([*([f"{reply.unread} unread"] if reply.unread else []), *(["without a model"] if reply.without_model else [])])


def _said(text: str, most_chars: int) -> str:
    return inert(one_line(text)[:most_chars])


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 2)
