"""READ PATH of an edge: retrieve -> samples -> gate -> local answer or escalation (DGRAG §III-C ④⑤⑥)."""

from __future__ import annotations

import logging
import secrets
from dataclasses import dataclass, replace
from typing import Literal

from edge_node.answer.focus import Focus
from edge_node.answer.gate import Gate, Question
from edge_node.answer.samples import Sampling, answer_prompt, draw, sufficiency_prompt
from edge_node.link.cloud_client import CloudClient
from edge_node.strategies.base import IndexStrategy, Retrieval
from shared.citations import cite
from shared.errors import CloudError
from shared.ports import Generator
from shared.records import Answer, GateReport, Route
from shared.refusals import is_refusal
from shared.sentences import questions_in
from shared.trace import Trace
from shared.wire import MAX_EVIDENCE, EvidenceBody, EvidenceReply, EvidenceRequest

log = logging.getLogger("dgrag.edge.answer")
Mode = Literal["auto", "local", "cloud"]
NO_LOCAL_ANSWER = "The documents of this site do not answer this question."


@dataclass(frozen=True, slots=True)
class Ask:
    """A question as the client put it."""

    question: str
    mode: Mode = "auto"
    samples: int | None = None  # default: the setting
    may_escalate: bool = True


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Budgets and deadlines of the read path; see EdgeSettings."""

    candidate_tokens: int
    context_tokens: int
    top_k: int
    sampling: Sampling
    answer_deadline_s: float
    cloud_deadline_s: float


class Answerer:
    """Answers questions, its own clients' and other edges'."""

    def __init__(
        self, strategy: IndexStrategy, focus: Focus, generator: Generator, gate: Gate, cloud: CloudClient | None, limits: ReadLimits
    ) -> None:
        self._strategy = strategy
        self._focus = focus
        self._generator = generator
        self._gate = gate
        self._cloud = cloud
        self.limits = limits

    async def answer(self, ask: Ask, trace: Trace) -> Answer:
        """Answer from the local graph, or through the cloud. Raises ModelError when there is no model at all."""
        query_id = secrets.token_hex(8)
        if ask.mode == "cloud":
            return await self._escalate(ask, query_id, trace, None, Retrieval(()))
        retrieval = await self._read(ask.question, trace, budget_tokens=self.limits.context_tokens)
        report = await self._try_locally(ask, retrieval, trace)
        if report.decision == "local" or ask.mode == "local" or not ask.may_escalate:
            return self._local_answer(query_id, retrieval, report, trace, route="local")
        return await self._escalate(ask, query_id, trace, report, retrieval)

    async def retrieve(self, question: str, trace: Trace, *, budget_tokens: int | None = None, top_k: int | None = None) -> Retrieval:
        """④ Whole passages and facts for a question, best first."""
        with trace.step("retrieve"):
            return await self._strategy.retrieve(
                question, budget_tokens=budget_tokens or self.limits.candidate_tokens, top_k=top_k or self.limits.top_k
            )

    async def _read(self, question: str, trace: Trace, *, budget_tokens: int) -> Retrieval:
        """④ What a model is to read: passages for the question and each of its parts, narrowed to their best sentences."""
        found = [await self.retrieve(part, trace) for part in questions_in(question)]
        passages = {passage.chunk_id: passage for retrieval in found for passage in retrieval.evidence}
        with trace.step("narrow"):
            evidence = await self._focus.narrow(question, list(passages.values()), budget_tokens=budget_tokens)
        return Retrieval(evidence, found[0].facts)

    async def _try_locally(self, ask: Ask, retrieval: Retrieval, trace: Trace) -> GateReport:
        if not retrieval.evidence:
            return GateReport("escalate", "nothing is indexed here")
        deadline_s = self.limits.answer_deadline_s
        sampling = replace(self.limits.sampling, n=ask.samples or self.limits.sampling.n)
        messages = answer_prompt(ask.question, retrieval.evidence, retrieval.facts)
        samples = await draw(self._generator, messages, sampling, trace, deadline_s=deadline_s)
        probe = sufficiency_prompt(ask.question, retrieval.evidence, retrieval.facts)
        return await self._gate.judge(Question(ask.question, samples, probe), trace, deadline_s=deadline_s)

    def _local_answer(
        self, query_id: str, retrieval: Retrieval, report: GateReport, trace: Trace, *, route: Route, reason: str = ""
    ) -> Answer:
        chosen = report.selected
        if chosen is None and report.decision == "escalate" and report.similarity is not None:
            chosen = next((i for i, sample in enumerate(report.samples) if not is_refusal(sample)), None)  # unsure, but nobody else to ask
        answered = chosen is not None
        text, citations = cite(report.samples[chosen], retrieval.evidence) if chosen is not None else (NO_LOCAL_ANSWER, ())
        return Answer(
            query_id,
            text,
            citations,
            route,
            gate=report,
            degraded=route == "degraded",
            reason=reason or ("" if report.decision == "local" else report.reason),
            answered=answered,
            trace=trace.steps(),
        )

    async def _escalate(self, ask: Ask, query_id: str, trace: Trace, report: GateReport | None, retrieval: Retrieval) -> Answer:
        """⑥ Ask the cloud; when it is away, give the best local answer and say so."""
        try:
            if self._cloud is None:
                raise CloudError("this edge has no cloud")
            with trace.step("cloud") as step:
                found, sent, received = await self._cloud.ask(ask.question, query_id=query_id, deadline_s=self.limits.cloud_deadline_s)
                step.transfer(sent=sent, received=received)
        except CloudError as error:
            log.warning("answered alone: %s", error.message)
            if report is None:
                retrieval = await self._read(ask.question, trace, budget_tokens=self.limits.context_tokens)
                report = await self._try_locally(ask, retrieval, trace)
            return self._local_answer(query_id, retrieval, report, trace, route="degraded", reason=error.message)
        trace.extend(tuple(replace(step, step=f"cloud: {step.step}") for step in found.trace))
        return replace(found, query_id=query_id, gate=report, trace=trace.steps())

    # ------------------------------------------------------------ for other edges, through the cloud

    async def evidence(self, request: EvidenceRequest) -> EvidenceReply:
        """⑥ Retrieve for another site's question, as for a local one; only what is above the asked score leaves."""
        trace = Trace()
        found = await self._read(request.question, trace, budget_tokens=request.budget_tokens)
        relevant = [item for item in found.evidence if item.score >= request.min_score][:MAX_EVIDENCE]
        return EvidenceReply(evidence=[EvidenceBody.from_record(item) for item in relevant], trace=list(trace.steps()))
