"""The memories of all edges, searchable: which one may answer a question, and whom the hints say to ask (FD-RAG, memory federation)."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

import numpy as np

from cloud_server.registry.edges import EdgeRegistry
from cloud_server.routing.delta_embedding import DeltaEmbedding, part_turns
from cloud_server.routing.memories import MemoryStore
from cloud_server.routing.renewal import News
from cloud_server.routing.replica import Replicated
from cloud_server.routing.screening import UNCONFIRMED, Samples, judged_words, memory_words
from shared.admission import Admission
from shared.ports import Embedder, FloatArray, VectorIndex, embed_questions
from shared.records import EdgeId
from shared.text.same_question import fits, is_narrower, is_other_answer, is_same_way
from shared.text.sentences import content_words
from shared.wire import MAX_MEMORIES_ASKED, MemoryBody, MemoryDelta

log = logging.getLogger("dgrag.cloud.memories")
ALPHA = 0.7  # of the cosine in a score, the rest is of the words that two questions share (FD-RAG §4.2)
RIVAL_WITHIN = 0.05  # of the best score
ROUNDED = 0.01  # how far an index's cosine may be off
LOOKED_AT = 256  # nearest direct memories: who crowds them costs others speed, and no truth
WIDE, WIDER, ENOUGH_OWNERS = 64, 8, 8  # hints looked at first, how much further down each next look goes, and when it ends


@dataclass(frozen=True, slots=True)
class MemoryCandidate:
    """A direct memory that may answer, if its owner's passage says so. ``dice``: of both questions' content words."""

    edge: EdgeId
    memory: MemoryBody
    cosine: float
    dice: float

    @property
    def score(self) -> float:
        """As at an edge: alpha of the cosine, and the rest of Dice."""
        return ALPHA * self.cosine + (1 - ALPHA) * self.dice


class MemoryIndex:
    """Takes deltas in, finds memories; the store holds the truth, and the indexes follow it (``routing.renewal``)."""

    def __init__(
        self,
        registry: EdgeRegistry,
        store: MemoryStore,
        direct: VectorIndex,
        hints: VectorIndex,
        embedder: Embedder,
        *,
        is_on: bool,
        turns: Admission | None = None,
    ) -> None:
        """``turns``: of the embedder, where others use it too."""
        self._registry = registry
        self._store = store
        self._news = News(store)
        self._direct = direct
        self._hints = hints
        self._embedder = embedder
        self._samples = Samples()  # what other edges' memories are measured by
        self._writing = asyncio.Lock()
        embed = partial(embed_questions, embedder)
        self._embedding = DeltaEmbedding(embed, turns or part_turns(), dimensions=embedder.dimensions)
        self.is_on = is_on

    async def open(self) -> None:
        """Fill the indexes from the store, embedding again what another embedder made; a bank that is off forgets all it held."""
        if not self.is_on:
            await asyncio.to_thread(self._store.clear)
            return
        await self._store.embed_by(self._embedder)
        await self.renew()

    async def renew(self) -> None:
        """Follow the store, which other clouds may have written too; a bank that is off holds nothing."""
        if self.is_on:
            async with self._writing:
                await asyncio.to_thread(self._renew)

    def _renew(self) -> None:
        for renewed in self._news.read():
            for index, is_direct in ((self._direct, True), (self._hints, False)):
                of_it = {key: row.vector for key, row in renewed.fresh.items() if row.body.direct == is_direct}
                index.drop([*renewed.gone, *(key for key in renewed.again if key not in of_it)])
                if of_it:
                    index.put(list(of_it), np.stack(list(of_it.values())))
            self._samples.keep(renewed.edge, renewed.vectors)

    async def accept(self, edge: EdgeId, delta: MemoryDelta) -> None:
        """Apply a delta once; a repeated or older one changes nothing. Copies and hubs are stored, but not matched.

        What is written is written to its end, also where the caller is cancelled. Raises Overloaded, and as ``MemoryStore.fits``.
        """
        async with self._embedding.one_delta(edge):
            if not await asyncio.to_thread(self._store.fits, edge, delta):  # before the embedder works for nothing
                return
            told = tuple({memory.memory_id: memory for memory in delta.upserts}.values())
            vectors = await self._embedding.vectors(edge, [memory.question for memory in told])
            writing = self._write(edge, delta.model_copy(update={"upserts": told}), vectors)
            await asyncio.shield(asyncio.ensure_future(writing))

    def forget_unfinished(self, edge: EdgeId) -> None:
        """Keep no vectors of a delta that an edge has not sent to its end."""
        self._embedding.forget(edge)

    async def _write(self, edge: EdgeId, delta: MemoryDelta, vectors: FloatArray) -> None:
        async with self._writing:
            await asyncio.to_thread(self._apply, edge, delta, vectors)

    def _apply(self, edge: EdgeId, delta: MemoryDelta, vectors: FloatArray) -> None:
        self._renew()  # what others tell is what a delta is measured by
        told = {memory.memory_id for memory in delta.upserts}
        leaving = {*delta.removals, *told} if delta.base_version else self._store.ids(edge)
        kept = [row for row in self._store.load(edge) if row.body.memory_id not in leaving and not row.held_back]
        new = [memory_words(memory.question, memory.answer) for memory in delta.upserts]
        feedback = judged_words(new, vectors, map(_words, kept), self._samples.without(edge))
        self._store.apply(edge, delta, vectors, dict(zip((one.memory_id for one in delta.upserts), feedback, strict=True)))
        self._renew()
        if held := sum(verdict != "" for verdict in feedback):
            log.info("%d memories of %s are held back: copies of others, or near to everything", held, edge)

    async def refute(self, edge: EdgeId, memory_id: str) -> None:
        """Hold a memory back whose owner's passage does not hold its answer, until its edge tells it anew."""
        async with self._writing:
            await asyncio.to_thread(self._store.hold_back, edge, memory_id, UNCONFIRMED)
            await asyncio.to_thread(self._renew)

    # ------------------------------------------------------------ what a question finds

    async def best(self, question: str, vector: FloatArray, *, owners: Collection[EdgeId], threshold: float) -> MemoryCandidate | None:
        """The direct memory of one of ``owners`` that may answer a single question, where none of any edge says otherwise.

        What is nearest has the score, and asks for the same in the same way; its passage is still to be looked at.
        """
        return await asyncio.to_thread(self._best, question, vector, owners, threshold)

    def _best(self, question: str, vector: FloatArray, owners: Collection[EdgeId], threshold: float) -> MemoryCandidate | None:
        found = [one for one in self._near(question, vector, threshold - RIVAL_WITHIN) if one.score >= threshold - RIVAL_WITHIN]
        best = next((one for one in found if one.edge in owners and one.score >= threshold), None)
        if best is None or not _asks_the_same(question, best.memory):
            return None
        return None if any(_is_rival(question, best, other) for other in found) else best

    def _near(self, question: str, vector: FloatArray, least: float) -> list[MemoryCandidate]:
        """Direct memories, the best score first, by the stored vectors; an index may round.

        As Dice is 1 at most, each with a score of ``least`` has a cosine of what is asked for.
        """
        barred, words, found = self._registry.barred(), content_words(question), list[MemoryCandidate]()
        for key, _ in self._direct.top(vector, LOOKED_AT, min_score=(least - (1 - ALPHA)) / ALPHA - ROUNDED):
            edge, memory_id = _taken_apart(key)
            if edge not in barred:
                found += [_candidate(row, min(float(row.vector @ vector), 1.0), words) for row in self._store.some(edge, [memory_id])]
        return sorted(found, key=lambda one: (-one.score, one.edge, one.memory.memory_id))

    async def hinted(self, questions: FloatArray, *, min_cosine: float, reaches: Callable[[EdgeId], bool]) -> dict[EdgeId, tuple[str, ...]]:
        """Whom memories say to ask, nearest first, with the ids of those memories; of edges that ``reaches`` holds for.

        A direct memory is a hint too: whoever may not answer may still know. Those of a barred edge say nothing.
        """
        return await asyncio.to_thread(self._hinted, questions, min_cosine, reaches)

    def _hinted(self, questions: FloatArray, min_cosine: float, reaches: Callable[[EdgeId], bool]) -> dict[EdgeId, tuple[str, ...]]:
        barred, near = self._registry.barred(), dict[str, float]()
        for question in questions:
            for index in (self._direct, self._hints):
                for key, cosine in _above(question, index, min_cosine):
                    near[key] = max(cosine, near.get(key, -1.0))
        found = defaultdict[EdgeId, list[str]](list)
        for key in sorted(near, key=lambda key: (-near[key], key)):
            edge, memory_id = _taken_apart(key)
            if edge not in barred and reaches(edge) and len(found[edge]) < MAX_MEMORIES_ASKED:
                found[edge].append(memory_id)
        return {edge: tuple(memory_ids) for edge, memory_ids in found.items() if memory_ids}


def _asks_the_same(question: str, memory: MemoryBody) -> bool:
    told, answer = memory.question, memory.answer
    is_told = not content_words(answer) <= content_words(question)
    return is_told and not is_narrower(told, question) and fits(question, told, answer) and is_same_way(question, told)


def _is_rival(question: str, best: MemoryCandidate, other: MemoryCandidate) -> bool:
    one, two = best.memory, other.memory
    return other.score >= best.score - RIVAL_WITHIN and is_other_answer(question, one.question, one.answer, two.question, two.answer)


def _candidate(row: Replicated[MemoryBody], cosine: float, words: frozenset[str]) -> MemoryCandidate:
    told = content_words(row.body.question)
    return MemoryCandidate(row.edge, row.body, cosine, 2 * len(told & words) / max(1, len(told) + len(words)))


def _above(question: FloatArray, index: VectorIndex, min_cosine: float) -> list[tuple[str, float]]:
    """The nearest, further and further down until enough edges are among them: many of one edge hide no other one."""
    wide = WIDE
    while True:
        found = index.top(question, wide, min_score=min_cosine)
        if len(found) < wide or len({_taken_apart(key)[0] for key, _ in found}) >= ENOUGH_OWNERS:
            return found
        wide *= WIDER


def _words(row: Replicated[MemoryBody]) -> str:
    return memory_words(row.body.question, row.body.answer)


def _taken_apart(key: str) -> tuple[EdgeId, str]:
    edge, _, memory_id = key.partition("/")
    return EdgeId(edge), memory_id
