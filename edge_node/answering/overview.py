"""READ PATH of a question about everything: reports -> points -> one answer, here or through the cloud at every site (GraphRAG §2.6)."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import accumulate
from typing import Protocol

from edge_node.answering.counting import MOST_TOLD, counted, kinds_wanted
from edge_node.answering.follow_up import Exchange
from edge_node.answering.mapping import Mapper
from edge_node.answering.picking import CONTRAST, SentencePicker, is_about_all
from edge_node.answering.points import KeyPoint, in_turn, masked, notes_of, packed, pointed, shuffled
from edge_node.answering.released import ReleasedPassages
from edge_node.cloud.client import CloudClient
from edge_node.communities.reports import Report
from edge_node.communities.selection import ReportQuery
from edge_node.communities.service import CommunityReports
from edge_node.egress.sharing import SPENT, STAYS, OutgoingQuestion, ReportCoverage, Requester, Served, Sharing
from edge_node.graph.tools import Tools
from edge_node.policy.redaction import NOTHING_MASKED, Redactor
from edge_node.policy.rules import EscalationMode
from edge_node.records import Filters
from edge_node.settings import GlobalSettings
from shared.errors import CloudError, Conflict, ModelError, Withheld
from shared.joining import Joiner
from shared.limits import Deadline
from shared.missing import passages_of
from shared.ports import FloatArray, embed_questions
from shared.records import DENIED, Answer, Chunk, ChunkId, Evidence, Level, TraceStep, is_withheld
from shared.reduce import OnText, ReducedAnswer, Reducer, coverage_alone, fitting, ignore_text, left_out, ordered, spoken
from shared.telemetry.trace import Trace
from shared.text.no_answer import no_answer
from shared.wire import EvidenceRequest, SharedLevel

log = logging.getLogger("dgrag.edge.answer")
FLOOR = 0.5  # of the best relevance, that a report needs to be read, or descended into
NEARNESS = 0.2  # of the nearest report; below, reports of what is most told of come first
MAP_SHARE = 0.75  # of the time that is left; the reduce step has the rest
LAST_SHARE = 0.9  # … for what no other call follows: the answer is still to be put together, or written without a model
OTHERS_SHARE = 3  # for another site's question one in so many sentences is judged: many sites answer it
CHOOSE = "choose"  # the step
MAX_COMPARED = 256  # findings that are compared with the question where no model reads them
UNREAD = "there was no time to read reports, or the model tells no probabilities"
NO_REPORTS = "it makes no reports"
UNSUPPORTED = "the points are not joined: no sentence that the model wrote rests on a point"


@dataclass(frozen=True, slots=True)
class GlobalAsk:
    """A question about everything, as the client put it."""

    question: str
    level: Level | None = None  # of the reports; None: the setting
    escalation: EscalationMode | None = None  # may the question leave; None: as the sharing policy says
    purpose: str = ""  # what the answer is for, as other sites' policies know it
    earlier: tuple[Exchange, ...] = ()  # the conversation so far
    labels: frozenset[str] | None = None  # of the documents that the asker may read; None: all
    filters: Filters | None = None  # of the documents that it is about; with them the question stays here
    asker: str = ""  # with whom turns are shared, as ``Caller.asker``


class ServePoints(Protocol):
    """``Sharing.served`` or ``Sharing.tried``."""

    def __call__(
        self, requester: Requester, found: Sequence[Evidence], trace: Sequence[TraceStep], *, reports: ReportCoverage, most_bytes: int
    ) -> Served:
        """What may leave of the points."""


@dataclass(frozen=True, slots=True)
class _Found:
    """Points, best first. ``failed``: why no model has read the reports; empty: one has."""

    points: list[Evidence]
    read: int
    chosen: int
    there: int
    failed: str = ""
    unsupported: int = 0  # sentences that a model wrote about reports, and no passage of theirs says

    @property
    def reason(self) -> str:
        """What is missing, in words."""
        unread = f"{self.chosen - self.read} of {self.chosen} reports were not read in time or without failure"
        left_out = f"sentences about reports left out, as no passage supports them: {self.unsupported}"
        said = self.failed, unread if self.read < self.chosen else "", left_out if self.unsupported else ""
        return "; ".join(filter(None, said))

    @property
    def reading(self) -> ReportCoverage:
        """The same for another site."""
        return ReportCoverage(self.read, self.there, self.chosen - self.read, without_model=bool(self.failed))


@dataclass(frozen=True, slots=True)
class _Alone:
    """Why this site answers by itself. ``degraded``: it should not have been so."""

    reason: str = ""
    degraded: bool = False
    would_ask: str = ""


class GlobalAnswerer:
    """Answers questions about everything, its own clients' and, with points, other sites'."""

    def __init__(
        self,
        tools: Tools,
        sharing: Sharing,
        reports: CommunityReports,
        mapper: Mapper,
        reducer: Reducer | Joiner,
        cloud: CloudClient | None,
        settings: GlobalSettings,
        released: ReleasedPassages,
        picker: SentencePicker | None = None,
    ) -> None:
        """``picker``: picks sentences of reports; None: the mapper writes about them."""
        self._tools = tools
        self._sharing = sharing
        self._reports = reports
        self._mapper = mapper
        self._reducer = reducer
        self._cloud = cloud
        self.settings = settings
        self._released = released
        self._picker = picker

    # ------------------------------------------------------------ for this site's clients

    async def answer(self, ask: GlobalAsk, trace: Trace, deadline: Deadline, on_text: OnText = ignore_text) -> Answer:
        """Answer through the cloud from all sites that may tell, or from here alone, by a deadline that began when the question came.

        ``on_text`` gets the sentences as they are written; what was heard is void where the answer that is returned is another one, as when
        the model fails on the way. The steps divide what is left of the deadline; the caller ends what takes longer all the same.
        Raises Conflict where the edge keeps no reports.
        """
        alone, query_id, level = _Alone(), secrets.token_hex(8), self._level(ask)
        if ask.filters is not None and self._cloud is not None:
            alone = _Alone(STAYS)
        elif self._cloud is not None and level != "text":  # a yardstick for reports, and of this site's own passages only
            departing = await asyncio.to_thread(self._sharing.departing, ask.question, ask.escalation)
            if departing.escalation == "yes":
                try:
                    found = await self._escalate(self._cloud, ask, level, departing, query_id, trace, deadline, on_text)
                    return found if found.answered else await self._with_own(found, ask, query_id, trace, deadline, on_text)
                except CloudError as error:
                    log.warning("answered alone: %s", error.message)
                    on_text("")  # it may have died in the middle of its answer
                    alone = _Alone(error.message, degraded=not isinstance(error, Withheld))
            elif departing.escalation == "ask":
                alone = _Alone(would_ask=departing.text)
        return await self._answer_alone(ask, alone, query_id, trace, deadline, on_text)

    async def _escalate(
        self,
        cloud: CloudClient,
        ask: GlobalAsk,
        level: SharedLevel,
        departing: OutgoingQuestion,
        query_id: str,
        trace: Trace,
        deadline: Deadline,
        on_text: OnText,
    ) -> Answer:
        """Ask the cloud; this site's own reports come in through its poll, like anybody's. Raises CloudError."""
        with trace.step("cloud") as step, self._sharing.asking_for(ask.labels):
            found, sent, received = await cloud.ask(
                departing.text,
                query_id=query_id,
                purpose=ask.purpose,
                rule=departing.rule,
                deadline_s=LAST_SHARE * deadline.left_s(),
                level=level,
                on_text=on_text,
            )
            step.transfer(sent=sent, received=received)
        trace.extend(tuple(replace(step, step=f"cloud: {step.step}") for step in found.trace))
        return replace(found, query_id=query_id, own_passages=passages_of(self._tools.edge, found.edges), trace=trace.steps())

    async def _with_own(self, found: Answer, ask: GlobalAsk, query_id: str, trace: Trace, deadline: Deadline, on_text: OnText) -> Answer:
        """What this site's documents answer where no site did, if some of them had to stay here; else what the cloud said."""
        withheld = await asyncio.to_thread(self._sharing.withheld, Requester(self._tools.edge, ask.purpose or None))
        if withheld is not None and not withheld:
            return found
        on_text("")
        own = await self._answer_alone(
            ask, _Alone(f"no site told what answers this ({found.coverage})"), query_id, trace, deadline, on_text
        )
        return own if own.answered else replace(found, trace=trace.steps())

    async def _answer_alone(
        self, ask: GlobalAsk, alone: _Alone, query_id: str, trace: Trace, deadline: Deadline, on_text: OnText
    ) -> Answer:
        reading = Deadline(MAP_SHARE * deadline.left_s())
        withheld = await asyncio.to_thread(self._sharing.beyond, ask.labels, ask.filters)
        found = await self._find(ask.question, self._level(ask), withheld, trace, reading)
        if ask.filters is not None:  # documents may have come meanwhile
            withheld = await asyncio.to_thread(self._sharing.beyond, ask.labels, ask.filters)
            found = replace(found, points=[one for one in found.points if not _tells_of(one, withheld)])
        told, unjoined = await self._told(ask.question, found, trace, deadline, on_text)
        return Answer(
            query_id,
            told.text or no_answer("not_here", ask.question),
            told.citations,
            "global",
            partial=found.read < found.chosen,
            degraded=alone.degraded or bool(found.failed) or unjoined not in ("", UNSUPPORTED),
            reason="; ".join(filter(None, (alone.reason, found.reason, unjoined, left_out(told.left_out)))),
            answered=bool(told.text),
            coverage=coverage_alone(read=found.read, there=found.there),
            would_ask=alone.would_ask,
            trace=trace.steps(),
        )

    async def _told(self, question: str, found: _Found, trace: Trace, deadline: Deadline, on_text: OnText) -> tuple[ReducedAnswer, str]:
        """The answer that the points make, and why no model has written it although there are several."""
        points = (
            fitting(found.points, limit_tokens=self.settings.global_reduce_tokens, count=self._tools.tokenizer.count) or found.points[:1]
        )
        if found.failed or len(points) < 2:
            return spoken(points, most=self.settings.report_findings), ""
        try:
            told = await self._reducer.reduce(question, points, trace, deadline_s=LAST_SHARE * deadline.left_s(), on_text=on_text)
        except ModelError as error:
            return spoken(points, most=self.settings.report_findings), f"the points are not joined: {error.message}"
        return (told, "") if told else (spoken(points, most=self.settings.report_findings), UNSUPPORTED)

    def _level(self, ask: GlobalAsk) -> Level:
        return self.settings.global_level if ask.level is None else ask.level

    # ------------------------------------------------------------ for other sites, through the cloud

    async def points(self, request: EvidenceRequest) -> Served:
        """What this site's reports say to another site's question; the policy lets some of it leave."""
        return await self._points(request, self._sharing.served)

    async def tried_points(self, request: EvidenceRequest) -> Served:
        """What ``points`` would give, for this site's own eyes: no meter counts it."""
        return await self._points(request, self._sharing.tried)

    async def _points(self, request: EvidenceRequest, serve: ServePoints) -> Served:
        sharing, trace, requester = self._sharing, Trace(), Requester(request.requester, request.purpose)
        withheld = await asyncio.to_thread(sharing.withheld, requester)
        if withheld is None:
            return await asyncio.to_thread(sharing.nothing_granted, requester)
        if await asyncio.to_thread(sharing.is_spent, requester):  # before the model works for it
            return await asyncio.to_thread(sharing.refused, SPENT)
        reading = Deadline(LAST_SHARE * request.deadline_ms / 1000)
        redactor = await asyncio.to_thread(sharing.redactor_now)
        try:
            found = await self._find(request.question, request.level, withheld, trace, reading, redactor, for_others=True)
        except Conflict:
            return await asyncio.to_thread(sharing.refused, NO_REPORTS)
        now = await asyncio.to_thread(sharing.withheld, requester)
        if now is None or not now <= withheld:  # a model has read them by now
            return await asyncio.to_thread(sharing.refused, f"{DENIED}: it has changed meanwhile")
        steps = _outward(trace.steps())
        return await asyncio.to_thread(lambda: serve(requester, found.points, steps, reports=found.reading, most_bytes=request.max_bytes))

    # ------------------------------------------------------------ for both

    async def _find(
        self,
        question: str,
        level: Level,
        withheld: frozenset[str],
        trace: Trace,
        deadline: Deadline,
        redactor: Redactor = NOTHING_MASKED,
        *,
        for_others: bool = False,
    ) -> _Found:
        """The points that the chosen reports make. What ``redactor`` masks is masked before reports are chosen, read and quoted."""
        settings = self.settings
        with trace.step(CHOOSE):
            vector = (await embed_questions(self._tools.embedder, [question]))[0]
            scores = None if redactor.idle else self._released.scores
            if scores is not None:
                await self._released.renew(redactor)
            asked = ReportQuery(vector, level, settings.tokens_to_read(level), FLOOR, withheld, NEARNESS, scores)
            chosen = await self._reports.choose(asked)
            counts = await self._counted(question, asked, redactor)
        if counts and is_about_all(question):
            return _Found(counts, len(chosen.reports), len(chosen.reports), chosen.there)
        reports = [masked(report, redactor.mask) for report in chosen.reports]
        (said, read, failure), failed = await self._read(question, reports, trace, deadline, level, for_others=for_others), ""
        if not read and reports:
            failed = failure.message if failure else UNREAD
            compared = _compared(reports)
            said, read = await self._nearest(vector, compared), len(compared)
        pointed = await asyncio.to_thread(self._pointed, said, redactor)
        points = ordered(await self._mapper.grounded(pointed, trace, deadline))
        most = (
            settings.report_findings if failed else None
        )  # many sentences that nobody chose would outweigh the few that a model wrote elsewhere
        return _Found([*counts, *points[:most]], read, len(reports), chosen.there, failed, 0 if failed else len(said) - len(pointed))

    async def _read(
        self, question: str, reports: Sequence[Report], trace: Trace, deadline: Deadline, level: Level, *, for_others: bool
    ) -> tuple[tuple[KeyPoint, ...], int, ModelError | None]:
        """What a model picks from the reports, or writes about them; how many it has read, and the last call that failed, if one did."""
        if self._picker is not None and level != "text":
            most = self.settings.global_probes
            picked = await self._picker.pick(question, reports, trace, deadline, most=most // OTHERS_SHARE if for_others else most)
            return picked.points, len(reports) if picked.judged else 0, picked.failure
        settings, count = self.settings, self._tools.tokenizer.count
        packs = packed(shuffled(reports, seed=settings.seed, question=question), limit_tokens=settings.global_context_tokens, count=count)
        mapped = await self._mapper.map(question, packs, trace, deadline)
        return mapped.said, sum(map(len, mapped.read)), mapped.failure

    async def _nearest(self, vector: FloatArray, reports: Sequence[Report]) -> tuple[KeyPoint, ...]:
        """Findings as points, with their cosines as scores: what can be said without a model."""
        notes = notes_of(reports)
        vectors = await self._tools.embedder.embed([note.finding.text for note in notes])
        cosines = (vectors @ vector).tolist()
        if max(cosines, default=0.0) < NEARNESS:  # they tell nothing apart: the first of each report, then the second of each
            return tuple(KeyPoint(note, note.finding.text, 0.0) for note in in_turn(reports))
        return tuple(KeyPoint(note, note.finding.text, round(max(0.0, cosine), 2)) for note, cosine in zip(notes, cosines, strict=True))

    async def _counted(self, question: str, asked: ReportQuery, redactor: Redactor) -> list[Evidence]:
        """How often names are told of, where the question wants to know that."""
        kinds = kinds_wanted(question) if self._picker is not None and asked.level != "text" else frozenset()
        if not kinds:
            return []
        named, of = await self._reports.named(asked, kinds, most=MOST_TOLD, near=not is_about_all(question))
        chunks = await asyncio.to_thread(self._chunks, {chunk_id for one in named for chunk_id in one.chunk_ids}, redactor)
        return await asyncio.to_thread(counted, named, of, chunks, self._tools.edge, redactor.mask)

    def _chunks(self, chunk_ids: Collection[ChunkId], redactor: Redactor) -> dict[str, tuple[Chunk, str, str]]:
        """Chunks with name and title of their document, as they may be told."""
        chunks = self._tools.documents.chunks(sorted(chunk_ids))
        if redactor.idle:
            return chunks
        passages = self._released.masked(list(chunks), redactor)
        return {key: (replace(chunks[key][0], text=one.item.text), *chunks[key][1:]) for key, one in passages.items()}

    def _pointed(self, said: Sequence[KeyPoint], redactor: Redactor) -> list[Evidence]:
        chunks = self._chunks({chunk_id for one in said for chunk_id in one.note.finding.chunk_ids}, redactor)
        points = (pointed(one, chunks, self._tools.edge) for one in said)
        return [point for point in points if point is not None]


def _compared(reports: Sequence[Report]) -> list[Report]:
    """The first of them, as many as have ``MAX_COMPARED`` notes together."""
    notes = accumulate(len(notes_of([report])) for report in reports)
    return [report for report, number in zip(reports, notes, strict=True) if number <= MAX_COMPARED]


def _tells_of(point: Evidence, documents: frozenset[str]) -> bool:
    """Whether a point rests on one of these documents."""
    return any(is_withheld(chunk_id, documents) for chunk_id in (point.chunk_id, *point.chunk_ids))


def _outward(steps: Sequence[TraceStep]) -> list[TraceStep]:
    """One step of each name, as a reply has room for few. What tells who else has asked of late stays here.

    That is how long the choice took, and how many sentences a model had judged before.
    """
    names = dict.fromkeys(step.step for step in steps if step.step != CONTRAST)
    summed = (TraceStep(name, *map(sum, zip(*(astuple(one)[1:] for one in steps if one.step == name), strict=True))) for name in names)
    return [replace(step, ms=0.0) if step.step == CHOOSE else step for step in summed]
