"""⑥ What all sites know of a question (DGRAG §III-C): match summaries, ask their owners, merge. No language model has a part in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from cloud_server.answering.availability import Availability
from cloud_server.answering.fan_out import FanOut, FanOutRequest, FanOutResult, of_each
from cloud_server.answering.merging import cosines, distinct, fill_budget, fill_ranked, within_request
from cloud_server.answering.patience import straggler
from cloud_server.answering.ranking import Pool, by_parts
from cloud_server.answering.untold import first_read, of_titles, titles_of, told, untold
from cloud_server.routing.matching import FURTHER, SummaryMatch, Untold, covering, owners
from cloud_server.routing.memory_index import MemoryIndex
from cloud_server.routing.summary_index import SummaryIndex
from cloud_server.settings import RetrievalSettings
from shared.ports import Clock, Embedder, FloatArray, Tokenizer, embed_questions
from shared.records import EdgeId, EdgeReport, Evidence
from shared.telemetry.trace import Trace
from shared.text.marks import about
from shared.text.prompts import grouped
from shared.text.sentences import questions_in
from shared.wire import MAX_EVIDENCE, MOST_WHOLE

BEYOND = 2  # edges more than k that are asked, for documents about names that were read: one may only claim to have them
FIRST_READ = 8  # passages, in their order: who sent one of them was of use
RETRIEVAL_SHARE = 0.5  # of the time that is left, at most: the model needs the rest


@dataclass(frozen=True, slots=True)
class EdgeQuery:
    """A question, as it is put to the edges."""

    question: str
    purpose: str | None
    asking: EdgeId | None
    requester: str  # an edge, or "operator:<key name>"


@dataclass(frozen=True, slots=True)
class CollectedEvidence:
    """Passages, best first, and what became of each edge."""

    evidence: tuple[Evidence, ...]
    asked: tuple[EdgeId, ...]
    reports: tuple[EdgeReport, ...]
    reason: str = ""  # why nobody was asked


def asked_again(reports: Sequence[EdgeReport]) -> list[EdgeId]:
    """Who may be asked in a second round: who answered the first one, and did not hold it up."""
    slow = straggler(reports)
    return [report.edge for report in reports if report.status == "answered" and report.edge != slow]


@dataclass(frozen=True, slots=True)
class _Chosen:
    """``matched`` claim to know, by their summaries or memories; ``skipped``: a report for each edge that is passed over."""

    matched: list[EdgeId]
    asked: list[EdgeId]
    skipped: list[EdgeReport]
    hints: Mapping[EdgeId, Sequence[str]]  # ids of the memories that said so


class EvidenceCollector:
    """Chooses edges, asks them, and reads what they send."""

    def __init__(
        self,
        summary_index: SummaryIndex,
        fan_out: FanOut,
        availability: Availability,
        embedder: Embedder,
        tokenizer: Tokenizer,
        settings: RetrievalSettings,
        clock: Clock,
        bank: MemoryIndex,
    ) -> None:
        self._summary_index = summary_index
        self._bank = bank
        self._fan_out = fan_out
        self._availability = availability
        self._tokenizer = tokenizer
        self._clock = clock
        self.embedder = embedder
        self.settings = settings

    async def for_answer(self, sought: EdgeQuery, trace: Trace, *, m: int | None, until: float) -> CollectedEvidence:
        """The best passages for the cloud's own model, whole, within its budget, of the edges whose summaries match."""
        settings = self.settings
        with trace.step("match"):
            questions = await embed_questions(self.embedder, questions_in(sought.question))
            chosen = await self._chosen(sought, questions, m=m or settings.match_m)
        if not chosen.asked:
            reason = "no site that may know can be asked now" if chosen.skipped else "no summary is near enough to the question"
            return CollectedEvidence((), (), tuple(chosen.skipped), reason)
        budget = settings.evidence_budget_tokens
        wanted = FanOutRequest(sought.question, budget, sought.requester, sought.purpose, memories=chosen.hints, whole=True)
        first = await self.ask(chosen.asked, wanted, trace, until=until)
        with trace.step("rescore"):
            pool = await self.read(first, questions, budget_tokens=budget, most=MOST_WHOLE)
            titles = await self._named(sought, pool, first.reports)
        reports = first.reports
        if titles:
            about_names = replace(wanted, memories={}, titles=titles, titles_only=list(titles))
            second = await self.ask(list(titles), about_names, trace, until=until, earlier=first.reports)
            reports += second.reports
            with trace.step("rescore"):
                pool = pool.and_also(await self._read_about(sought.question, of_titles(second, titles), budget_tokens=budget))
        with trace.step("order"):
            order = await asyncio.to_thread(by_parts, pool, sought.question, questions)
        useful = {pool.passages[row].edge for row in order[:FIRST_READ]}
        await self.note(reports, useful, chosen.matched, sought.requester, outpaced=first.outpaced)
        ranked = distinct(pool.passages, pool.vectors, pool.cosines, order)
        evidence = grouped(fill_ranked(ranked, self._tokenizer, budget_tokens=budget))
        asked = tuple(dict.fromkeys((*chosen.asked, *titles)))
        return CollectedEvidence(tuple(evidence), asked, (*of_each(reports), *chosen.skipped))

    async def _named(self, sought: EdgeQuery, pool: Pool, reports: Sequence[EdgeReport]) -> dict[EdgeId, bytes]:
        """The marks to ask sites for, those that answered and a few more: of names that were read and that no passage is about."""
        read = await asyncio.to_thread(first_read, sought.question, pool)
        named = zip(read, await self.titled([one.text for one in read]), strict=True)
        names = untold([(text, owners) for text, owners in named if text.told], told(pool))
        asked = {report.edge for report in reports}
        others = sorted({edge for name in names for edge in name.owners if edge not in asked and self._fan_out.reaches(edge)})
        room = BEYOND + max(0, self.settings.edges_k - len(asked))
        best = covering(others, {}, names)
        further = self._availability.chosen(best, k=room, online=self._fan_out.reaches, requester=sought.requester)[0]
        return titles_of(names, [*asked_again(reports), *further])

    async def _read_about(self, question: str, result: FanOutResult, *, budget_tokens: int) -> Pool:
        """The passages of documents that were asked for by their titles, each compared with the question as it is put to its document."""
        titles = sorted({one.title for passages in result.evidence.values() for one in passages})
        vectors = dict(zip(titles, await self.embedder.embed([about(question, title) for title in titles]), strict=True)) if titles else {}
        pool = await self.read(result, np.empty((0, self.embedder.dimensions), np.float32), budget_tokens=budget_tokens)
        scores = [float(row @ vectors[one.title]) for one, row in zip(pool.passages, pool.vectors, strict=True)]
        return replace(pool, cosines=np.clip(np.array(scores, dtype=np.float32), -1.0, 1.0))

    async def matched(self, question: str, *, m: int, min_score: float | None = None) -> tuple[list[SummaryMatch], list[EdgeId]]:
        """The m summaries that a question matches, and their edges: as for an answer, down to ``min_score`` where one is given."""
        questions = await embed_questions(self.embedder, questions_in(question))
        found = await self._matches(question, questions, m=m, min_cosine=self.settings.match_threshold if min_score is None else min_score)
        return found[:m], owners(found[:m])

    async def _matches(self, question: str, questions: FloatArray, *, m: int, min_cosine: float) -> list[SummaryMatch]:
        slots, lead, reaches = self.settings.slots_per_edge, self.settings.match_lead, self._fan_out.reaches
        return await self._summary_index.match(question, questions, m=m, min_cosine=min_cosine, slots=slots, lead=lead, reaches=reaches)

    async def ask(
        self, edges: Sequence[EdgeId], wanted: FanOutRequest, trace: Trace, *, until: float, earlier: Sequence[EdgeReport] = ()
    ) -> FanOutResult:
        """One round, after ``earlier`` ones: all ``edges`` at once, for half of the time that is left at most."""
        with trace.step("fan_out") as step:
            deadline_s, straggler_s = self._retrieval_s(until), self.settings.straggler_s
            result = await self._fan_out.ask(edges, wanted, deadline_s=deadline_s, straggler_s=straggler_s, earlier=earlier)
            step.transfer(sent=result.bytes_out, received=result.bytes_in)
        trace.extend(result.steps)
        return result

    async def read(self, result: FanOutResult, questions: FloatArray, *, budget_tokens: int, most: int = MAX_EVIDENCE) -> Pool:
        """The passages that came and say something, with the cloud's own vectors; of an edge that sends more than asked for, the first."""
        sent = [within_request(passages[:most], budget_tokens=budget_tokens) for passages in result.evidence.values()]
        passages = [one for one in chain.from_iterable(sent) if one.text.strip()]
        if not passages:
            return Pool((), questions[:0], np.empty(0, dtype=np.float32))
        vectors = await self.embedder.embed([passage.text for passage in passages])
        return Pool(passages, vectors, cosines(vectors, questions))

    def within(self, ranked: Sequence[Evidence], *, budget_tokens: int) -> list[Evidence]:
        """As ``fill_budget``."""
        return fill_budget(ranked, self._tokenizer, budget_tokens=budget_tokens)

    async def note(
        self,
        reports: Sequence[EdgeReport],
        useful: Collection[EdgeId],
        matched: Collection[EdgeId],
        requester: str,
        *,
        outpaced: Collection[EdgeId],
    ) -> None:
        """Remember who sent one of the first passages, whether or not another site sent the same.

        ``outpaced``: in the first round, where all had the same time.
        """
        await self._availability.note(reports, matched=matched, useful=useful, requester=requester, outpaced=outpaced)

    async def nearest(
        self,
        sought: EdgeQuery,
        texts: Sequence[str],
        vectors: FloatArray,
        *,
        untold: Sequence[Untold],
        but: Collection[EdgeId],
        k: int,
        min_cosine: float | None = None,
    ) -> list[EdgeId]:
        """The k edges to ask for passages, best first: that have documents about ``untold`` names, or share names and rare words.

        ``min_cosine``: of a summary of each; None: a share of the threshold of matching.
        """
        least = FURTHER * self.settings.match_threshold if min_cosine is None else min_cosine
        found = await self._summary_index.nearest_edges(texts, vectors, min_cosine=least, untold=untold)
        others = [edge for edge in found if edge not in but and self._fan_out.reaches(edge)]
        return self._availability.chosen(others, k=k, online=self._fan_out.reaches, requester=sought.requester)[0]

    async def titled(self, texts: Sequence[str]) -> list[dict[str, frozenset[EdgeId]]]:
        """As ``SummaryIndex.titled``."""
        return await self._summary_index.titled(texts)

    def can_ask(self, edge: EdgeId) -> bool:
        """Whether the asking edge can be asked as well: of what use it was plays no part."""
        return self._fan_out.reaches(edge) and self._availability.lets(edge)

    def _retrieval_s(self, until: float) -> float:
        return max(0.0, min(self.settings.deadline_s, RETRIEVAL_SHARE * (until - self._clock.monotonic())))

    async def _chosen(self, sought: EdgeQuery, questions: FloatArray, *, m: int) -> _Chosen:
        """The edges whose summaries match, and those to ask.

        The asking edge is one of the k: its passages did not suffice alone, but may with another site's, or with a larger model. So is,
        where k leaves room for it, the nearest that only memories speak for: what they say is never read, only whom they belong to.
        Where fewer than two others match, a second opinion is asked, if m and k leave room for one, then those that share names and rare
        words with the question, as codes mean little to an embedder; that they cannot be had is no loss to report.
        For a question of an edge these need not match at all: its own passages do not suffice, and summaries pass over much.
        """
        settings, asking, reaches = self.settings, sought.asking, self._fan_out.reaches

        def is_other(edge: EdgeId) -> bool:
            return edge != asking and reaches(edge)

        def chosen(edges: Sequence[EdgeId], k: int, online: Callable[[EdgeId], bool] = reaches) -> tuple[list[EdgeId], list[EdgeReport]]:
            return self._availability.chosen(edges, k=k, online=online, requester=sought.requester)

        matched = owners(await self._matches(sought.question, questions, m=m, min_cosine=settings.match_threshold))
        hints = await self._bank.hinted(questions, min_cosine=settings.memory_hint, reaches=reaches)
        own = [asking] if asking and self.can_ask(asking) else []
        room = max(1, settings.edges_k - len(own))
        hinted = [edge for edge in hints if edge != asking and edge not in matched][:1]
        more, passed_over = chosen(hinted, 1) if room > 1 or not matched else ([], [])
        asked, skipped = chosen([edge for edge in matched if edge not in own], room - len(more))
        asked += more
        if m > 1 and len(asked) < room:
            others = [edge for edge in (*matched, *more) if edge != asking] or matched
            further = await self._summary_index.second_opinion(
                questions, known=others, min_cosine=settings.match_threshold, reaches=is_other
            )
            asked += chosen(further, 1, is_other)[0]
            known = [*asked, *own]
            least = -1.0 if own else None
            asked += await self.nearest(
                sought, [sought.question], questions[:1], untold=(), but=known, k=room - len(asked), min_cosine=least
            )
        aside = await self._summary_index.set_aside(questions, min_cosine=settings.match_threshold)
        passed_over += self._availability.set_aside(edge for edge in aside if edge != asking)
        return _Chosen([*matched, *more], [*asked, *own], [*skipped, *passed_over], hints)
