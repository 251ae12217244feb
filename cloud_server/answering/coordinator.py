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
from cloud_server.answering.prompts import none_of, unsupported_by, with_edges
from cloud_server.answering.stored_answers import StoredAnswers
from cloud_server.settings import AnswerSettings
from shared.drafts import Draft, Sampling, cited, draft, messages_over
from shared.errors import ContextOverflow, ModelTimeout
from shared.evidence import Found, FoundPassage, SearchBody
from shared.missing import missing_reason, summaries_reason
from shared.ports import Clock, Embedder, Generator, Tokenizer
from shared.records import Answer, EdgeId, Evidence
from shared.telemetry.trace import Trace
from shared.text.claims import closest_passages
from shared.text.fence import FENCE_BYTES, Fence
from shared.text.no_answer import no_answer
from shared.wire import QuestionBody

log = logging.getLogger("dgrag.cloud.answer")
STEPS = ("generate", "verify")  # of a trace
SEED = 7  # of the samples: the same question over the same passages has the same answer
NO_ANSWER = "the model found no answer in the passages"
UNBORNE = "no passage bears out what the model answered"
GUESSED = "several drafts of the answer did not say the same, and the passages do not bear out one of them"


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
        nobody = Answer(query_id, no_answer("not_matched", body.question), (), "cloud", answered=False, certain=False)
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
        settings, fence = self._settings, Fence(secrets.token_hex(FENCE_BYTES))
        nobody = replace(nobody, answer=unsupported_by(question, evidence), closest=closest_passages(question, evidence))
        drafted = await draft(
            question,
            messages_over(question, evidence, fence),
            evidence,
            self._models.generator,
            fence,
            Sampling(settings.samples, settings.max_answer_tokens, settings.temperature, SEED),
            trace,
            left_s=lambda: until - self._clock.monotonic(),
            is_checked=settings.verify,
            steps=STEPS,
        )
        if drafted.selected is None:
            refused = drafted.refusals * 2 > len(drafted.samples)
            return replace(nobody, reason=NO_ANSWER if refused else UNBORNE)
        if drafted.shown is not None and drafted.shown < settings.min_shown:
            return replace(nobody, reason="the passages found do not show the answer that the model gave")
        answer = await asyncio.to_thread(cited, question, drafted, evidence)
        if not answer.citations:
            return replace(nobody, reason=UNBORNE)
        passed_by = answer.doubt(question, evidence)
        if drafted.is_guess(min_agreement=settings.min_agreement, min_sufficiency=settings.min_sufficiency, doubt=passed_by):
            return replace(nobody, reason=GUESSED)
        doubt = self._doubt(drafted) or passed_by
        return replace(
            nobody,
            answer=answer.text,
            citations=answer.citations,
            answered=True,
            certain=not doubt,
            reason=f"not certain: {doubt}" if doubt else "",
            closest=nobody.closest if doubt else (),
            unanswered=answer.unanswered,
        )

    def _doubt(self, drafted: Draft) -> str:
        """Why an answer is not certain; empty where it is."""
        settings = self._settings
        if drafted.refusals:
            return "some drafts say that the passages do not answer the question"
        if drafted.agreement < settings.min_agreement:
            return "several drafts of the answer did not say the same"
        if drafted.shown is not None and drafted.shown < settings.min_sufficiency:
            return "the passages may not show this answer"
        return ""


@asynccontextmanager
async def within(deadline_s: float) -> AsyncIterator[None]:
    """The whole of an answer. Raises ModelTimeout when it takes longer."""
    try:
        async with asyncio.timeout(deadline_s):
            yield
    except TimeoutError as error:
        raise ModelTimeout(deadline_s=deadline_s) from error
