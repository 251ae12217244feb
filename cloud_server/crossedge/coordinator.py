"""⑥ Cross-edge retrieval (DGRAG §III-C): match summaries, ask their owners, merge, answer once, cite."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from cloud_server.crossedge.evidence import fill_budget, rescore
from cloud_server.crossedge.fan_out import FanOut
from cloud_server.crossedge.writing import NOT_MATCHED, missing_reason, none_of, render
from cloud_server.summaries.catalogue import Catalogue
from cloud_server.summaries.matching import owners
from shared.citations import cite
from shared.errors import ModelTimeout
from shared.first_token import probability_of
from shared.passages import grouped
from shared.ports import Clock, Embedder, FloatArray, Generator, Prompt, Tokenizer
from shared.prompts import load_prompt
from shared.records import Answer, EdgeId, EdgeReport, Evidence
from shared.refusals import is_refusal
from shared.sentences import questions_in
from shared.trace import Trace
from shared.wire import QuestionBody

ANSWER = load_prompt("cloud_server", "answer")
SUFFICIENT = load_prompt("cloud_server", "task_sufficient")
TOP_LOGPROBS = 10
RETRIEVAL_SHARE = 0.5  # of the time that is left, at most: the model needs the rest


@dataclass(frozen=True, slots=True)
class Limits:
    """Thresholds and budgets of one answer."""

    m: int  # summaries
    min_match: float  # cosine, question with summary
    k: int  # edges
    min_evidence: float  # cosine, question with passage
    budget_tokens: int
    fan_out_deadline_s: float
    max_answer_tokens: int
    min_sufficiency: float | None  # P(yes) that the passages hold the answer; None: not asked


@dataclass(frozen=True, slots=True)
class Models:
    """The cloud's own models."""

    embedder: Embedder
    generator: Generator
    tokenizer: Tokenizer


class Coordinator:
    """Answers escalated questions."""

    def __init__(
        self, catalogue: Catalogue, fan_out: FanOut, models: Models, limits: Limits, clock: Clock, new_id: Callable[[], str]
    ) -> None:
        self._catalogue = catalogue
        self._fan_out = fan_out
        self._models = models
        self._limits = limits
        self._clock = clock
        self._new_id = new_id

    async def answer(self, body: QuestionBody, *, deadline_s: float, asking: EdgeId | None = None) -> Answer:
        """Answer from all sites that may know, the asking one included; ``answered`` is False when none does.

        Raises ModelTimeout when the whole takes longer than ``deadline_s``, and ModelError when the model fails.
        """
        try:
            async with asyncio.timeout(deadline_s):
                return await self._answer(body, asking, until=self._clock.monotonic() + deadline_s)
        except TimeoutError as error:
            raise ModelTimeout(deadline_s=deadline_s) from error

    async def _answer(self, body: QuestionBody, asking: EdgeId | None, *, until: float) -> Answer:
        trace, limits = Trace(), self._limits
        nobody = Answer(body.query_id or self._new_id(), NOT_MATCHED, (), "cloud", answered=False)
        with trace.step("match"):
            questions = await self._models.embedder.embed(questions_in(body.question))
            matches = await self._catalogue.match(questions, m=body.m or limits.m, min_cosine=limits.min_match)
        edges = self._asked(owners(matches, k=limits.k), asking)
        if not edges:
            return replace(nobody, reason="no summary is near enough to the question", trace=trace.steps())
        with trace.step("fan_out") as step:
            result = await self._fan_out.ask(
                edges,
                body.question,
                budget_tokens=limits.budget_tokens,
                min_score=limits.min_evidence,
                deadline_s=max(0.0, min(limits.fan_out_deadline_s, RETRIEVAL_SHARE * (until - self._clock.monotonic()))),
            )
            step.transfer(sent=result.bytes_out, received=result.bytes_in)
        trace.extend(result.steps)
        with trace.step("rescore"):
            evidence = await self._merge([passage for passages in result.evidence.values() for passage in passages], questions)
        nobody = replace(nobody, answer=none_of(edges))
        answer = await self._write(body.question, evidence, nobody, trace, until=until)
        return _with_edges(answer, result.reports, trace)

    def _asked(self, owning: list[EdgeId], asking: EdgeId | None) -> list[EdgeId]:
        """The asking edge is among them: its passages did not suffice alone, but may with another site's, or with a larger model."""
        return [*owning, asking] if asking and asking not in owning and self._fan_out.reaches(asking) else owning

    async def _merge(self, passages: Sequence[Evidence], questions: FloatArray) -> list[Evidence]:
        if not passages:
            return []
        vectors = await self._models.embedder.embed([passage.text for passage in passages])
        ranked = rescore(passages, vectors, questions, min_cosine=self._limits.min_evidence)
        return grouped(fill_budget(ranked, self._models.tokenizer, budget_tokens=self._limits.budget_tokens))

    async def _write(self, question: str, evidence: Sequence[Evidence], nobody: Answer, trace: Trace, *, until: float) -> Answer:
        if not evidence:
            return replace(nobody, reason="no passage is near enough to the question")
        if not await self._suffices(question, evidence, trace, until=until):
            return replace(nobody, reason="the passages found do not hold the answer")
        with trace.step("generate") as step:
            prompt = Prompt(render(ANSWER, question, evidence), max_tokens=self._limits.max_answer_tokens, stop=("\nQuestion:",))
            reply = step.model(await self._models.generator.generate(prompt, deadline_s=until - self._clock.monotonic()))
        text, citations = cite(reply.texts[0], evidence)
        if is_refusal(text):
            return replace(nobody, reason="the model found no answer in the passages")
        return replace(nobody, answer=text, citations=citations, answered=True)

    async def _suffices(self, question: str, evidence: Sequence[Evidence], trace: Trace, *, until: float) -> bool:
        """Whether the passages hold the answer, by the first token's Yes and No; a model that says neither decides nothing."""
        if self._limits.min_sufficiency is None:
            return True
        with trace.step("verify") as step:
            messages = render(ANSWER, question, evidence, task=SUFFICIENT.user.template)
            prompt = Prompt(messages, max_tokens=1, top_logprobs=TOP_LOGPROBS)
            reply = step.model(await self._models.generator.generate(prompt, deadline_s=until - self._clock.monotonic()))
        probability = probability_of(reply.first_token, "yes", ["no"])
        return probability is None or probability >= self._limits.min_sufficiency


def _with_edges(answer: Answer, reports: Sequence[EdgeReport], trace: Trace) -> Answer:
    missing = missing_reason(reports)
    reason = "; ".join(part for part in (answer.reason, missing) if part)
    return replace(answer, edges=tuple(reports), partial=bool(missing), reason=reason, trace=trace.steps())
