"""What becomes of an answer once it is given: people say that it was right or wrong, and an edge learns of it (FD-RAG §4.1)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from edge_node.documents.store import DocumentStore
from edge_node.memory.anchors import anchors_of
from edge_node.memory.guards import stands
from edge_node.memory.records import Memory, Support, memory_of
from edge_node.memory.service import Memories
from shared.errors import Conflict, NotFound
from shared.ports import Embedder, embed_questions
from shared.records import Answer, Chunk, ChunkId, EdgeId, whole_of
from shared.telemetry.logs import redacted
from shared.text.citations import MARKER
from shared.text.refusals import is_refusal

log = logging.getLogger("dgrag.edge.memory")
Learn = Literal["off", "confirmed", "gate"]
MOST_ANSWERS = 10_000  # that can still be judged
READERS = 3  # so many keys that may only read must say the same before it counts for everybody, as one verdict
MAX_QUESTION_CHARS = 300  # of a question that is learned
HERE = "ask in mode 'local', and judge that answer"
SURE_ALIKE, SURE_SUFFICIENT = 0.8, 0.7  # what the gate must have found, to learn an answer that nobody has judged


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A cited sentence: characters [start, end) of its document."""

    chunk_id: ChunkId
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question with its answer, without markers, and what it cites: what may be remembered of an answer."""

    question: str
    answer: str
    places: tuple[CitedSentence, ...]


class Outcome(StrEnum):
    """What a verdict has changed."""

    learned = "learned"  # the answer is remembered from now on
    counted = "counted"  # for or against the memory that gave it
    noted = "noted"  # of a key that may only read: it changes nothing before others say the same
    nothing = "nothing"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why no verdict is taken on an answer, and what whoever judged it can do."""

    reason: str
    next_step: str


@dataclass(slots=True)
class _Given:
    """An answer that can be judged. ``memory_id``: what it came from, or what was learned of it; "": neither.

    ``since``: the strategy's ``arrivals`` when it was asked for.
    """

    since: int
    memory_id: str = ""
    lesson: AnsweredQuestion | None = None
    refusal: Refusal | None = None  # no verdict is taken on it
    is_judged: bool = False


_Subject = tuple[str | AnsweredQuestion | None, bool]  # a memory's id or what could be learned, and whether it is called right


def lesson_of(question: str, answer: Answer, edge: EdgeId) -> AnsweredQuestion | None:
    """What may be remembered of an answer: only one of a model of this site that cites this site alone.

    An answer that rests on another site's passages would outlive that site's policy, meter and erasure here.
    """
    text = MARKER.sub("", answer.answer).strip()
    is_own = answer.route == "local" and answer.answered and not answer.degraded and not is_refusal(text)
    is_cited = bool(answer.citations) and all(citation.edge == edge for citation in answer.citations)
    if not (is_own and is_cited and len(question) <= MAX_QUESTION_CHARS):
        return None
    places = (CitedSentence(whole_of(citation.chunk_id), *citation.span) for citation in answer.citations)
    return AnsweredQuestion(question, text, tuple(dict.fromkeys(places)))


def unjudged(answer: Answer, edge: EdgeId) -> Refusal | None:
    """Why no verdict is taken on an answer: verdicts stay at their site, and of what others wrote, or was told of all, nothing is kept.

    >>> unjudged(Answer("q", "Ann Lee", (), "cloud"), EdgeId("ward")).reason
    'the cloud wrote this answer, and no site remembers it: there is nothing that a verdict could change'
    """
    if answer.route == "memory" and not _own_memory(answer):
        owner = next((citation.edge for citation in answer.citations if citation.edge != edge), None)
        if owner is None:
            return Refusal("the cloud gave this answer from what it was told of this site's memories, and it takes no verdicts", HERE)
        told = f"{HERE}; or tell {owner}, where `dgrag memories --delete` silences a memory"
        return Refusal(f"the memory is another site's: {owner} gave this answer, and no verdict goes there", told)
    if answer.route == "cloud":
        return Refusal("the cloud wrote this answer, and no site remembers it: there is nothing that a verdict could change", HERE)
    if answer.route == "global":
        return Refusal("an answer to a question about everything is not remembered: it is written anew each time", "ask again")
    return None


def _own_memory(answer: Answer) -> str:
    """The id of the memory of this site that gave an answer; "": none did."""
    return answer.memory.memory_id if answer.memory is not None and not answer.memory.why_not else ""


def is_sure(answer: Answer) -> bool:
    """Whether the gate is so sure of an answer that it is learned unjudged."""
    gate = answer.gate
    if gate is None or gate.decision != "local" or gate.similarity is None or gate.confidence is None:
        return False
    return gate.similarity.mean >= SURE_ALIKE and (gate.confidence.sufficiency or 0.0) >= SURE_SUFFICIENT


def learned(lesson: AnsweredQuestion, chunks: Mapping[ChunkId, Chunk]) -> Memory | None:
    """The memory of a lesson; None where a chunk is gone, or its sentences do not say the answer: it could never be given."""
    supports, sentences = list[Support](), list[str]()
    for place in lesson.places:
        chunk = chunks.get(place.chunk_id)
        if chunk is None or not chunk.start <= place.start < place.end <= chunk.end:
            return None
        support = Support(place.chunk_id, place.start - chunk.start, place.end - chunk.start)
        supports.append(support)
        sentences.append(chunk.text[support.start : support.end])
    memory = memory_of("learned", lesson.question, lesson.answer, supports, anchors_of(lesson.question, ()))
    return memory if stands(memory, sentences) else None


class FeedbackDesk:
    """The last answers, in memory only, and what is made of what people say of them."""

    def __init__(self, edge: EdgeId, memories: Memories, embedder: Embedder, documents: DocumentStore, learn: Learn) -> None:
        self._edge = edge
        self._memories = memories
        self._embedder = embedder
        self._documents = documents
        self._learn = learn
        self._given: OrderedDict[str, _Given] = OrderedDict()  # by id of the question, the oldest first
        self._said: OrderedDict[_Subject, set[str]] = OrderedDict()  # which readers said so, the oldest first

    @property
    def arrivals(self) -> int:
        """For ``given``: to be read before a question is answered."""
        return self._memories.arrivals

    async def given(self, question: str, answer: Answer, *, since: int, of_all: bool = True) -> None:
        """Note an answer, so that it can be judged; where the gate may teach and is sure of it, it is learned at once.

        ``since``: the ``arrivals`` before it was looked for. ``of_all``: it was asked of all documents; else nothing is learned of it, as
        that would answer the same question without filters.
        """
        lesson = None if self._learn == "off" or not of_all else lesson_of(question, answer, self._edge)
        self._given[answer.query_id] = noted = _Given(since, _own_memory(answer), lesson, unjudged(answer, self._edge))
        if len(self._given) > MOST_ANSWERS:
            self._given.popitem(last=False)
        if self._learn == "gate" and lesson is not None and is_sure(answer):
            (taught,) = await asyncio.gather(self._taught(lesson, noted.since), return_exceptions=True)
            if isinstance(taught, str):
                noted.memory_id = taught
            else:  # the answer is good all the same
                log.warning("an answer could not be learned: %s", redacted(taught))

    async def judge(self, query_id: str, *, right: bool, reader: str = "") -> Outcome:
        """Take a verdict on an answer: of a memory's it is counted, another one that is right may be learned.

        ``reader``: the name of a key that may only read. Its verdict is noted; each ``READERS`` names that say the same count as one.
        Raises NotFound for an answer that is not among the last ones, and Conflict for a second verdict, and as ``unjudged`` says.
        """
        given = self._given.get(query_id)
        if given is None:
            raise NotFound("answer", query_id, next_step="judge an answer soon: its id is forgotten with a restart of the edge")
        if given.refusal is not None:
            raise Conflict(given.refusal.reason, next_step=given.refusal.next_step)
        if given.is_judged:
            raise Conflict("this answer was judged already", next_step="ask again, to judge the new answer")
        given.is_judged = True
        if reader and not self._is_said_by_enough(given, reader, right=right):
            return Outcome.noted if given.memory_id or (given.lesson and right) else Outcome.nothing
        try:
            return await self._taken(given, right=right)
        except BaseException:
            given.is_judged = False  # it was not noted: it may be sent again
            raise

    def _is_said_by_enough(self, given: _Given, reader: str, *, right: bool) -> bool:
        subject = (given.memory_id or given.lesson, right)
        said = self._said.setdefault(subject, set())
        if len(self._said) > MOST_ANSWERS:
            self._said.popitem(last=False)
        is_new = reader not in said
        said.add(reader)
        return is_new and len(said) % READERS == 0

    async def _taken(self, given: _Given, *, right: bool) -> Outcome:
        memory_id, outcome = given.memory_id, Outcome.counted
        if not memory_id and right and given.lesson is not None:
            memory_id, outcome = await self._taught(given.lesson, given.since), Outcome.learned
        if memory_id:
            with contextlib.suppress(NotFound):  # its documents are gone, and so is the memory; or somebody has deleted it for good
                await self._memories.rate(memory_id, right=right)
                return outcome
        return Outcome.nothing

    async def _taught(self, lesson: AnsweredQuestion, since: int) -> str:
        """Learn it; returns the memory's id, "" where it could never answer."""
        chunks = await asyncio.to_thread(self._documents.chunks, sorted({place.chunk_id for place in lesson.places}))
        memory = learned(lesson, {ChunkId(chunk_id): chunk for chunk_id, (chunk, _, _) in chunks.items()})
        if memory is None:
            return ""
        await self._memories.learn(memory, (await embed_questions(self._embedder, [lesson.question]))[0], since=since)
        return memory.memory_id
