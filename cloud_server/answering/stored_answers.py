"""Answers that a trusted edge has told already, given once its own passage confirms them: no model has a part in it (FD-RAG §6)."""

from __future__ import annotations

from collections.abc import Sequence

from cloud_server.answering.availability import Availability
from cloud_server.answering.fan_out import FanOutRequest, FanOutResult
from cloud_server.answering.gathering import EdgeQuery, EvidenceCollector
from cloud_server.answering.prompts import with_edges
from cloud_server.routing.memory_index import MemoryCandidate, MemoryIndex
from cloud_server.settings import MemorySettings
from shared.ports import Clock, embed_questions
from shared.records import Answer, EdgeId, Evidence, MemoryReport
from shared.telemetry.trace import Trace
from shared.text.citations import cite
from shared.text.fence import one_line
from shared.text.inert import inert
from shared.text.refusals import is_refusal
from shared.text.same_question import covered, is_single
from shared.text.sentences import WORD, names_in, sentences

ROUND_S = 2.0  # for the owner's passage: who takes longer costs the usual way no more than that
BUDGET_TOKENS = 400


def holds_answer(answer: str, text: str) -> bool:
    """Whether one sentence of a text holds all words of an answer.

    >>> holds_answer("Ann Lee", "Bo Lee sold it. Ann met him."), holds_answer("Ann Lee", "It was built by Ann Lee.")
    (False, True)
    """
    return any(_words(answer) <= _words(text[start:end]) for start, end in sentences(text)) and bool(_words(answer))


def confirming(question: str, told: str, answer: str, passages: Sequence[Evidence]) -> Evidence | None:
    """The first passage that confirms an answer to ``told`` as one to ``question``; None: none does.

    It may be quoted, one sentence of it holds the answer, all content words of the question stand in that or in ``told``, and each name
    of the question in the passage or its title.
    """
    for passage in passages:
        said = [passage.text[start:end] for start, end in sentences(passage.text)]
        is_said = any(holds_answer(answer, sentence) and covered(question, [told, sentence]) >= 1 for sentence in said)
        shown = _words(f"{passage.title} {passage.text}")
        if passage.quotable and is_said and all(_words(name) <= shown for name in names_in(question)):
            return passage
    return None


def given(best: MemoryCandidate, passage: Evidence, query_id: str, *, threshold: float) -> Answer | None:
    """The stored answer with its citation; None: it is a refusal, or cannot be cited."""
    text, citations = cite(one_line(inert(best.memory.answer)), [passage])
    if not citations or is_refusal(text):
        return None
    said = MemoryReport(
        memory_id=best.memory.memory_id,
        kind="direct",
        question=one_line(inert(best.memory.question)),
        answer=text,
        score=round(best.score, 4),
        cosine=round(best.cosine, 4),
        dice=round(best.dice, 4),
        threshold=threshold,
    )
    return Answer(query_id, text, citations, "memory", memory=said)


def _words(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(text.casefold()))


class StoredAnswers:
    """Looks whether a question has been answered by a site that is trusted, and asks that site whether it still says so."""

    def __init__(
        self, bank: MemoryIndex, collector: EvidenceCollector, availability: Availability, settings: MemorySettings, clock: Clock
    ) -> None:
        self._bank = bank
        self._collector = collector
        self._availability = availability
        self._trusted = frozenset(map(EdgeId, settings.memory_trusted))
        self._threshold = settings.memory_threshold
        self._clock = clock

    async def answer(self, sought: EdgeQuery, query_id: str, trace: Trace, *, until: float) -> Answer | None:
        """The stored answer with the owner's citation; None: the usual way, also where the owner is away, refuses or is late."""
        owners = [edge for edge in sorted(self._trusted) if self._collector.can_ask(edge)]
        if not owners or not is_single(sought.question):
            return None
        with trace.step("remember"):
            vector = (await embed_questions(self._collector.embedder, [sought.question]))[0]
            best = await self._bank.best(sought.question, vector, owners=owners, threshold=self._threshold)
        if best is None:
            return None
        result = await self._ask(best, sought, trace, until=until)
        passages, reports = result.evidence.get(best.edge, ()), result.reports
        passage = confirming(sought.question, best.memory.question, best.memory.answer, passages)
        found = given(best, passage, query_id, threshold=self._threshold) if passage else None
        useful = {best.edge} if found else set[EdgeId]()
        await self._availability.note(reports, matched={best.edge}, useful=useful, requester=sought.requester, outpaced=result.outpaced)
        if found is not None:
            return with_edges(found, reports, trace.steps())
        if passages and not any(holds_answer(best.memory.answer, one.text) for one in passages):  # it told what its documents do not say
            await self._bank.refute(best.edge, best.memory.memory_id)
            self._availability.disappointed(best.edge, sought.requester)
        return None

    async def _ask(self, best: MemoryCandidate, sought: EdgeQuery, trace: Trace, *, until: float) -> FanOutResult:
        """The owner, for the passage of that memory alone."""
        memories = {best.edge: [best.memory.memory_id]}
        asked = (sought.question, BUDGET_TOKENS, sought.requester, sought.purpose)
        wanted = FanOutRequest(*asked, memories=memories, memories_only=True)
        soon = min(until, self._clock.monotonic() + 2 * ROUND_S)  # one round takes half of the time that is left at most
        return await self._collector.ask([best.edge], wanted, trace, until=soon)
