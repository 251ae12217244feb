"""READ PATH of an edge: retrieve -> samples -> gate -> local answer or escalation (DGRAG §III-C ④⑤⑥)."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, Protocol

from edge_node.answering.copied_facts import CopiedFacts
from edge_node.answering.fast_path import NOTHING_SEEN, FastPath, FastPathResult, with_report
from edge_node.answering.follow_up import Exchange
from edge_node.answering.gate import Gate
from edge_node.answering.gate_rules import DOUBTED, UNBORNE
from edge_node.answering.narrowing import SentenceSelector, fitting, whole
from edge_node.answering.other_words import OtherWords
from edge_node.answering.sampling import answer_messages
from edge_node.answering.search import FindPassages, Search
from edge_node.cloud.client import CloudClient
from edge_node.egress.sharing import STAYS, Sharing
from edge_node.graph.local_search import lines_within, part_of
from edge_node.policy.rules import EscalationMode
from edge_node.records import Filters, Retrieval, Without
from edge_node.settings import AnswerSettings
from shared.drafts import CitedAnswer, Draft, Sampling, cited, draft
from shared.errors import CloudError, ContextOverflow, InputError, ModelError, ModelTimeout, Withheld
from shared.limits import Deadline
from shared.missing import passages_of
from shared.ports import Generator
from shared.records import DENIED, Answer, EdgeReport, Evidence, GateReport, Route, TraceStep
from shared.telemetry.trace import Trace
from shared.text.claims import closest_passages
from shared.text.comparing import compares
from shared.text.fence import FENCE_BYTES, Fence
from shared.text.no_answer import no_answer
from shared.text.sentences import questions_in

log = logging.getLogger("dgrag.edge.answer")
HERE_ONLY = "filters are for the documents of this site, and this would ask other sites, which do not know them"
HELD = "the request or the sharing policy keeps the question at this site"
HOW_TO_ESCALATE = "allow it, in the request and in the sharing policy, or use mode 'local'"
RELATIONS_SHARE = 0.25  # of the context, at most, for the lines of relations that a strategy gives
ELSEWHERE_TOO = "the question compares documents, and other sites may have one of them"
UNCITED = "no passage found here says what the drafts say"
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
    """What was read here, what the gate said of it, and the draft with its citations; ``draft``: None where the model was not asked."""

    found: Retrieval
    report: GateReport
    draft: Draft | None = None
    cited: CitedAnswer = field(default_factory=CitedAnswer)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Passages of several sites, best first, and what became of each site that was to be asked."""

    evidence: tuple[Evidence, ...]
    edges: tuple[EdgeReport, ...] = ()
    degraded: bool = False  # True: of this site alone, because the cloud is away
    reason: str = ""
    trace: tuple[TraceStep, ...] = ()


class AnswersFromTables(Protocol):
    """Answers questions about rows of tables."""

    async def answer(self, question: str, query_id: str, withheld: frozenset[str], trace: Trace, deadline: Deadline) -> Answer | None:
        """None: it is no such question. Of the ``withheld`` documents and chunks nothing is read."""


@dataclass(slots=True)
class _Question:
    """A question on its way through the stages. ``stays``: why it may not leave, or empty; ``tried``: what the local stage made."""

    ask: Ask
    stays: str
    query_id: str
    look: FastPathResult
    trace: Trace
    deadline: Deadline
    tried: LocalAttempt | None = None


class Answerer:
    """Answers questions, its own clients' and other edges', in stages: memory, paraphrase, table, copied fact, this site, all sites."""

    def __init__(
        self,
        search: Search,
        selector: SentenceSelector,
        generator: Generator,
        gate: Gate,
        cloud: CloudClient | None,
        sharing: Sharing,
        fast_path: FastPath | None = None,
        copied: CopiedFacts | None = None,
        other_words: OtherWords | None = None,
        tables: AnswersFromTables | None = None,
    ) -> None:
        """``fast_path``: asked before anything is read; None: no memory answers. Next: ``other_words``, ``copied``."""
        self.search = search
        self._selector = selector
        self._generator = generator
        self._gate = gate
        self._cloud = cloud
        self._sharing = sharing
        self._fast_path = fast_path
        self._copied = copied
        self._other_words = other_words
        self._tables = tables
        self.untuned = search.settings

    @property
    def settings(self) -> AnswerSettings:
        """Those in use."""
        return self.search.settings

    def tune(self, thresholds: Mapping[str, float]) -> None:
        """Answer with these thresholds in the place of those that were set, and with none of an earlier call."""
        self.search.settings = self.untuned.model_copy(update=dict(thresholds))
        self._gate = self._gate.with_settings(self.settings)

    def alone(self, thresholds: Mapping[str, float], hidden: frozenset[str]) -> Answerer:
        """One with other thresholds that asks nobody else, remembers nothing, and does not see the hidden documents."""
        settings = self.settings.model_copy(update=dict(thresholds))
        search = Search(Without(self.search.retriever, hidden), self._sharing, settings)
        gate = self._gate.with_settings(settings)
        return Answerer(search, self._selector, self._generator, gate, None, self._sharing)

    async def remembered(self, ask: Ask, trace: Trace) -> FastPathResult:
        """What memories say of a question that may be answered here; it needs no model, and so no turn at one."""
        if self._fast_path is None or not ask.memory or ask.mode == "cloud":
            return NOTHING_SEEN
        look = partial(self._fast_path.answer, ask.question, secrets.token_hex(8), trace)
        return await self._sharing.read_filtered(ask.labels, ask.filters, look)

    async def answer(self, ask: Ask, trace: Trace, look: FastPathResult | None = None) -> Answer:
        """Answer from memory, from the local graph, or through the cloud. ``look``: what ``remembered`` gave, where it was asked before.

        When the whole takes too long, it is the best that there is. Raises InputError for a cloud question that may not be escalated,
        ModelTimeout when the time is over and nothing is near the question, and ModelError when no model answers, neither here nor,
        where the question may be escalated, at the cloud.
        """
        stays = await self._stays(ask)
        if ask.mode == "cloud" and stays:
            raise InputError("mode 'cloud' escalates, and escalation is not allowed", next_step=HOW_TO_ESCALATE)
        look = look or await self.remembered(ask, trace)
        if look.answer is not None:
            return replace(look.answer, trace=trace.steps())
        deadline = Deadline(self.settings.answer_deadline_s)
        question = _Question(ask, stays, secrets.token_hex(8), look, trace, deadline)
        try:
            async with asyncio.timeout(deadline.seconds):
                return await self._staged(question)
        except (TimeoutError, ModelTimeout) as error:
            return await self._too_late(question, ModelTimeout(deadline_s=deadline.seconds), error)

    async def _staged(self, question: _Question) -> Answer:
        """The answer of the first stage that has one; the last one always has."""
        for stage in (self._paraphrase, self._table, self._copied_fact, self._local):
            found = await stage(question)
            if found is not None:
                return found
        return await self._elsewhere(question)

    async def _paraphrase(self, question: _Question) -> Answer | None:
        """A learned answer that the model calls right for these words too."""
        if self._other_words is None or not question.look.near:
            return None
        ask, near = question.ask, question.look.near
        found = await self._other_words.answer(ask.question, question.query_id, near, question.trace, question.deadline)
        return None if found is None else replace(found, trace=question.trace.steps())

    async def _table(self, question: _Question) -> Answer | None:
        """What rows of this site's tables say."""
        tables, ask = self._tables, question.ask
        if tables is None or ask.mode == "cloud":
            return None

        async def answered(withheld: frozenset[str]) -> Answer | None:
            return await tables.answer(ask.question, question.query_id, withheld, question.trace, question.deadline)

        found = await self._sharing.read_filtered(ask.labels, ask.filters, answered)
        return None if found is None else with_report(replace(found, trace=question.trace.steps()), question.look)

    async def _copied_fact(self, question: _Question) -> Answer | None:
        """A single fact, copied from a sentence."""
        ask, trace = question.ask, question.trace
        if self._copied is None or not ask.memory or ask.mode == "cloud":
            return None
        find, fence = await self._search_for(ask, trace), Fence(secrets.token_hex(FENCE_BYTES))
        found = await self._copied.answer(ask.question, question.query_id, find, fence, trace, question.deadline)
        return None if found is None else with_report(replace(found, trace=trace.steps()), question.look)

    async def _local(self, question: _Question) -> Answer | None:
        """The answer of this site, if the gate is sure of it or the question may not leave; the attempt is kept for the last stage."""
        ask, stays, trace = question.ask, question.stays, question.trace
        if ask.mode == "cloud":
            return None
        tried = question.tried = await self._try_locally(ask, bool(stays), trace, question.deadline)
        if tried.report.decision == "escalate" and not stays:
            return None
        why = f"{stays}; {tried.report.reason}" if tried.report.decision == "escalate" else ""
        found = self._local_answer(question.query_id, ask.question, tried, trace, route="local", reason=why)
        return with_report(found, question.look)

    async def _elsewhere(self, question: _Question) -> Answer:
        """The answer of all sites."""
        found = await self._escalate(question.ask, question.query_id, question.trace, question.deadline, question.tried)
        return with_report(found, question.look)

    async def _too_late(self, question: _Question, late: ModelTimeout, cause: Exception) -> Answer:
        """What there is when the time is over: the draft that was made, else the closest passages. Raises ``late`` where there are none."""
        ask, trace = question.ask, question.trace
        tried = question.tried
        if tried is None or tried.draft is None:
            found = await self.find_here(ask)
            tried = LocalAttempt(found, GateReport("escalate", late.message))
        own = self._local_answer(question.query_id, ask.question, tried, trace, route="local", reason=late.message)
        if not own.answered and not own.closest:
            raise late from cause
        text = own.answer if own.answered else no_answer("late", ask.question)
        return replace(own, answer=text, certain=False, degraded=True)

    async def _stays(self, ask: Ask) -> str:
        """Why a question stays at this site, whatever the gate says; empty where it may leave."""
        if ask.filters is not None:
            return STAYS
        if ask.mode == "local":
            return "mode 'local' asks no other site"
        return HELD if await asyncio.to_thread(self._sharing.escalation, ask.escalation) == "no" else ""

    async def _search_for(self, ask: Ask, trace: Trace) -> FindPassages:
        return await self.search.for_reader(ask.labels, ask.filters, trace)

    async def find_here(self, ask: Ask, *, budget_tokens: int | None = None, top_k: int | None = None) -> Retrieval:
        """Passages of this site for whoever asks."""
        return await (await self._search_for(ask, Trace()))(ask.question, budget_tokens=budget_tokens, top_k=top_k)

    async def _read_here(self, question: str, search: FindPassages, *, share: float = 1.0) -> Retrieval:
        """④ What the model of this site reads: whole passages, which leave a share of its context to descriptions; these never leave it."""
        budget = part_of(self.settings.context_tokens, share)
        found = [await search(part) for part in questions_in(question)]
        described = part_of(budget, self.settings.description_share)
        descriptions, used = fitting([retrieval.descriptions for retrieval in found], described, self._selector.count)
        evidence, summaries = whole(found, budget - used, self._selector.count)
        lines = lines_within(found[0].facts, part_of(budget, RELATIONS_SHARE), self._selector.count)
        return Retrieval(evidence, lines, summaries, found[0].unknown, descriptions)

    async def probed(self, question: str) -> GateReport:
        """What the gate sees of a question with a single sample. Raises ModelError."""
        trace, deadline = Trace(), Deadline(self.settings.answer_deadline_s)
        search = await self._search_for(Ask(question, mode="local"), trace)
        found = await self._read_here(question, search)
        if (report := self._gate.too_far(found.nearness, found.unknown)) is not None:
            return report
        drafted = await self._drafted(question, found, 1, trace, deadline)
        return await self._gate.judge(drafted, found.nearness, found.unknown, trace)

    async def _try_locally(self, ask: Ask, stays: bool, trace: Trace, deadline: Deadline) -> LocalAttempt:
        """④⑤ Samples over what is here, and the gate's verdict. Unless the question stays, a failed model only makes it escalate."""
        search = await self._search_for(ask, trace)
        found = await self._read_here(ask.question, search)
        try:
            try:
                return await self._judged(ask, found, stays, trace, deadline)
            except ContextOverflow:  # once more, over half as much
                fewer = await self._read_here(ask.question, search, share=0.5)
                return await self._judged(ask, fewer, stays, trace, deadline)
        except ModelError as error:
            if stays or self._cloud is None:
                raise
            return LocalAttempt(found, GateReport("escalate", f"the model of this site failed: {error.message}"))

    async def _judged(self, ask: Ask, found: Retrieval, stays: bool, trace: Trace, deadline: Deadline) -> LocalAttempt:
        if not (found.evidence or found.descriptions):
            return LocalAttempt(found, GateReport("escalate", "nothing is indexed here"))
        if not stays and (report := self._gate.too_far(found.nearness, found.unknown)) is not None:
            return LocalAttempt(found, report)
        if not stays and self._cloud is not None and compares(ask.question):
            return LocalAttempt(found, GateReport("escalate", ELSEWHERE_TOO, rule=DOUBTED))
        drafted = await self._drafted(ask.question, found, ask.samples or self.settings.samples, trace, deadline)
        report = await self._gate.judge(drafted, found.nearness, found.unknown, trace)
        citing = partial(cited, ask.question, drafted, found.citable, numbered=len(found.evidence))
        answer = await asyncio.to_thread(citing)
        if report.decision == "local" and not answer.citations:
            report = replace(report, decision="escalate", reason=UNCITED, rule=UNBORNE)
        elif report.decision == "local" and (doubt := answer.doubt(ask.question, found.citable)):
            report = replace(report, decision="escalate", reason=doubt, rule=DOUBTED)
        return LocalAttempt(found, report, drafted, answer)

    async def _drafted(self, question: str, found: Retrieval, n: int, trace: Trace, deadline: Deadline) -> Draft:
        settings, fence = self.settings, Fence(secrets.token_hex(FENCE_BYTES))
        return await draft(
            question,
            answer_messages(question, found, fence),
            found.citable,
            self._generator,
            fence,
            Sampling(n, settings.sample_tokens, settings.temperature, settings.seed),
            trace,
            left_s=deadline.left_s,
            is_checked=self._gate.asks_model,
        )

    def _is_shown(self, asked: str, tried: LocalAttempt) -> bool:
        """Whether the draft is an answer, of which the gate need not be sure."""
        if not tried.cited.citations or tried.draft is None:
            return False
        if tried.report.decision == "local":
            return True
        settings, shown = self.settings, tried.draft.shown
        doubt = tried.cited.doubt(asked, tried.found.citable)
        if tried.draft.is_guess(min_agreement=settings.min_similarity, min_sufficiency=settings.min_sufficiency, doubt=doubt):
            return False
        return settings.show_uncertain and (shown is None or shown >= settings.min_shown)

    def _local_answer(self, query_id: str, asked: str, tried: LocalAttempt, trace: Trace, *, route: Route, reason: str = "") -> Answer:
        report, is_shown = tried.report, self._is_shown(asked, tried)
        is_certain = is_shown and report.decision == "local"
        return Answer(
            query_id,
            tried.cited.text if is_shown else no_answer("not_here", asked),
            tried.cited.citations if is_shown else (),
            route,
            gate=report,
            degraded=route == "degraded",
            reason=reason or ("" if report.decision == "local" else report.reason),
            answered=is_shown,
            certain=is_certain,
            closest=() if is_certain else closest_passages(asked, tried.found.citable),
            unanswered=tried.cited.unanswered if is_shown else (),
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
                if tried and tried.draft is None:
                    tried = await self._try_locally(ask, True, trace, deadline)
                return self._waiting(ask, query_id, tried, trace, departing.text)
            limit_s = min(self.settings.cloud_deadline_s, deadline.left_s())
            with trace.step("cloud") as step, self._sharing.asking_for(ask.labels):
                found, sent, received = await self._cloud.ask(
                    departing.text, query_id=query_id, purpose=ask.purpose, rule=departing.rule, deadline_s=limit_s
                )
                step.transfer(sent=sent, received=received)
        except CloudError as error:
            log.warning("answered alone: %s", error.message)
            if tried is None or tried.draft is None:
                tried = await self._try_locally(ask, True, trace, deadline)
            route: Route = "local" if isinstance(error, Withheld) else "degraded"
            return self._local_answer(query_id, ask.question, tried, trace, route=route, reason=error.message)
        trace.extend(tuple(replace(step, step=f"cloud: {step.step}") for step in found.trace))
        if found.answered and not found.certain and not self.settings.show_uncertain:
            found = replace(found, answer=no_answer("not_told", ask.question), citations=(), answered=False)
        if tried is not None and not found.answered:
            return await self._own_instead(ask, query_id, tried, found, trace, deadline)
        own = passages_of(self._cloud.edge, found.edges)
        return replace(found, query_id=query_id, gate=tried.report if tried else None, own_passages=own, trace=trace.steps())

    async def _own_instead(self, ask: Ask, query_id: str, tried: LocalAttempt, found: Answer, trace: Trace, deadline: Deadline) -> Answer:
        """The best answer of this site where the cloud has none: it is shown as not certain, with what the cloud says of the sites."""
        if tried.draft is None:
            try:
                tried = await self._judged(ask, tried.found, True, trace, deadline)
            except ModelError as error:
                log.warning("the cloud has no answer, and no draft was made here: %s", error.message)
        own = self._local_answer(query_id, ask.question, tried, trace, route="local")
        closest = found.closest or own.closest  # the cloud looked at more sites, this one among them
        if not own.answered or not self.settings.show_uncertain:
            return replace(found, query_id=query_id, gate=tried.report, closest=closest, trace=trace.steps())
        return replace(own, certain=False, closest=closest, edges=found.edges, partial=found.partial)

    def _waiting(self, ask: Ask, query_id: str, tried: LocalAttempt | None, trace: Trace, question: str) -> Answer:
        """The best local answer, if there was a try, and the question as it would leave."""
        if tried is None:
            waits = no_answer("waits", ask.question)
            return Answer(query_id, waits, (), "local", reason=waits, answered=False, would_ask=question, trace=trace.steps())
        return replace(self._local_answer(query_id, ask.question, tried, trace, route="local"), would_ask=question)

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
