"""⑥ Cross-edge retrieval (DGRAG §III-C): match summaries, ask their owners, merge, answer once, cite."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from cloud_server.answering.gathering import EdgeQuery, EvidenceCollector
from cloud_server.answering.passages import Reader
from cloud_server.answering.prompts import none_of, render, unsupported_by, with_edges
from cloud_server.answering.stored_answers import StoredAnswers
from cloud_server.settings import AnswerSettings
from shared.errors import ContextOverflow, ModelTimeout
from shared.evidence import Found, FoundPassage, SearchBody
from shared.limits import Deadline
from shared.missing import missing_reason, summaries_reason
from shared.ports import Clock, Embedder, Generator, Prompt, Reply, Tokenizer
from shared.records import Answer, EdgeId, Evidence
from shared.reduce import UNSUPPORTED, left_out, tell
from shared.telemetry.trace import Trace
from shared.text.fence import FENCE_BYTES, Fence
from shared.text.no_answer import no_answer
from shared.text.prompts import load_prompt
from shared.text.refusals import REFUSAL, YES_OR_NO, is_refusal, probability_of, probability_of_start
from shared.text.support import Checking
from shared.wire import QuestionBody

log = logging.getLogger("dgrag.cloud.answer")
ANSWER = load_prompt("cloud_server", "answer")
SUFFICIENT = load_prompt("cloud_server", "task_sufficient")
TOP_LOGPROBS = 10


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
        collector: EvidenceCollector,
        stored_answers: StoredAnswers,
        models: Models,
        settings: AnswerSettings,
        clock: Clock,
        new_id: Callable[[], str],
    ) -> None:
        self._collector = collector
        self._stored_answers = stored_answers
        self._reader = Reader(collector)
        self._models = models
        self._settings = settings
        self._clock = clock
        self._new_id = new_id

    async def answer(self, body: QuestionBody, *, deadline_s: float, asking: EdgeId | None = None, requester: str = "") -> Answer:
        """Answer from all sites that may know, the asking one included; ``answered`` is False when none does.

        Edges learn who is the ``requester``. Raises ModelTimeout when the whole takes longer than ``deadline_s``, and
        ModelError when the model fails.
        """
        async with within(deadline_s):
            return await self._answer(body, asking, requester, until=self._clock.monotonic() + deadline_s)

    async def find(self, body: SearchBody, *, deadline_s: float, asking: EdgeId | None = None, requester: str = "") -> Found:
        """The passages of all sites that may know, for the asker's own model. Raises ModelTimeout as ``answer``."""
        trace, sought = Trace(), EdgeQuery(body.question, body.purpose, asking, requester)
        async with within(deadline_s):
            until = self._clock.monotonic() + deadline_s
            found = await self._reader.find(sought, trace, budget_tokens=body.budget_tokens, top_k=body.top_k, until=until)
        summaries = "" if found.evidence else summaries_reason(found.reports)
        reason = "; ".join(part for part in (found.reason, missing_reason(found.reports), summaries) if part)
        evidence = tuple(FoundPassage.of(passage) for passage in found.evidence)
        return Found(evidence=evidence, edges=found.reports, reason=reason, trace=trace.steps())

    async def _answer(self, body: QuestionBody, asking: EdgeId | None, requester: str, *, until: float) -> Answer:
        trace, sought = Trace(), EdgeQuery(body.question, body.purpose, asking, requester)
        query_id = body.query_id or self._new_id()
        if (remembered := await self._stored_answers.answer(sought, query_id, trace, until=until)) is not None:
            return remembered
        nobody = Answer(query_id, no_answer("not_matched", body.question), (), "cloud", answered=False)
        found = await self._collector.for_answer(sought, trace, m=body.m, until=until)
        if not found.asked:
            return with_edges(replace(nobody, reason=found.reason), found.reports, trace.steps())
        nobody = replace(nobody, answer=none_of(body.question, found.asked))
        try:
            answer = await self._write(body.question, found.evidence, nobody, trace, until=until)
        except ContextOverflow as error:
            log.warning("asked once more over fewer passages: %s", error.message)
            fewer = found.evidence[: (len(found.evidence) + 1) // 2]
            answer = await self._write(body.question, fewer, nobody, trace, until=until)
        return with_edges(answer, found.reports, trace.steps())

    async def _write(self, question: str, evidence: Sequence[Evidence], nobody: Answer, trace: Trace, *, until: float) -> Answer:
        if not evidence:
            return replace(nobody, reason="no passage is near enough to the question")
        nobody = replace(nobody, answer=unsupported_by(question, evidence))
        fence = Fence(secrets.token_hex(FENCE_BYTES))
        with trace.step("generate") as step:
            messages, settings = render(ANSWER, question, evidence, fence), self._settings
            prompt = Prompt(messages, max_tokens=settings.max_answer_tokens, stop=("\nQuestion:",), top_logprobs=TOP_LOGPROBS)
            reply = step.model(await self._models.generator.generate(prompt, deadline_s=until - self._clock.monotonic()))
        if fence.is_given_away(reply.texts[0], messages):
            return replace(nobody, reason="the model's answer is withheld: it repeats its instructions")
        if is_refusal(reply.texts[0]):
            return replace(nobody, reason="the model found no answer in the passages")
        if self._is_doubtful(reply) and not await self._suffices(question, evidence, fence, trace, until=until):
            return replace(nobody, reason="the passages found do not hold the answer")
        checking = Checking(self._models.generator, trace, Deadline(until - self._clock.monotonic()))
        shown = await tell(reply.texts[0], evidence, checking)
        if not shown.text:
            return replace(nobody, reason=UNSUPPORTED)
        return replace(nobody, answer=shown.text, citations=shown.citations, answered=True, reason=left_out(shown.left_out))

    def _is_doubtful(self, reply: Reply) -> bool:
        """Whether the model was near to refusing, so that a second call is worth its tokens; always, where it does not tell."""
        refusing = probability_of_start(reply.first_token, REFUSAL)
        return self._settings.verify and (refusing is None or refusing >= self._settings.min_doubt)

    async def _suffices(self, question: str, evidence: Sequence[Evidence], fence: Fence, trace: Trace, *, until: float) -> bool:
        """Whether the passages hold the answer, by the first token's Yes and No; a model that says neither decides nothing."""
        with trace.step("verify") as step:
            messages = render(ANSWER, question, evidence, fence, task=SUFFICIENT.user.template)
            prompt = Prompt(messages, max_tokens=1, top_logprobs=TOP_LOGPROBS, choices=YES_OR_NO)
            reply = step.model(await self._models.generator.generate(prompt, deadline_s=until - self._clock.monotonic()))
        probability = probability_of(reply.first_token, "yes", ["no"])
        return probability is None or probability >= self._settings.min_sufficiency


@asynccontextmanager
async def within(deadline_s: float) -> AsyncIterator[None]:
    """The whole of an answer. Raises ModelTimeout when it takes longer."""
    try:
        async with asyncio.timeout(deadline_s):
            yield
    except TimeoutError as error:
        raise ModelTimeout(deadline_s=deadline_s) from error
