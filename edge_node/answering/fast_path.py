"""READ PATH, first of all: a question that a memory answers needs no model (FD-RAG §4.2, the Memorizer)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from edge_node.documents.store import DocumentStore
from edge_node.memory.guards import CHANGED, RIVAL_WITHIN, rejection
from edge_node.memory.records import Recalled, Scored, Support
from edge_node.memory.service import Memories
from edge_node.records import NOTHING_WITHHELD
from edge_node.settings import MemorySettings
from shared.ports import Embedder, embed_questions
from shared.records import Answer, EdgeId, Evidence, MemoryReport, Route
from shared.telemetry.logs import redacted
from shared.telemetry.trace import Trace
from shared.text.citations import cite, with_marker
from shared.text.fence import one_line
from shared.text.inert import inert
from shared.text.sentences import sentences

log = logging.getLogger("dgrag.edge.memory")
DEADLINE_S = 1.0  # a question that a memory could have answered goes on to the model, which takes ten times as long, rather than wait
MOST_CITED = 4  # sentences, where many say the same
LOWEST = -1.0  # of a score
SHADOW = "it would have answered; memories are only looked at here"


@dataclass(frozen=True, slots=True)
class FastPathResult:
    """What memories say to a question. Without an answer, ``report`` tells of the nearest one why it has none; None: nothing is near.

    ``near``: what was found then, best first.
    """

    answer: Answer | None = None
    report: MemoryReport | None = None
    near: tuple[Recalled, ...] = ()


NOTHING_SEEN = FastPathResult()


class FastPath:
    """Answers in the words of what was asked and answered before, with the sentences that say so."""

    def __init__(
        self,
        edge: EdgeId,
        memories: Memories,
        embedder: Embedder,
        documents: DocumentStore,
        settings: MemorySettings,
        *,
        others: bool = False,
    ) -> None:
        """``others``: beside a learned answer, what is too far to answer is found too, as far as ``OtherWords`` looks at it."""
        self._edge = edge
        self._memories = memories
        self._embedder = embedder
        self._documents = documents
        self._settings = settings
        self._others = others
        self.looked = 0  # questions since the start …
        self.answered = 0  # … and those of them that a memory answered

    async def answer(self, question: str, query_id: str, trace: Trace, withheld: frozenset[str] = NOTHING_WITHHELD) -> FastPathResult:
        """What memories say within ``DEADLINE_S``; none that rests on a withheld document.

        A failure is a miss, and logged: the model can still answer.
        """
        floor = self._floor()
        if floor is None:
            return NOTHING_SEEN
        (looked,) = await asyncio.gather(self._in_time(question, query_id, trace, floor, withheld), return_exceptions=True)
        if not isinstance(looked, FastPathResult):
            log.warning("memories could not be asked: %s", redacted(looked))
            return NOTHING_SEEN
        self.looked += 1
        self.answered += looked.answer is not None
        return looked

    def _floor(self) -> float | None:
        """The least score worth finding: with the rivals of what answers. None: nothing is looked at."""
        if self._settings.memory == "off":
            return None
        least = [score for score in self._settings.memory_threshold.values() if score <= 1]
        if self._settings.memory_fast == "shadow":
            return LOWEST
        return min(least) - RIVAL_WITHIN if least and self._settings.memory_fast in ("on", "model") else None

    async def _in_time(self, question: str, query_id: str, trace: Trace, floor: float, withheld: frozenset[str]) -> FastPathResult:
        with trace.step("remember"):
            async with asyncio.timeout(DEADLINE_S):
                vector = (await embed_questions(self._embedder, [question]))[0]
                k, others = self._settings.memory_k, self._others
                near = await self._memories.recalled(question, vector, k=k, floor=floor, withheld=withheld, others=others)
                found = [one for one in near if one.scored.score >= floor]
                looked = await asyncio.to_thread(self._judged, question, query_id, found) if found else NOTHING_SEEN
                return replace(looked, near=tuple(near))

    def _judged(self, question: str, query_id: str, found: Sequence[Recalled]) -> FastPathResult:
        """The best memory's answer, or why it has none.

        One that people call wrong, or that newer passages may contradict, does not stand in the way of the next one; neither does one below
        the threshold of its own kind, but it may still answer otherwise.
        """
        sound = [one for one in found if not (one.backing.silenced or one.backing.doubtful)] or found
        best = next((one for one in sound if one.scored.score >= self._settings.memory_threshold[one.scored.memory.kind]), sound[0])
        rivals = [one.scored for one in sound if one is not best]
        objection = rejection(question, best.scored, rivals, best.backing, self._settings)
        if objection or self._settings.memory_fast == "shadow":
            return FastPathResult(report=self._report(best.scored, objection or SHADOW))
        answer = self.told(best.scored, query_id, "memory")
        return FastPathResult(answer, answer.memory if answer else self._report(best.scored, CHANGED))

    def told(self, scored: Scored, query_id: str, route: Route) -> Answer | None:
        """What a memory answers, with the sentences that say so; None where its chunks were deleted since it was found."""
        passages = self._passages(scored)
        text, citations = cite(_offering(scored.memory.answer, len(passages)), passages)
        return Answer(query_id, text, citations, route, memory=self._report(scored, "")) if citations else None

    def _passages(self, scored: Scored) -> list[Evidence]:
        """The sentences that a memory, and those that ask and answer the same, rest on, as they stand in the store now."""
        supports = [support for memory in (scored.memory, *scored.same) for support in memory.supports]
        places = list(dict.fromkeys(supports))[:MOST_CITED]
        chunks = self._documents.chunks(sorted({place.chunk_id for place in places}))

        def passage(place: Support) -> Evidence:
            chunk, document, title = chunks[place.chunk_id]
            span = (chunk.start + place.start, chunk.start + place.end)
            text = chunk.text[place.start : place.end]
            at = (self._edge, chunk.document_id, document, chunk.chunk_id, span)
            return Evidence(*at, text, round(scored.cosine, 4), title=title, places=chunk.places)

        return [passage(place) for place in places if place.chunk_id in chunks]

    def _report(self, scored: Scored, objection: str) -> MemoryReport:
        memory = scored.memory
        question, answer = one_line(inert(memory.question)), one_line(inert(memory.answer))
        score, cosine, dice = (round(number, 4) for number in (scored.score, scored.cosine, scored.dice))
        threshold = self._settings.memory_threshold[memory.kind]
        return MemoryReport(memory.memory_id, memory.kind, question, answer, score, cosine, dice, threshold, objection)


def with_report(answer: Answer, look: FastPathResult) -> Answer:
    """An answer with what this site's memories say; what another site tells of its own is not shown.

    >>> with_report(Answer("q", "Ann Lee", (), "cloud", memory=MemoryReport("m", "model", "?", "!", 1, 1, 1, 0)), NOTHING_SEEN).memory
    """
    return replace(answer, memory=look.report)


def _offering(answer: str, passages: int) -> str:
    """An answer of which each sentence offers all passages as its sources; ``cite`` keeps those that say it.

    >>> _offering("Ann Lee built it. Bo Orr paid.", 2)
    'Ann Lee built it [1, 2]. Bo Orr paid [1, 2].'
    """
    marks = ", ".join(map(str, range(1, passages + 1)))
    return "".join(with_marker(answer[start:end], f" [{marks}]") for start, end in sentences(answer)) if passages else answer
