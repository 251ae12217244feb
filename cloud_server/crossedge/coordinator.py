"""⑥ Cross-edge retrieval (DGRAG §III-C): match summaries, ask their owners, merge, answer once, cite."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from cloud_server.crossedge.evidence import cosines, fill_budget, rescore, within_request
from cloud_server.crossedge.fan_out import FanOut, FanOutResult, Wanted
from cloud_server.crossedge.standing import Standing
from cloud_server.crossedge.writing import NOT_MATCHED, missing_reason, none_of, render
from cloud_server.summaries.catalogue import Catalogue
from cloud_server.summaries.matching import owners
from shared.citations import cite
from shared.errors import ModelTimeout
from shared.fence import FENCE_BYTES, Fence
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
    slots: int  # of the m, at most, for one edge where others match too
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
        self,
        catalogue: Catalogue,
        fan_out: FanOut,
        standing: Standing,
        models: Models,
        limits: Limits,
        clock: Clock,
        new_id: Callable[[], str],
    ) -> None:
        self._catalogue = catalogue
        self._fan_out = fan_out
        self._standing = standing
        self._models = models
        self._limits = limits
        self._clock = clock
        self._new_id = new_id

    async def answer(self, body: QuestionBody, *, deadline_s: float, asking: EdgeId | None = None, requester: str = "") -> Answer:
        """Answer from all sites that may know, the asking one included; ``answered`` is False when none does.

        Edges learn who is the ``requester``. Raises ModelTimeout when the whole takes longer than ``deadline_s``, and
        ModelError when the model fails.
        """
        try:
            async with asyncio.timeout(deadline_s):
                return await self._answer(body, asking, requester, until=self._clock.monotonic() + deadline_s)
        except TimeoutError as error:
            raise ModelTimeout(deadline_s=deadline_s) from error

    async def _answer(self, body: QuestionBody, asking: EdgeId | None, requester: str, *, until: float) -> Answer:
        trace, limits = Trace(), self._limits
        nobody = Answer(body.query_id or self._new_id(), NOT_MATCHED, (), "cloud", answered=False)
        with trace.step("match"):
            questions = await self._models.embedder.embed(questions_in(body.question))
            matched, asked, skipped = await self._chosen(questions, asking, requester, m=body.m or limits.m)
        if not asked:
            reason = "no site that may know can be asked now" if skipped else "no summary is near enough to the question"
            return _with_edges(replace(nobody, reason=reason), skipped, trace)
        wanted = Wanted(body.question, limits.budget_tokens, limits.min_evidence, requester, body.purpose)
        with trace.step("fan_out") as step:
            result = await self._fan_out.ask(asked, wanted, deadline_s=self._retrieval_s(until))
            step.transfer(sent=result.bytes_out, received=result.bytes_in)
        trace.extend(result.steps)
        with trace.step("rescore"):
            evidence = await self._merge(result, questions, matched, requester)
        nobody = replace(nobody, answer=none_of(asked))
        answer = await self._write(body.question, evidence, nobody, trace, until=until)
        return _with_edges(answer, [*result.reports, *skipped], trace)

    async def _chosen(
        self, questions: FloatArray, asking: EdgeId | None, requester: str, *, m: int
    ) -> tuple[list[EdgeId], list[EdgeId], list[EdgeReport]]:
        """The edges whose summaries match, those to ask, and a report for each that is passed over.

        The asking edge is asked too: its passages did not suffice alone, but may with another site's, or with a larger model.
        Where fewer than two others match, a second opinion is asked, if m and k leave room for one; that it cannot be had is no loss
        to report, and what it says of its edge's summaries is nothing.
        """
        limits = self._limits

        def is_other(edge: EdgeId) -> bool:
            return edge != asking and self._fan_out.reaches(edge)

        matches = await self._catalogue.match(questions, m=m, min_cosine=limits.min_match, slots=limits.slots)
        matched = owners(matches)
        asked, skipped = self._standing.chosen(matched, k=limits.k, online=self._fan_out.reaches, requester=requester)
        if min(m, limits.k) > 1:
            others = [edge for edge in matched if edge != asking] or matched
            further = await self._catalogue.second_opinion(questions, known=others, min_cosine=limits.min_match, reaches=is_other)
            asked += self._standing.chosen(further, k=1, online=is_other, requester=requester)[0]
        known = [*asked, *(report.edge for report in skipped)]
        if asking and asking not in known and self._fan_out.reaches(asking) and self._standing.lets(asking):
            asked.append(asking)
        return matched, asked, skipped

    def _retrieval_s(self, until: float) -> float:
        return max(0.0, min(self._limits.fan_out_deadline_s, RETRIEVAL_SHARE * (until - self._clock.monotonic())))

    async def _merge(self, result: FanOutResult, questions: FloatArray, matched: Collection[EdgeId], requester: str) -> list[Evidence]:
        """The passages that the model is to read. Who sent one near enough is noted, whether or not another site sent the same."""
        limits = self._limits
        passages = [one for sent in result.evidence.values() for one in within_request(sent, budget_tokens=limits.budget_tokens)]
        ranked, useful = [], set[EdgeId]()
        if passages:
            vectors = await self._models.embedder.embed([passage.text for passage in passages])
            ranked = rescore(passages, vectors, questions, min_cosine=limits.min_evidence)
            near = cosines(vectors, questions) >= limits.min_evidence
            useful = {passage.edge for passage, is_near in zip(passages, near, strict=True) if is_near}
        await self._standing.note(result.reports, matched=matched, useful=useful, requester=requester)
        return grouped(fill_budget(ranked, self._models.tokenizer, budget_tokens=limits.budget_tokens))

    async def _write(self, question: str, evidence: Sequence[Evidence], nobody: Answer, trace: Trace, *, until: float) -> Answer:
        if not evidence:
            return replace(nobody, reason="no passage is near enough to the question")
        fence = Fence(secrets.token_hex(FENCE_BYTES))
        if not await self._suffices(question, evidence, fence, trace, until=until):
            return replace(nobody, reason="the passages found do not hold the answer")
        with trace.step("generate") as step:
            prompt = Prompt(render(ANSWER, question, evidence, fence), max_tokens=self._limits.max_answer_tokens, stop=("\nQuestion:",))
            reply = step.model(await self._models.generator.generate(prompt, deadline_s=until - self._clock.monotonic()))
        if fence.is_given_away(reply.texts[0], prompt.messages):
            return replace(nobody, reason="the model's answer is withheld: it repeats its instructions")
        text, citations = cite(reply.texts[0], evidence)
        if is_refusal(text):
            return replace(nobody, reason="the model found no answer in the passages")
        return replace(nobody, answer=text, citations=citations, answered=True)

    async def _suffices(self, question: str, evidence: Sequence[Evidence], fence: Fence, trace: Trace, *, until: float) -> bool:
        """Whether the passages hold the answer, by the first token's Yes and No; a model that says neither decides nothing."""
        if self._limits.min_sufficiency is None:
            return True
        with trace.step("verify") as step:
            messages = render(ANSWER, question, evidence, fence, task=SUFFICIENT.user.template)
            prompt = Prompt(messages, max_tokens=1, top_logprobs=TOP_LOGPROBS)
            reply = step.model(await self._models.generator.generate(prompt, deadline_s=until - self._clock.monotonic()))
        probability = probability_of(reply.first_token, "yes", ["no"])
        return probability is None or probability >= self._limits.min_sufficiency


def _with_edges(answer: Answer, reports: Sequence[EdgeReport], trace: Trace) -> Answer:
    missing = missing_reason(reports)
    reason = "; ".join(part for part in (answer.reason, missing) if part)
    return replace(answer, edges=tuple(reports), partial=bool(missing), reason=reason, trace=trace.steps())
