"""Questions about everything, asked of all sites at once: each maps over its own reports, the cloud reduces (GraphRAG §2.6).

No report leaves a site: points do, each with where it stands, under the policy of the site that sends it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from cloud_server.answering.availability import Availability
from cloud_server.answering.coordinator import Models, within
from cloud_server.answering.fan_out import FanOut, FanOutRequest, FanOutResult
from cloud_server.answering.points import in_own_order, in_turn, is_about_something, rescored, within_shares, worth_reading
from cloud_server.answering.prompts import with_edges, with_shortfalls
from cloud_server.registry.edges import EdgeRegistry
from cloud_server.settings import GlobalSettings
from shared.counts import apart
from shared.errors import ModelError
from shared.joining import Joiner
from shared.plural import counted
from shared.ports import Clock, embed_questions
from shared.records import Answer, EdgeId, EdgeReport, Evidence
from shared.reduce import OnText, ReducedAnswer, Reducer, coverage, ignore_text, left_out, said, spoken
from shared.telemetry.trace import Trace
from shared.text.no_answer import no_answer
from shared.wire import QuestionBody

FAN_OUT_SHARE = 0.75  # of the time that is left, at most: the model needs the rest
EMBED_SHARE = 0.25  # of the time that is left then: points that could not be compared are told as they are
REDUCE_SHARE = 0.9  # of the time that is left then: a model that is late leaves enough to tell the points as they are
EMBEDDED_CHARS = 600  # of a point, by which it is compared; an edge may send 16,000
MOST_SPOKEN = 12  # points that are told where the model is away


class GlobalCoordinator:
    """Answers questions about everything."""

    def __init__(
        self,
        registry: EdgeRegistry,
        fan_out: FanOut,
        availability: Availability,
        models: Models,
        settings: GlobalSettings,
        clock: Clock,
        new_id: Callable[[], str],
    ) -> None:
        self._registry = registry
        self._fan_out = fan_out
        self._availability = availability
        self._models = models
        self._reducer = (
            Reducer(models.generator, models.tokenizer.count, max_tokens=settings.global_answer_tokens)
            if settings.global_method == "paper"
            else Joiner(models.generator, models.embedder)
        )
        self._settings = settings
        self._clock = clock
        self._new_id = new_id

    async def answer(
        self, body: QuestionBody, *, deadline_s: float, asking: EdgeId | None = None, requester: str = "", on_text: OnText = ignore_text
    ) -> Answer:
        """Answer from the points of all sites, the asking one included; ``answered`` is False where none is of use.

        Edges learn who is the ``requester``; ``on_text`` is told the answer as it is written. A model that fails, or is late, costs order
        or wording only: ``degraded``. Raises ModelTimeout when the whole takes longer than ``deadline_s``, StoreError.
        """
        async with within(deadline_s):
            trace, until = Trace(), self._clock.monotonic() + deadline_s
            asked, skipped = await self._whom(asking, requester)
            result = await self._ask(asked, body, requester, trace, until=until)
            with trace.step("rescore"):
                points, uncompared = await self._read(body.question, result, requester, until=until)
            answer = Answer(body.query_id or self._new_id(), no_answer("not_told", body.question), (), "global", answered=False)
            if uncompared:
                answer = _as_they_came(answer, points, uncompared)
            elif points:
                answer = await self._write(body.question, points, answer, trace, until=until, on_text=on_text)
            elif result.evidence:
                answer = replace(answer, reason="of the points that came none could be used")
        reports = (*result.reports, *skipped)
        answer = with_shortfalls(with_edges(answer, reports, trace.steps()), result)
        return replace(answer, coverage=coverage(reports))

    async def _whom(self, asking: EdgeId | None, requester: str) -> tuple[list[EdgeId], list[EdgeReport]]:
        """All edges that are not set aside, and a report for each that is passed over; of too many those that are online, by name.

        No summary is matched: all sites are meant.
        """
        reaches, most = self._fan_out.reaches, self._settings.global_edges
        rows = await asyncio.to_thread(self._registry.all)
        joined, aside = [row.edge for row in rows if not row.quarantined], [row.edge for row in rows if row.quarantined]
        joined.sort(key=lambda edge: (edge != asking, not reaches(edge), edge))
        asked, skipped = self._availability.chosen(joined, k=most, online=reaches, requester=requester, task="reports")
        told = {*asked, *(report.edge for report in skipped)}
        why = f"a question is put to {counted(most, 'site')} at most"
        skipped += self._availability.set_aside(aside, "reports")
        return asked, [*skipped, *(EdgeReport(edge, "reports", "skipped", 0.0, 0, 0, why) for edge in joined if edge not in told)]

    async def _ask(self, edges: Sequence[EdgeId], body: QuestionBody, requester: str, trace: Trace, *, until: float) -> FanOutResult:
        settings = self._settings
        wanted = FanOutRequest(
            body.question,
            settings.global_reduce_tokens,
            requester,
            body.purpose,
            task="reports",
            level=body.level,
            max_bytes=settings.global_reply_bytes,
        )
        deadline_s = max(0.0, min(settings.global_deadline_s, FAN_OUT_SHARE * (until - self._clock.monotonic())))
        with trace.step("fan_out") as step:
            result = await self._fan_out.ask(edges, wanted, deadline_s=deadline_s, straggler_s=settings.global_straggler_s)
            step.transfer(sent=result.bytes_out, received=result.bytes_in)
        trace.extend((*result.transfers, *result.steps))
        return result

    async def _read(self, question: str, result: FanOutResult, requester: str, *, until: float) -> tuple[list[Evidence], str]:
        """The points that the answer is made of, best first, and why they are not, if so: as ``_best``.

        Who sent some, and none worth reading, was of no use.
        """
        settings, models = self._settings, self._models
        points = await asyncio.to_thread(worth_reading, result.evidence.values(), question, max_bytes=settings.global_reply_bytes)
        await self._availability.note(
            result.reports,
            matched=result.evidence,
            useful={point.edge for point in points},
            requester=requester,
            deadline_s=settings.global_deadline_s,
            outpaced=result.outpaced,
        )
        if not points:
            return [], ""
        counts, others = apart(points)
        best, uncompared = await self._best(question, others, until=until) if others else ([], "")
        shared = await asyncio.to_thread(within_shares, best, models.tokenizer, budget_tokens=settings.global_reduce_tokens)
        return [*(point for _, point in counts), *shared], uncompared

    async def _best(self, question: str, points: Sequence[Evidence], *, until: float) -> tuple[list[Evidence], str]:
        """The points, nearest to the question first; or in turn, each site's in its own order, and why: the embedder is late, or fails."""
        try:
            async with asyncio.timeout(EMBED_SHARE * (until - self._clock.monotonic())):
                asked = await embed_questions(self._models.embedder, [question])
                vectors = await self._models.embedder.embed([said(point)[:EMBEDDED_CHARS] for point in points])
        except TimeoutError:
            return in_turn(points), "they were not compared with the question in time"
        except ModelError as error:
            return in_turn(points), f"they could not be compared with the question: {error.message}"
        best = await asyncio.to_thread(rescored, points, vectors, asked)
        if self._settings.global_method == "sentences":
            return in_own_order(best, points), ""
        return (best if is_about_something([point.score for point in best]) else in_turn(points)), ""

    async def _write(
        self, question: str, points: Sequence[Evidence], nobody: Answer, trace: Trace, *, until: float, on_text: OnText
    ) -> Answer:
        left_s = REDUCE_SHARE * (until - self._clock.monotonic())
        try:
            told = await self._reducer.reduce(question, points, trace, deadline_s=left_s, on_text=on_text)
        except ModelError as error:
            return _as_they_came(nobody, points, f"the model wrote no answer: {error.message}")
        if told is None:
            points_alone = _as_they_came(nobody, points, "the model wrote no answer: no sentence of it rests on a point")
            return replace(points_alone, degraded=False)  # nothing was away: the same question would be answered so again
        return _worded(nobody, told, reason=left_out(told.left_out))


def _as_they_came(nobody: Answer, points: Sequence[Evidence], why: str) -> Answer:
    """The points without a model's words, as far as they may be shown."""
    told = spoken(points, most=MOST_SPOKEN)
    if not told.text:
        return replace(nobody, degraded=True, reason=f"no point may be shown as it is, and {why}")
    return replace(_worded(nobody, told, reason=f"the points as they came, for {why}"), degraded=True)


def _worded(answer: Answer, told: ReducedAnswer, *, reason: str) -> Answer:
    return replace(answer, answer=told.text, citations=told.citations, answered=True, reason=reason)
