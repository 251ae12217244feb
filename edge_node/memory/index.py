"""The memories of an edge as questions see them, kept as the store has them (FD-RAG §4.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from threading import Lock

import numpy as np

from edge_node.graph.tools import Tools
from edge_node.memory.recall import SLACK, RecallIndex
from edge_node.memory.records import Backing, Memory, Rating, Recalled, Remembered, Scored
from edge_node.memory.same_answer import NEAR
from edge_node.memory.store import UNRATED, MemoryStore, Ratings, StoredMemory
from edge_node.records import Kind
from shared.errors import NotFound
from shared.ports import FloatArray
from shared.records import DocumentId, document_of
from shared.vectors import from_ints

ALPHA = 0.7  # α: of the cosine of both questions in a memory's score; the rest is for shared words (FD-RAG eq. 11)
NEARER_BY = 1e-4  # of a cosine: a copy of a memory's own passage is no news


@dataclass(frozen=True, slots=True, eq=False)
class _Moment:
    """What questions see. ``hidden``: documents whose memories are not to be found, as they may be gone from the store."""

    index: RecallIndex
    hidden: frozenset[str]
    learned: frozenset[str]  # ids
    doubtful: frozenset[str]
    ratings: Mapping[str, Rating]  # by what is asked and answered

    def without(self, gone: Collection[str], index: RecallIndex) -> _Moment:
        """With an index that lacks the ids ``gone``."""
        return replace(self, index=index, learned=self.learned.difference(gone), doubtful=self.doubtful.difference(gone))


class MemoryIndex:
    """Memories in the store, and in an index for questions; what writes does so one at a time, and questions never wait for it.

    What rested on a document that went is hidden at once, and leaves the index with the next ``tidy`` or ``put``.
    """

    def __init__(self, tools: Tools) -> None:
        self.store = MemoryStore(tools.graph.database, tools.embedder.dimensions)
        self._ratings = Ratings(tools.graph.database)
        self._documents = tools.documents
        self._vectors = tools.graph.vectors
        self._dimensions = tools.embedder.dimensions
        self._lock = Lock()
        self._own = dict[str, float]()  # cosine of a learned memory's question with the nearest of its own passages
        self._snapshot = self._snapshot_of([], {})

    def load(self) -> tuple[StoredMemory, ...]:
        """Read all memories, and return them; those whose questions have no vectors are not found by anything."""
        stored = self.store.all()
        with self._lock:
            self._snapshot = self._snapshot_of([one for one in stored if len(one.vector)], self._ratings.all())
        return stored

    def _snapshot_of(self, stored: Sequence[StoredMemory], ratings: Mapping[str, Rating]) -> _Moment:
        index = RecallIndex.of([one.memory for one in stored], self._vectors_of(stored))
        learned = frozenset(one.memory.memory_id for one in stored if one.memory.kind == "learned")
        return _Moment(index, frozenset(), learned, frozenset(one.memory.memory_id for one in stored if one.doubtful), ratings)

    def _vectors_of(self, stored: Sequence[StoredMemory]) -> FloatArray:
        return from_ints(np.array([one.vector for one in stored], np.int16).reshape(-1, self._dimensions))

    # ------------------------------------------------------------ what is asked

    def recalled(
        self, question: str, vector: FloatArray, *, k: int, floor: float, withheld: frozenset[str], others: bool
    ) -> tuple[Recalled, ...]:
        """The k memories nearest a question, best first, with their sentences as the store has them now.

        ``others``: where a learned question is as near as ``NEAR``, all that may dispute its answer are wanted, below ``floor`` too.
        """
        moment = self._snapshot
        if others and moment.index.nearest_learned(vector) >= NEAR - SLACK:
            floor = min(floor, ALPHA * NEAR)
        hidden = withheld | moment.hidden
        anchors = moment.index.anchors_of(question, hidden)
        found = moment.index.best(vector, anchors, k=k, alpha=ALPHA, floor=floor, withheld=hidden)
        texts = self._documents.texts_of({place.chunk_id for one in found for place in one.memory.supports}) if found else {}
        return tuple(Recalled(one, self._backing(one, texts, moment)) for one in found)

    def _backing(self, found: Scored, texts: Mapping[str, str], moment: _Moment) -> Backing:
        memory = found.memory
        sentences = tuple(texts[place.chunk_id][place.start : place.end] if place.chunk_id in texts else None for place in memory.supports)
        ratings = [moment.ratings.get(key, UNRATED) for key in {self._ratings.key_of(one) for one in (memory, *found.same)}]
        good, bad, barred = sum(one.good for one in ratings), sum(one.bad for one in ratings), any(one.barred for one in ratings)
        doubtful = all(one.memory_id in moment.doubtful for one in (memory, *found.same))  # what was learned anew stands on the news itself
        return Backing(sentences, good, bad, doubtful, barred)

    def page(self, after: str, limit: int, withheld: frozenset[str]) -> tuple[Remembered, ...]:
        """The first memories by id behind ``after``; none that rests on a withheld document."""
        moment = self._snapshot
        hidden = {memory.memory_id for memory in moment.index.of_documents(moment.hidden | withheld)}
        behind = (memory for memory in moment.index if memory.memory_id > after and memory.memory_id not in hidden)
        page = nsmallest(limit, behind, key=lambda memory: memory.memory_id)
        rated = [(one, moment.ratings.get(self._ratings.key_of(one), UNRATED)) for one in page]
        return tuple(Remembered(one, said.good, said.bad, one.memory_id in moment.doubtful, said.barred) for one, said in rated)

    def kinds(self) -> Counter[Kind]:
        """How many memories of each kind there are."""
        moment = self._snapshot
        held = Counter(memory.kind for memory in moment.index)
        return held - Counter(memory.kind for memory in moment.index.of_documents(moment.hidden))

    def __len__(self) -> int:
        return len(self._snapshot.index)

    def templates_of(self, chunk_ids: Collection[str]) -> list[Memory]:
        """The memories that templates made of some chunks."""
        documents = frozenset(map(document_of, chunk_ids))
        found = self._snapshot.index.of_documents(documents)
        return [one for one in found if one.kind == "template" and not {place.chunk_id for place in one.supports}.isdisjoint(chunk_ids)]

    # ------------------------------------------------------------ what changes

    def put(
        self, new: Sequence[StoredMemory], gone: Collection[str] = (), *, read: Collection[str] = (), templates: int = 0
    ) -> frozenset[str]:
        """Commit memories and delete those with the ids ``gone``, as ``MemoryStore.commit``; questions see it at once."""
        with self._lock:
            moment = self._tidied()
            written = self.store.commit(new, gone, read=read, templates=templates)
            there = [one for one in new if one.memory.memory_id in written and len(one.vector)]
            ids = {one.memory.memory_id for one in there}
            index = moment.index.changed([one.memory for one in there], self._vectors_of(there), {*gone, *ids})
            moment = moment.without(gone, index)
            learned = {one.memory.memory_id for one in there if one.memory.kind == "learned"}
            doubtful = moment.doubtful - ids | {one.memory.memory_id for one in there if one.doubtful}
            self._snapshot = replace(moment, learned=moment.learned | learned, doubtful=doubtful)
            return written

    def learn(self, one: StoredMemory, later: Collection[str]) -> None:
        """``put`` an answer that was given, unless people have barred it; ``later``: the chunks that came since, as for ``doubt``."""
        if not self._snapshot.ratings.get(self._ratings.key_of(one.memory), UNRATED).barred:
            self.put([replace(one, doubtful=self._is_overtaken(one, later))])

    def _is_overtaken(self, one: StoredMemory, later: Collection[str]) -> bool:
        own = {place.chunk_id for place in one.memory.supports}
        question = from_ints(one.vector)
        near, far = (self._vectors.some("chunk", keys, self._dimensions).vectors @ question for keys in (own, {*later} - own))
        return bool(len(near) and len(far) and far.max() > near.max() + NEARER_BY)

    def hide(self, documents: Collection[DocumentId]) -> None:
        """Let nothing be found that rests on these documents, until it is known what of that the store still has."""
        with self._lock:
            resting = frozenset(document for document in documents if self._snapshot.index.of_documents({document}))
            if resting:
                self._snapshot = replace(self._snapshot, hidden=self._snapshot.hidden | resting)

    @property
    def is_tidy(self) -> bool:
        """Nothing is hidden."""
        return not self._snapshot.hidden

    def tidy(self) -> None:
        """Take out of the index what the store has no more."""
        with self._lock:
            self._snapshot = self._tidied()

    def _tidied(self) -> _Moment:
        moment = self._snapshot
        if not moment.hidden:
            return moment
        ids = {memory.memory_id for memory in moment.index.of_documents(moment.hidden)}
        gone = ids - self.store.present(ids)
        index = moment.index.changed((), np.empty((0, self._dimensions), np.float32), gone)
        return replace(moment.without(gone, index), hidden=frozenset())

    # ------------------------------------------------------------ what people say

    def rate(self, memory_id: str, *, right: bool) -> None:
        """Note a verdict on what a memory answered, and so do the others that ask and answer the same. Raises NotFound."""
        with self._lock:
            self._ratings.rate(self._alike(memory_id), right=right)
            self._snapshot = replace(self._snapshot, ratings=self._ratings.all())

    def bar(self, memory_id: str) -> None:
        """Let what a memory, and those that ask and answer the same, say be answered no more, ever; learned ones are deleted.

        Raises NotFound.
        """
        with self._lock:
            alike = self._alike(memory_id)
            self._ratings.bar(alike)
            self._snapshot = replace(self._snapshot, ratings=self._ratings.all())
        self.put((), [one.memory_id for one in alike if one.kind == "learned"])

    def _alike(self, memory_id: str) -> tuple[Memory, ...]:
        alike = self._snapshot.index.alike(memory_id)
        if not alike or not self.store.present([memory_id]):
            raise NotFound("memory", memory_id)
        return alike

    def doubt(self, chunk_ids: Collection[str]) -> None:
        """Doubt learned memories to whose questions one of these new chunks is nearer than their own (FD-RAG §4; ours)."""
        moment = self._snapshot
        ids = sorted(moment.learned - moment.doubtful)
        new = self._vectors.some("chunk", chunk_ids, self._dimensions) if ids and chunk_ids else None
        if new is None or not new.keys:
            return
        memories, questions = moment.index.some(ids)
        self._note_own(memories, questions)
        near = questions @ new.vectors.T
        for row, memory in enumerate(memories):
            own = {place.chunk_id for place in memory.supports}
            near[row, [column for column, key in enumerate(new.keys) if key in own]] = -1
        doubtful = {memory.memory_id for memory, best in zip(memories, near.max(axis=1), strict=True) if best > self._limit(memory)}
        if doubtful:
            with self._lock:
                self.store.doubt(doubtful)
                self._snapshot = replace(self._snapshot, doubtful=self._snapshot.doubtful | doubtful)

    def _limit(self, memory: Memory) -> float:
        return self._own.get(memory.memory_id, 1.0) + NEARER_BY

    def _note_own(self, memories: Sequence[Memory], questions: FloatArray) -> None:
        self._own = {key: own for key, own in self._own.items() if key in self._snapshot.learned}
        unknown = [(row, memory) for row, memory in enumerate(memories) if memory.memory_id not in self._own]
        held = {place.chunk_id for _, memory in unknown for place in memory.supports}
        stored = self._vectors.some("chunk", held, self._dimensions)
        vectors = dict(zip(stored.keys, stored.vectors, strict=True))
        for row, memory in unknown:
            own = [float(questions[row] @ vectors[place.chunk_id]) for place in memory.supports if place.chunk_id in vectors]
            if own:
                self._own[memory.memory_id] = max(own)
