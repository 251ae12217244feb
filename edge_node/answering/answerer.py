"""READ PATH of an edge: retrieve -> samples -> gate -> local answer or escalation (DGRAG §III-C ④⑤⑥)."""

from __future__ import annotations

import asyncio
import logging
import secrets
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Protocol

from edge_node.answering.copied_facts import CopiedFacts
from edge_node.answering.fast_path import NOTHING_SEEN, FastPath, FastPathResult, with_report
from edge_node.answering.follow_up import Exchange
from edge_node.answering.gate import Gate, Question
from edge_node.answering.narrowing import SentenceSelector, fitting, in_turn
from edge_node.answering.other_words import OtherWords
from edge_node.answering.released import ReleasedPassages
from edge_node.answering.sampling import Sampling, answer_prompt, draw, sufficiency_prompt, with_passages
from edge_node.cloud.client import CloudClient
from edge_node.egress.memory_outbox import Tells
from edge_node.egress.sharing import STAYS, Requester, Served, Sharing
from edge_node.extraction.titles import names_of
from edge_node.graph.local_search import lines_within, part_of
from edge_node.policy.rules import EscalationMode
from edge_node.records import NOTHING_WITHHELD, Filters, Retrieval, Retriever, Without
from edge_node.settings import AnswerSettings
from shared.errors import CloudError, ContextOverflow, InputError, ModelError, ModelTimeout, Withheld
from shared.limits import Deadline
from shared.missing import passages_of
from shared.ports import Generator
from shared.records import DENIED, Answer, EdgeReport, Evidence, GateReport, Route, TraceStep
from shared.reduce import UNSUPPORTED, ReducedAnswer, left_out, tell
from shared.telemetry.trace import Trace
from shared.text.fence import FENCE_BYTES, Fence
from shared.text.marks import about, unpacked
from shared.text.no_answer import no_answer
from shared.text.refusals import is_refusal
from shared.text.sentences import questions_in
from shared.text.support import Checking
from shared.wire import MAX_TITLES_ASKED, EvidenceRequest

log = logging.getLogger("dgrag.edge.answer")
HERE_ONLY = "filters are for the documents of this site, and this would ask other sites, which do not know them"
HELD = "the request or the sharing policy keeps the question at this site"
Serve = Callable[[Requester, list[Evidence], tuple[TraceStep, ...]], Served]
HOW_TO_ESCALATE = "allow it, in the request and in the sharing policy, or use mode 'local'"
MASKED = "masked"  # what keeps a passage here that is near to a question only as long as nothing in it is masked
OF_A_TITLE = 4  # passages that are found for a title that passages of sites name
TITLES_SHARE = 0.5  # of a request's time: no search for a title begins later, or what was found would come to nothing
NOTHING_TOLD = ReducedAnswer("", ())
Mode = Literal["auto", "local", "cloud"]


@dataclass(frozen=True, slots=True)
class Ask:
    """A question as the client put it. Raises InputError for filters in mode ``cloud``."""

    question: str
    mode: Mode = "auto"
    samples: int | None = None  # default: the setting
    escalation: EscalationMode | None = None  # may the question leave; None: as the sharing policy says
    purpose: str = ""  # what the answer is for, as other sites' policies know it
    memory: bool = True  # a memory may answer
    earlier: tuple[Exchange, ...] = ()  # the conversation so far
    labels: frozenset[str] | None = None  # of the documents that the asker may read; None: all
    filters: Filters | None = None  # of the documents that it is about; with them the question stays here
    asker: str = ""  # with whom turns are shared, as ``Caller.asker``

    def __post_init__(self) -> None:
        if self.mode == "cloud" and self.filters is not None:
            raise InputError(HERE_ONLY, next_step="ask this site alone, or leave the filters out")


@dataclass(frozen=True, slots=True)
class LocalAttempt:
    """What was read here, what the gate said of it, and the answer that it let pass, where it did."""

    found: Retrieval
    report: GateReport
    told: ReducedAnswer | None = None

    @property
    def is_unsampled(self) -> bool:
        """Whether the model may say more of what was found, which nobody has asked it yet."""
        return not self.report.samples and self.report.confidence is not None and self.report.confidence.sufficiency is not None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Passages of several sites, best first, and what became of each site that was to be asked."""

    evidence: tuple[Evidence, ...]
    edges: tuple[EdgeReport, ...] = ()
    degraded: bool = False  # True: of this site alone, because the cloud is away
    reason: str = ""
    trace: tuple[TraceStep, ...] = ()


class FindPassages(Protocol):
    """Finds whole passages for a question."""

    async def __call__(self, question: str, *, budget_tokens: int | None = None, top_k: int | None = None) -> Retrieval:
        """Best first, within the budget."""


class AnswersFromTables(Protocol):
    """Answers questions about rows of tables."""

    async def answer(self, question: str, query_id: str, withheld: frozenset[str], trace: Trace, deadline: Deadline) -> Answer | None:
        """None: it is no such question. Of the ``withheld`` documents and chunks nothing is read."""


class Answerer:
    """Answers questions, its own clients' and other edges'."""

    def __init__(
        self,
        retriever: Retriever,
        selector: SentenceSelector,
        generator: Generator,
        gate: Gate,
        cloud: CloudClient | None,
        sharing: Sharing,
        settings: AnswerSettings,
        fast_path: FastPath | None = None,
        told: Tells | None = None,
        released: ReleasedPassages | None = None,
        copied: CopiedFacts | None = None,
        other_words: OtherWords | None = None,
        tables: AnswersFromTables | None = None,
    ) -> None:
        """``fast_path``: asked before anything is read; None: no memory answers. ``other_words`` and ``copied``: asked next, in this order.

        ``released``: where other sites' questions look if something is masked; None: then they find nothing.
        """
        self._retriever = retriever
        self._selector = selector
        self._generator = generator
        self._gate = gate
        self._cloud = cloud
        self._sharing = sharing
        self.settings = settings
        self._fast_path = fast_path
        self._told = told
        self._released = released
        self._copied = copied
        self._other_words = other_words
        self._tables = tables
        self.untuned = settings

    def tune(self, thresholds: Mapping[str, float]) -> None:
        """Answer with these thresholds in the place of those that were set, and with none of an earlier call."""
        self.settings = self.untuned.model_copy(update=dict(thresholds))
        self._gate = self._gate.with_settings(self.settings)

    def alone(self, thresholds: Mapping[str, float], hidden: frozenset[str]) -> Answerer:
        """One with other thresholds that asks nobody else, remembers nothing, and does not see the hidden documents."""
        settings = self.settings.model_copy(update=dict(thresholds))
        retriever, gate = Without(self._retriever, hidden), self._gate.with_settings(settings)
        return Answerer(retriever, self._selector, self._generator, gate, None, self._sharing, settings)

    async def remembered(self, ask: Ask, trace: Trace) -> FastPathResult:
        """What memories say of a question that may be answered here; it needs no model, and so no turn at one."""
        if self._fast_path is None or not ask.memory or ask.mode == "cloud":
            return NOTHING_SEEN
        look = partial(self._fast_path.answer, ask.question, secrets.token_hex(8), trace)
        return await self._sharing.read_filtered(ask.labels, ask.filters, look)

    async def answer(self, ask: Ask, trace: Trace, look: FastPathResult | None = None) -> Answer:
        """Answer from memory, from the local graph, or through the cloud. ``look``: what ``remembered`` gave, where it was asked before.

        Raises InputError for a cloud question that may not be escalated, ModelTimeout when the whole takes too long, and
        ModelError when no model answers, neither here nor, where the question may be escalated, at the cloud.
        """
        stays = await self._stays(ask)
        if ask.mode == "cloud" and stays:
            raise InputError("mode 'cloud' escalates, and escalation is not allowed", next_step=HOW_TO_ESCALATE)
        look = look or await self.remembered(ask, trace)
        if look.answer is not None:
            return replace(look.answer, trace=trace.steps())
        deadline, query_id = Deadline(self.settings.answer_deadline_s), secrets.token_hex(8)
        try:
            async with asyncio.timeout(deadline.seconds):
                if self._other_words is not None and look.near:
                    again = await self._other_words.answer(ask.question, query_id, look.near, trace, deadline)
                    if again is not None:
                        return replace(again, trace=trace.steps())
                if self._tables is not None and ask.mode != "cloud":
                    tables = self._tables
                    told = await self._sharing.read_filtered(
                        ask.labels, ask.filters, lambda withheld: tables.answer(ask.question, query_id, withheld, trace, deadline)
                    )
                    if told is not None:
                        return with_report(replace(told, trace=trace.steps()), look)
                return with_report(await self._answer(ask, stays, query_id, trace, deadline), look)
        except TimeoutError as error:
            raise ModelTimeout(deadline_s=deadline.seconds) from error

    async def _stays(self, ask: Ask) -> str:
        """Why a question stays at this site, whatever the gate says; empty where it may leave."""
        if ask.filters is not None:
            return STAYS
        if ask.mode == "local":
            return "mode 'local' asks no other site"
        return HELD if await asyncio.to_thread(self._sharing.escalation, ask.escalation) == "no" else ""

    async def _answer(self, ask: Ask, stays: str, query_id: str, trace: Trace, deadline: Deadline) -> Answer:
        if ask.mode == "cloud":
            return await self._escalate(ask, query_id, trace, deadline, None)
        if self._copied is not None and ask.memory:
            find, fence = await self._search_for(ask, trace), Fence(secrets.token_hex(FENCE_BYTES))
            fact = await self._copied.answer(ask.question, query_id, find, fence, trace, deadline)
            if fact is not None:
                return replace(fact, trace=trace.steps())
        tried = await self._try_locally(ask, bool(stays), trace, deadline)
        if tried.report.decision == "local" or stays:
            why = f"{stays}; {tried.report.reason}" if tried.report.decision == "escalate" else ""
            return await self._local_answer(query_id, ask.question, tried, trace, deadline, route="local", reason=why)
        return await self._escalate(ask, query_id, trace, deadline, tried)

    async def retrieve(
        self,
        question: str,
        trace: Trace,
        *,
        budget_tokens: int | None = None,
        top_k: int | None = None,
        withheld: frozenset[str] = NOTHING_WITHHELD,
    ) -> Retrieval:
        """④ Whole passages and facts for a question, best first."""
        with trace.step("retrieve"):
            return await self._retriever.retrieve(
                question,
                budget_tokens=budget_tokens or self.settings.candidate_tokens,
                top_k=top_k or self.settings.top_k,
                withheld=withheld,
            )

    async def _search_for(self, ask: Ask, trace: Trace) -> FindPassages:
        """``retrieve`` for who may read, or asks about, some documents only, or all."""
        if ask.filters is None:
            withheld = await asyncio.to_thread(self._sharing.beyond, ask.labels)
            return partial(self.retrieve, trace=trace, withheld=withheld)

        async def search(question: str, *, budget_tokens: int | None = None, top_k: int | None = None) -> Retrieval:
            found = partial(self.retrieve, question, trace, budget_tokens=budget_tokens, top_k=top_k)
            return await self._sharing.read_filtered(ask.labels, ask.filters, lambda withheld: found(withheld=withheld))

        return search

    async def find_here(self, ask: Ask, *, budget_tokens: int | None = None, top_k: int | None = None) -> Retrieval:
        """Passages of this site for whoever asks."""
        return await (await self._search_for(ask, Trace()))(ask.question, budget_tokens=budget_tokens, top_k=top_k)

    async def _read_here(self, question: str, trace: Trace, search: FindPassages, *, share: float = 1.0) -> Retrieval:
        """④ What the model of this site reads: the passages leave a share of its context to descriptions, which never leave the site."""
        budget = part_of(self.settings.context_tokens, share)
        described = part_of(budget, self.settings.description_share)
        return await self._read(question, trace, budget_tokens=budget, search=search, description_tokens=described)

    async def _read(
        self, question: str, trace: Trace, *, budget_tokens: int, search: FindPassages, description_tokens: int = 0
    ) -> Retrieval:
        """④ What a model is to read: passages for the question and each of its parts, narrowed to their best sentences.

        ``description_tokens``: of the budget, for descriptions of what was found; passages say what these do not.
        """
        found = [await search(part) for part in questions_in(question)]
        passages = {passage.chunk_id: passage for retrieval in found for passage in retrieval.evidence}
        summaries = {one.summary_id: one for retrieval in found for one in retrieval.summaries}
        descriptions, used = fitting([retrieval.descriptions for retrieval in found], description_tokens, self._selector.count)
        with trace.step("narrow"):
            evidence, told = await self._selector.narrow(
                question,
                list(passages.values()),
                list(summaries.values()),
                budget_tokens=budget_tokens - used,
                said="\n".join(one.text for one in descriptions),
            )
        lines = lines_within(found[0].facts, budget_tokens, self._selector.count)  # as much again as the passages, at most
        return Retrieval(evidence, lines, told, found[0].unknown, descriptions)

    async def probed(self, question: str) -> GateReport:
        """What the gate sees of a question before anything is sampled. Raises ModelError."""
        trace, deadline, fence = Trace(), Deadline(self.settings.answer_deadline_s), Fence(secrets.token_hex(FENCE_BYTES))
        search = await self._search_for(Ask(question, mode="local"), trace)
        found = await self._read_here(question, trace, search)
        nearness = found.nearness
        if (report := self._gate.too_far(nearness, found.unknown)) is not None:
            return report
        sufficiency = await self._gate.sufficiency(sufficiency_prompt(question, found, fence), trace, deadline)
        return GateReport("local", "", self._gate.seen(nearness, found.unknown, sufficiency=sufficiency))

    async def _try_locally(self, ask: Ask, stays: bool, trace: Trace, deadline: Deadline) -> LocalAttempt:
        """④⑤ Samples over what is here, and the gate's verdict. Unless the question stays, a failed model only makes it escalate."""
        search = await self._search_for(ask, trace)
        found = await self._read_here(ask.question, trace, search)
        try:
            try:
                return await self._judged(ask, found, stays, trace, deadline)
            except ContextOverflow:  # once more, over half as much
                fewer = await self._read_here(ask.question, trace, search, share=0.5)
                return await self._judged(ask, fewer, stays, trace, deadline)
        except ModelError as error:
            if stays or self._cloud is None:
                raise
            return LocalAttempt(found, GateReport("escalate", f"the model of this site failed: {error.message}"))

    async def _judged(self, ask: Ask, found: Retrieval, stays: bool, trace: Trace, deadline: Deadline) -> LocalAttempt:
        if not (found.evidence or found.descriptions):
            return LocalAttempt(found, GateReport("escalate", "nothing is indexed here"))
        nearness, settings = found.nearness, self.settings
        if (report := self._gate.too_far(nearness, found.unknown)) is not None:
            return LocalAttempt(found, report)
        sampling = Sampling(ask.samples or settings.samples, settings.sample_tokens, settings.temperature, settings.seed)
        fence = Fence(secrets.token_hex(FENCE_BYTES))
        sufficiency = await self._gate.sufficiency(sufficiency_prompt(ask.question, found, fence), trace, deadline)
        if not stays and (report := self._gate.too_little(sufficiency, nearness, found.unknown)) is not None:
            return LocalAttempt(found, report)
        drawn = await draw(self._generator, answer_prompt(ask.question, found, fence), fence, sampling, trace, deadline_s=deadline.left_s())
        samples = tuple(with_passages(sample, found) for sample in drawn)
        seen = Question(ask.question, samples, sufficiency, nearness, found.unknown, found.citable)
        report = await self._gate.judge(seen, trace, deadline)
        if report.decision == "escalate":
            return LocalAttempt(found, report)
        told = await self._tell(LocalAttempt(found, report), trace, deadline)
        if not told.text and self._gate.minds_refusals:
            report = replace(report, decision="escalate", reason=UNSUPPORTED)
        return LocalAttempt(found, report, told)

    async def _tell(self, tried: LocalAttempt, trace: Trace, deadline: Deadline) -> ReducedAnswer:
        """What of the selected sample the passages say, else of the first other one of which they say something; nothing of refusals."""
        if tried.told is not None:
            return tried.told
        report, chosen = tried.report, tried.report.selected
        answers = [i for i, sample in enumerate(report.samples) if not is_refusal(sample)]
        if chosen is None and len(answers) * 2 > len(report.samples):
            chosen = answers[0]  # unsure, but there is nobody else to ask; the reason says so
        if chosen not in answers:
            return NOTHING_TOLD  # the gate lets a refusal pass where it does not look for them
        evidence, checking = tried.found.citable, Checking(self._generator, trace, deadline)
        for i in (chosen, *(other for other in answers if other != chosen)):
            if (told := await tell(report.samples[i], evidence, checking)).text:
                return told
        return NOTHING_TOLD

    async def _local_answer(
        self, query_id: str, asked: str, tried: LocalAttempt, trace: Trace, deadline: Deadline, *, route: Route, reason: str = ""
    ) -> Answer:
        report, told = tried.report, await self._tell(tried, trace, deadline)
        why = "" if report.decision == "local" else report.reason
        return Answer(
            query_id,
            told.text or no_answer("not_here", asked),
            told.citations,
            route,
            gate=report,
            degraded=route == "degraded",
            reason="; ".join(filter(None, (reason or why, left_out(told.left_out)))),
            answered=bool(told.text),
            trace=trace.steps(),
        )

    async def _escalate(self, ask: Ask, query_id: str, trace: Trace, deadline: Deadline, tried: LocalAttempt | None) -> Answer:
        """⑥ Ask the cloud; when it is away, give the best local answer and say so. Where that needs a yes, say what would be asked."""
        try:
            if self._cloud is None:
                raise CloudError("this edge has no cloud")
            departing = await asyncio.to_thread(self._sharing.departing, ask.question, ask.escalation)
            if departing.escalation == "no":
                raise Withheld(f"{DENIED} lets no question leave any more")
            if departing.escalation == "ask":
                if tried and tried.is_unsampled:
                    tried = await self._try_locally(ask, True, trace, deadline)
                return await self._waiting(ask, query_id, tried, trace, deadline, departing.text)
            limit_s = min(self.settings.cloud_deadline_s, deadline.left_s())
            with trace.step("cloud") as step, self._sharing.asking_for(ask.labels):
                found, sent, received = await self._cloud.ask(
                    departing.text, query_id=query_id, purpose=ask.purpose, rule=departing.rule, deadline_s=limit_s
                )
                step.transfer(sent=sent, received=received)
        except CloudError as error:
            log.warning("answered alone: %s", error.message)
            if tried is None or tried.is_unsampled:
                tried = await self._try_locally(ask, True, trace, deadline)
            route: Route = "local" if isinstance(error, Withheld) else "degraded"
            return await self._local_answer(query_id, ask.question, tried, trace, deadline, route=route, reason=error.message)
        report = tried.report if tried else None
        trace.extend(tuple(replace(step, step=f"cloud: {step.step}") for step in found.trace))
        own = passages_of(self._cloud.edge, found.edges)
        return replace(found, query_id=query_id, gate=report, own_passages=own, trace=trace.steps())

    async def _waiting(
        self, ask: Ask, query_id: str, tried: LocalAttempt | None, trace: Trace, deadline: Deadline, question: str
    ) -> Answer:
        """The best local answer, if there was a try, and the question as it would leave."""
        if tried is None:
            waits = no_answer("waits", ask.question)
            return Answer(query_id, waits, (), "local", reason=waits, answered=False, would_ask=question, trace=trace.steps())
        return replace(await self._local_answer(query_id, ask.question, tried, trace, deadline, route="local"), would_ask=question)

    async def find(self, ask: Ask, trace: Trace, *, budget_tokens: int | None = None, top_k: int | None = None) -> SearchResult:
        """Passages of all sites for a client's own model, this site's among them; degraded to those of here when the cloud is away.

        Raises InputError where the question may not leave, or would need a yes first.
        """
        budget_tokens, top_k = budget_tokens or self.settings.candidate_tokens, top_k or self.settings.top_k
        try:
            if self._cloud is None:
                raise CloudError("this edge has no cloud")
            departing = await asyncio.to_thread(self._sharing.departing, ask.question, ask.escalation)
            if departing.escalation != "yes":
                raise InputError("mode 'cloud' sends the question away, and that is not allowed", next_step=HOW_TO_ESCALATE)
            with trace.step("cloud") as step, self._sharing.asking_for(ask.labels):
                found, sent, received = await self._cloud.find(
                    departing.text,
                    query_id=secrets.token_hex(8),
                    purpose=ask.purpose,
                    rule=departing.rule,
                    budget_tokens=budget_tokens,
                    top_k=top_k,
                    deadline_s=min(self.settings.cloud_deadline_s, self.settings.answer_deadline_s),
                )
                step.transfer(sent=sent, received=received)
        except CloudError as error:
            log.warning("searched alone: %s", error.message)
            alone = await (await self._search_for(ask, trace))(ask.question, budget_tokens=budget_tokens, top_k=top_k)
            return SearchResult(alone.evidence, degraded=True, reason=error.message, trace=trace.steps())
        trace.extend(tuple(replace(step, step=f"cloud: {step.step}") for step in found.trace))
        evidence = tuple(passage.to_record() for passage in found.evidence)
        return SearchResult(evidence, found.edges, degraded=False, reason=found.reason, trace=trace.steps())

    # ------------------------------------------------------------ for other edges, through the cloud

    async def evidence(self, request: EvidenceRequest) -> Served:
        """⑥ Retrieve for another site's question, as for a local one; of what is near enough to it the policy lets some leave.

        Where the policy masks something, the passages are masked before anything looks at them: what leaves, and in which order, is what
        the masked texts say.
        """
        return await self._evidence(request, self._sharing.served)

    async def tried_evidence(self, request: EvidenceRequest) -> Served:
        """What ``evidence`` would give, for this site's own eyes: no meter counts it."""
        return await self._evidence(request, self._sharing.tried)

    async def near(self, request: EvidenceRequest) -> tuple[list[Evidence], list[tuple[Evidence, str]]]:
        """What ``evidence`` would find if the policy kept and masked nothing; and what of it stays, with the rule that keeps it.

        For this site's own eyes.
        """
        trace, requester = Trace(), Requester(request.requester, request.purpose)
        found = await self._near(request, trace, partial(self.retrieve, trace=trace))
        kept = await asyncio.to_thread(self._sharing.held, requester, found)
        withheld = await asyncio.to_thread(self._sharing.withheld, requester)
        if withheld is None or (await asyncio.to_thread(self._sharing.redactor_now)).idle:
            return found, kept
        leaving = await self._near(request, trace, await self._search_for_others(trace, withheld))
        known = {one.chunk_id for one in (*leaving, *(one for one, _ in kept))}
        return found, [*kept, *((one, MASKED) for one in found if one.chunk_id not in known)]

    async def _evidence(self, request: EvidenceRequest, serve: Serve) -> Served:
        trace, requester = Trace(), Requester(request.requester, request.purpose)
        looking = Deadline(TITLES_SHARE * request.deadline_ms / 1000)
        withheld = await asyncio.to_thread(self._sharing.withheld, requester)
        if withheld is None:
            return await asyncio.to_thread(self._sharing.nothing_granted, requester)
        told = await self._told.of(request.memories, withheld) if self._told else []
        if request.memories_only:
            return await asyncio.to_thread(serve, requester, told, trace.steps())
        search = await self._search_for_others(trace, withheld)
        near = [] if request.titles_only else await self._near(request, trace, search)
        if request.titles:
            titled = await self._titled(request, withheld, search, looking)
            near = in_turn(near, *titled)[: self.settings.reader_passages]
        served = await asyncio.to_thread(serve, requester, [*told, *near], trace.steps())
        if request.titles_only:
            return served
        return await asyncio.to_thread(self._sharing.nothing_found, requester, served)

    async def _titled(
        self, request: EvidenceRequest, withheld: frozenset[str], search: FindPassages, looking: Deadline
    ) -> list[list[Evidence]]:
        """⑥ What each document says whose title was named: the cloud sends the marks that this site told it. As far as time allows."""
        marks = set(unpacked(b64decode(request.titles)))
        titles = await asyncio.to_thread(self._sharing.titles_marked, marks, withheld)
        found = list[list[Evidence]]()
        for title in titles[:MAX_TITLES_ASKED]:
            if looking.left_s() == 0:
                break
            told = await search(about(request.question, title), budget_tokens=request.budget_tokens, top_k=OF_A_TITLE)
            near = (one for one in told.evidence if one.score >= self.settings.reader_threshold)
            found.append([one for one in near if title in names_of(one.title)])
        return found

    async def _near(self, request: EvidenceRequest, trace: Trace, search: FindPassages) -> list[Evidence]:
        settings = self.settings
        if request.whole:
            least, most = settings.reader_threshold, settings.reader_passages
            found = await search(request.question, budget_tokens=request.budget_tokens, top_k=most)
        else:
            least = settings.evidence_threshold
            found = await self._read(request.question, trace, budget_tokens=request.budget_tokens, search=search)
        return [item for item in found.evidence if item.score >= least]

    async def _search_for_others(self, trace: Trace, withheld: frozenset[str]) -> FindPassages:
        """As ``retrieve`` where nothing is masked, else over the masked passages."""
        redactor = await asyncio.to_thread(self._sharing.redactor_now)
        if redactor.idle:
            return partial(self.retrieve, trace=trace, withheld=withheld)

        async def search(question: str, *, budget_tokens: int | None = None, top_k: int | None = None) -> Retrieval:
            if self._released is None:
                return Retrieval(())
            budget_tokens, top_k = budget_tokens or self.settings.candidate_tokens, top_k or self.settings.top_k
            with trace.step("retrieve"):
                return await self._released.retrieve(question, redactor, budget_tokens=budget_tokens, top_k=top_k, withheld=withheld)

        return search
