"""Whole passages for somebody else's model: two rounds of asking, where the second follows what the first one's passages name."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from cloud_server.answering.fan_out import FanOutRequest, FanOutResult, of_each
from cloud_server.answering.gathering import FIRST_READ, CollectedEvidence, EdgeQuery, EvidenceCollector, asked_again
from cloud_server.answering.merging import distinct
from cloud_server.answering.ranking import Pool, near_rows, ordered, sentences_of, shared_places
from cloud_server.answering.untold import NOTHING, Named, Reading, Told, of_titles, reading, titles_of, told, untold
from shared.ports import FloatArray, embed_questions
from shared.records import EdgeId
from shared.telemetry.trace import Trace
from shared.text.sentences import questions_in
from shared.wire import MOST_WHOLE

FIRST = 2  # edges that are asked, the asking one among them, before it is known what their passages lead to
EDGE_SHARE = 0.5  # of the places, for one edge, where others have something near


@dataclass(frozen=True, slots=True)
class _Read:
    """What has come so far, in order, and the texts that lead further: the question with the best sentence of a passage."""

    order: list[int]  # rows of the pool, best first
    leads: list[str]
    vectors: FloatArray  # (l, d), of the leads
    reads: list[Reading]  # the texts whose names count
    told: Told  # the names that passages are about, and who sent these


def unread(question: str, questions: FloatArray) -> _Read:
    """Where nothing has come yet, the question alone leads further; ``questions`` (q, d): its vectors."""
    return _Read([], [question], questions, [Reading(question, 1.0)], NOTHING)


class Reader:
    """Finds passages for a reader.

    Edges see the question, and nothing of what other edges sent, but for the marks of those of their titles that it names.
    """

    def __init__(self, collector: EvidenceCollector) -> None:
        self._collector = collector

    async def find(self, sought: EdgeQuery, trace: Trace, *, budget_tokens: int, top_k: int, until: float) -> CollectedEvidence:
        """The passages of at most k edges, best first; the asking edge is one of them."""
        collector, settings = self._collector, self._collector.settings
        wanted = FanOutRequest(sought.question, budget_tokens, sought.requester, sought.purpose, whole=True)
        with trace.step("match"):
            questions = await embed_questions(collector.embedder, questions_in(sought.question))
            own = [sought.asking] if sought.asking and collector.can_ask(sought.asking) else []
            first = min(FIRST, settings.edges_k) - len(own)
            read = unread(sought.question, questions)
            asked = [*own, *(await self._nearest(sought, read, await self._named(read), but=own, k=first) if first else [])]
        if not asked:
            return CollectedEvidence((), (), (), "no summary is near enough to the question")
        results = [await collector.ask(asked, wanted, trace, until=until)]
        pool = await self._pool(results[0], questions, trace, budget_tokens=budget_tokens)
        found = await self._read(pool, sought.question, questions, trace)
        with trace.step("match"):
            named = await self._named(found)
            further = await self._nearest(sought, found, named, but=asked, k=room) if (room := settings.edges_k - len(asked)) else []
        there = asked_again(results[0].reports)
        titles = titles_of(untold([(text, names) for text, names in named if text.told], found.told), [*there, *further])
        again = [edge for edge in there if edge in titles]
        if asking := [*again, *further]:
            second = replace(wanted, titles=titles, titles_only=again)
            result = await collector.ask(asking, second, trace, until=until, earlier=results[0].reports)
            results.append(of_titles(result, {edge: titles[edge] for edge in again}))
            asked += further
            pool = pool.and_also(await self._pool(results[1], questions, trace, budget_tokens=budget_tokens))
            found = await self._read(pool, sought.question, questions, trace)
        reports = [report for result in results for report in result.reports]
        near = near_rows(pool, sought.question, found.order)[:FIRST_READ]
        useful = {pool.passages[row].edge for row in near}
        await collector.note(reports, useful, asked, sought.requester, outpaced=results[0].outpaced)
        ranked = distinct(pool.passages, pool.vectors, pool.cosines, found.order)
        kept = collector.within(ranked, budget_tokens=budget_tokens)
        evidence = shared_places(kept, k=top_k, share=EDGE_SHARE, near=settings.evidence_threshold)
        return CollectedEvidence(tuple(evidence), tuple(asked), of_each(reports))

    async def _pool(self, result: FanOutResult, questions: FloatArray, trace: Trace, *, budget_tokens: int) -> Pool:
        with trace.step("rescore"):
            return await self._collector.read(result, questions, budget_tokens=budget_tokens, most=MOST_WHOLE)

    async def _read(self, pool: Pool, question: str, questions: FloatArray, trace: Trace) -> _Read:
        embedder = self._collector.embedder
        if not pool.passages:
            return unread(question, questions)
        with trace.step("order"):
            order = await asyncio.to_thread(ordered, pool, question)
            said = sentences_of(pool, order)
            rows = await embedder.embed(list(chain.from_iterable(said)))
            ends = np.cumsum([len(of_passage) for of_passage in said])[:-1]
            nearest = [int((part @ questions[0]).argmax()) for part in np.split(rows, ends)]
            leading = [of_passage[row] for of_passage, row in zip(said, nearest, strict=True)]
            leads = [f"{question} {sentence}" for sentence in leading]
            return _Read(order, leads, await embedder.embed(leads), reading(question, pool, order, leading), told(pool))

    async def _named(self, read: _Read) -> list[Named]:
        return list(zip(read.reads, await self._collector.titled([one.text for one in read.reads]), strict=True))

    async def _nearest(self, sought: EdgeQuery, read: _Read, named: Sequence[Named], *, but: Sequence[EdgeId], k: int) -> list[EdgeId]:
        """Whom the question leads to, and what was read: the k best others."""
        return await self._collector.nearest(sought, read.leads, read.vectors, untold=untold(named, read.told), but=but, k=k)
