"""What an edge remembers, kept up with its chunks: facts with every commit, memories in idle time (FD-RAG §4)."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from threading import Lock
from typing import get_args

import numpy as np

from edge_node.database.vectors import embed_texts
from edge_node.extraction.facts import Fact
from edge_node.extraction.nlp import SpacyExtractor
from edge_node.graph.passages import EMBED_BATCH
from edge_node.graph.tools import Tools
from edge_node.memory.clustering import HypergraphBuilder
from edge_node.memory.hypergraph import Hypergraph
from edge_node.memory.index import MemoryIndex
from edge_node.memory.records import Memory, Recalled, Remembered
from edge_node.memory.store import Grain, StoredMemory, insert_facts
from edge_node.memory.templates import Anchoring, anchored, asked_of_chunk, names_in, version_of, without_repeats
from edge_node.memory.writer import MemoryWriter
from edge_node.records import NOTHING_WITHHELD, Cost, Kind, Progress, silent
from edge_node.settings import MemorySettings
from shared.ports import FloatArray
from shared.records import Chunk, ChunkId, document_of
from shared.vectors import Ints, from_ints, to_ints

TOGETHER = 64  # chunks of whose facts memories are made in one turn, and four times as many memories whose vectors are made again
KINDS = get_args(Kind)
CALLS = 4  # of the model in one turn: a new document must not wait longer


class MemoryMaker:
    """Makes memories and puts them on the shelf, a few chunks at a time. ``version``: of the templates and the anchors."""

    def __init__(self, tools: Tools, shelf: MemoryIndex, anchoring: Anchoring, *, processes: int) -> None:
        self._documents = tools.documents
        self._embedder = tools.embedder
        self._shelf = shelf
        self._anchoring = anchoring
        self._tagger = SpacyExtractor(with_facts=True, processes=processes)
        self.version = version_of(anchoring)

    async def read(self, chunk_ids: Mapping[str, bool], progress: Progress) -> None:
        """Make what the templates make of some chunks, each with whether its facts are known; the others are parsed first.

        Those that are gone, and questions that the model cannot embed, are left out. Raises ModelTimeout and ModelUnavailable.
        """
        chunks = await asyncio.to_thread(self._documents.chunks, list(chunk_ids))
        unknown = [chunk for chunk, _, _ in chunks.values() if not chunk_ids[chunk.chunk_id]]
        if unknown:
            found = await asyncio.to_thread(self._tagger.extract, unknown, lambda done: progress("find facts", done, len(unknown)))
            await asyncio.to_thread(self._shelf.store.save_facts, [chunk.chunk_id for chunk in unknown], found.facts)
        drafts = await asyncio.to_thread(self._drafts, {key: chunk.text for key, (chunk, _, _) in chunks.items()})
        vectors = await self._embedded([one for several in drafts for one in several], progress)
        await asyncio.to_thread(self._keep, list(chunk_ids), drafts, vectors)

    def _drafts(self, texts: Mapping[str, str]) -> list[list[Memory]]:
        """By chunk."""
        facts = self.facts_of(texts)
        return [asked_of_chunk(facts[chunk_id], text, self._anchoring) for chunk_id, text in texts.items()]

    def _keep(self, chunk_ids: Sequence[str], drafts: Sequence[Sequence[Memory]], vectors: Mapping[str, Ints]) -> None:
        kept = list[StoredMemory]()
        for several in drafts:
            there = [one for one in several if one.memory_id in vectors]
            rows = from_ints(np.array([vectors[one.memory_id] for one in there], np.int16).reshape(-1, self._embedder.dimensions))
            kept += [StoredMemory(there[row], vectors[there[row].memory_id]) for row in without_repeats(there, rows)]
        gone = {one.memory_id for one in self._shelf.templates_of(chunk_ids)} - {one.memory.memory_id for one in kept}
        self._shelf.put(kept, gone, read=chunk_ids, templates=self.version)

    async def make_again(self, stored: Sequence[StoredMemory], progress: Progress) -> None:
        """Make the vectors and anchors of some memories anew. Raises ModelTimeout and ModelUnavailable."""
        vectors = await self._embedded([one.memory for one in stored], progress)
        await asyncio.to_thread(self._put_again, [one for one in stored if one.memory.memory_id in vectors], vectors)

    def _put_again(self, stored: Sequence[StoredMemory], vectors: Mapping[str, Ints]) -> None:
        named = self._anchored([one.memory for one in stored])
        again = [replace(one, memory=memory, vector=vectors[memory.memory_id]) for one, memory in zip(stored, named, strict=True)]
        self._shelf.put(again)

    async def keep_written(self, memories: Sequence[Memory], model: str) -> frozenset[str]:
        """Put what a model wrote on the shelf, but for what cannot be embedded, and what rests on a chunk that is gone; ids of the rest."""
        vectors = await self._embedded(memories, silent)
        there = await asyncio.to_thread(self._anchored, [one for one in memories if one.memory_id in vectors])
        return await asyncio.to_thread(self._shelf.put, [StoredMemory(one, vectors[one.memory_id], model) for one in there])

    def learn(self, memory: Memory, vector: FloatArray, later: Collection[str]) -> None:
        """Put an answer that was given on the shelf, with its question's vector (d,), of norm 1; not where its passages are gone.

        ``later``: chunks that came since it was asked for.
        """
        for one in self._anchored([memory]):
            self._shelf.learn(StoredMemory(one, to_ints(vector)), later)

    async def _embedded(self, memories: Sequence[Memory], progress: Progress) -> dict[str, Ints]:
        """Vectors of questions, by the ids of their memories; without those that the model cannot embed."""
        texts = {one.memory_id: one.question for one in memories}
        keys, rows = await embed_texts(
            self._embedder, texts, lambda done: progress("embed questions", done, len(texts)), batch=EMBED_BATCH, questions=True
        )
        return dict(zip(keys, to_ints(rows), strict=True))

    def _anchored(self, memories: Sequence[Memory]) -> list[Memory]:
        chunk_ids = {place.chunk_id for one in memories for place in one.supports}
        facts, texts = self.facts_of(chunk_ids), self._documents.texts_of(chunk_ids)
        names = {chunk_id: names_in(facts[chunk_id]) for chunk_id in chunk_ids}
        return [
            anchored(one, frozenset().union(*(names[place.chunk_id] for place in one.supports)), texts, self._anchoring) for one in memories
        ]

    def facts_of(self, chunk_ids: Collection[str]) -> Mapping[str, list[Fact]]:
        """What some chunks say, by their ids."""
        facts: defaultdict[str, list[Fact]] = defaultdict(list)
        for fact in self._shelf.store.facts_of(chunk_ids):
            facts[fact.chunk_id].append(fact)
        return facts


@dataclass(frozen=True, slots=True, eq=False)
class _Unread:
    """A chunk of whose facts no memories were made since it came; one that comes again is another one."""

    has_facts: bool  # else it has to be parsed first


class Memories:
    """Facts, memories and hyperedges of an edge; nothing at all where ``is_off``.

    Memories are a function of the chunks that are there, but for learned ones, those that a model wrote, and what people say of them.
    A turn of ``work`` takes a second or two, and what it made is committed at once: a stop loses no more than a turn.
    """

    def __init__(self, tools: Tools, settings: MemorySettings, *, grouped: bool, processes: int) -> None:
        """``grouped``: somebody reads the hypergraphs. ``processes``: that parse."""
        self._vectors = tools.graph.vectors
        self._kind, self.is_grouped = settings.memory, grouped
        self._shelf = MemoryIndex(tools)
        self._maker = MemoryMaker(tools, self._shelf, settings.memory_anchors, processes=processes)
        self.grouping = HypergraphBuilder(tools)
        tokens = settings.memory_tokens if settings.memory == "model" else 0
        maker = self._maker
        self._writer = MemoryWriter(
            tools, self.grouping, maker.facts_of, maker.keep_written, tokens_per_1000=tokens, deadline_s=settings.model_deadline_s
        )
        self._lock = Lock()
        self._unread: dict[str, _Unread] = {}
        self._fresh = set[str]()  # chunks that learned memories were not compared with
        self._learning = Lock()  # held while a memory is learned: no chunk may be struck off before it is there to be compared
        self._retired = False
        self.arrivals = 0  # how often chunks were committed since the start
        self._arrived: dict[str, int] = {}  # the chunks that came since, the oldest first, each with the arrivals then
        self._outdated: list[StoredMemory] = []  # their questions have no vectors, or their anchors follow another setting

    @property
    def is_off(self) -> bool:
        """Nothing is to be remembered."""
        return self._kind == "off"

    # ------------------------------------------------------------ write path

    async def open(self) -> None:
        """Read what the store has; what it lacks is made in idle time."""
        if not self.is_off:
            await asyncio.to_thread(self._load)

    def _load(self) -> None:
        readings, stored = self._shelf.store.readings(), self._shelf.load()
        moved = any(version not in (0, self._maker.version) for version in readings.values())
        self._outdated = [one for one in stored if not len(one.vector) or (moved and one.memory.kind != "template")]
        there = self._vectors.all_hashes("chunk")
        self._unread = {key: _Unread(key in readings) for key in there if readings.get(key) != self._maker.version}
        self._fresh = {key for key in there if not readings.get(key)}
        if self.is_grouped:
            self.grouping.load()
            self._writer.load()

    def draft(self, chunks: Sequence[Chunk], facts: Sequence[Fact], *, has_facts: bool) -> FactsDraft:
        """What is committed with the chunks of a document. ``has_facts``: they were read for ``facts``; else that follows."""
        return FactsDraft(self, tuple(chunk.chunk_id for chunk in chunks), tuple(facts), has_facts)

    def arrived(self, chunk_ids: Collection[ChunkId], replaced: Collection[ChunkId], *, has_facts: bool) -> None:
        """Chunks were committed, in place of others: nothing is found of either until memories were made of them."""
        self._shelf.hide({document_of(chunk_id) for chunk_id in (*chunk_ids, *replaced)})
        with self._lock:
            self._drop(replaced)
            self._unread |= {chunk_id: _Unread(has_facts) for chunk_id in chunk_ids}
            self._fresh.update(chunk_ids)
            self.arrivals += 1
            self._arrived |= {chunk_id: self.arrivals for chunk_id in chunk_ids if chunk_id not in self._arrived}
        if self.is_grouped:
            self.grouping.arrived(chunk_ids, replaced)

    async def forget(self, chunk_ids: Collection[ChunkId]) -> None:
        """Hide what rests on chunks that are gone from the store."""
        if not self.is_off:
            await asyncio.to_thread(self._forget, chunk_ids)

    def _forget(self, chunk_ids: Collection[ChunkId]) -> None:
        self._shelf.hide(set(map(document_of, chunk_ids)))
        with self._lock:
            self._drop(chunk_ids)
        if self.is_grouped:
            self.grouping.forget(chunk_ids)

    def _drop(self, chunk_ids: Collection[str]) -> None:
        for chunk_id in chunk_ids:
            self._unread.pop(chunk_id, None)
            self._fresh.discard(chunk_id)
            self._arrived.pop(chunk_id, None)

    async def renew(self) -> None:
        """What cannot wait: doubts about answers that were given before the newest chunks came."""
        if self._fresh:
            await asyncio.to_thread(self._compare)
        if self._kind == "model":
            await asyncio.to_thread(self._writer.count)

    def _compare(self) -> None:
        with self._learning:
            with self._lock:
                fresh = frozenset(self._fresh)
            self._shelf.doubt(fresh)
            with self._lock:
                self._fresh -= fresh

    # ------------------------------------------------------------ in idle time

    @property
    def stale(self) -> int:
        """Chunks and memories that wait for idle time, and what the model should still write."""
        if self.is_off:
            return 0
        waiting = (not self._shelf.is_tidy) + len(self._outdated) + len(self._unread)
        return waiting + (self.grouping.stale + self._writer.stale if self.is_grouped else 0)

    async def work(self, progress: Progress) -> bool:
        """Do a little of what needs no model: True where anything was to be done. Raises ModelTimeout and ModelUnavailable (embedder)."""
        if self.is_off:
            return False
        if not self._shelf.is_tidy:
            await asyncio.to_thread(self._shelf.tidy)
        elif self._outdated:
            await self._make_again(progress)
        elif self._unread:
            await self._read(progress)
        else:
            return self.is_grouped and await self.grouping.turn(progress)
        return True

    async def write(self, progress: Progress) -> Cost:
        """Let the model write a few memories, once ``work`` has no more to do. Raises ModelError."""
        return await self._writer.write(progress, most=CALLS) if self._kind == "model" else Cost()

    async def _make_again(self, progress: Progress) -> None:
        batch = self._outdated[: 4 * TOGETHER]
        await self._maker.make_again(batch, progress)
        self._outdated = self._outdated[len(batch) :]  # what the model cannot embed waits for the next start

    async def _read(self, progress: Progress) -> None:
        with self._lock:
            batch = dict(islice(self._unread.items(), TOGETHER))
        await self._maker.read({chunk_id: one.has_facts for chunk_id, one in batch.items()}, progress)
        with self._lock:
            for chunk_id, one in batch.items():
                if self._unread.get(chunk_id) is one:  # else it came again meanwhile
                    del self._unread[chunk_id]

    async def learn(self, memory: Memory, vector: FloatArray, *, since: int) -> None:
        """Remember an answer that was given, with its question's vector (d,), of norm 1; not where its passages are gone.

        ``since``: the ``arrivals`` when it was asked for: a nearer chunk that came later makes it doubtful.
        """
        if not self.is_off:
            await asyncio.to_thread(self._learn, memory, vector, since)

    def retire(self) -> None:
        """Learn nothing any more: the store gets the vectors of another model."""
        with self._learning:
            self._retired = True

    def _learn(self, memory: Memory, vector: FloatArray, since: int) -> None:
        with self._learning:
            if self._retired:
                return
            with self._lock:
                later = [chunk_id for chunk_id, _ in takewhile(lambda one: one[1] > since, reversed(self._arrived.items()))]
            self._maker.learn(memory, vector, later)

    # ------------------------------------------------------------ what is asked; as ``answering`` asks it

    async def recalled(
        self,
        question: str,
        vector: FloatArray,
        *,
        k: int,
        floor: float,
        withheld: frozenset[str] = NOTHING_WITHHELD,
        others: bool = False,
    ) -> tuple[Recalled, ...]:
        """The k memories nearest a question with a score of ``floor`` or more; ``others``: as ``MemoryIndex.recalled`` says."""
        if not len(self._shelf):
            return ()
        return await asyncio.to_thread(self._shelf.recalled, question, vector, k=k, floor=floor, withheld=withheld, others=others)

    def hypergraph(self, grain: Grain) -> Hypergraph:
        """The hyperedges of "paragraph" or "sentence" at this moment; empty where nobody needs any."""
        return self.grouping.hypergraph(grain)

    async def rate(self, memory_id: str, *, right: bool) -> None:
        """Note a verdict. Raises NotFound."""
        await asyncio.to_thread(self._shelf.rate, memory_id, right=right)

    async def bar(self, memory_id: str) -> None:
        """Let a memory answer no more. Raises NotFound."""
        await asyncio.to_thread(self._shelf.bar, memory_id)

    async def page(self, after: str = "", limit: int = 100, withheld: frozenset[str] = NOTHING_WITHHELD) -> tuple[Remembered, ...]:
        """The first memories by id behind ``after``; none that rests on a withheld document."""
        return await asyncio.to_thread(self._shelf.page, after, limit, withheld)

    async def counts(self) -> dict[str, int]:
        """Memories by kind, hyperedges of sentences, and what waits; nothing of each where memory is off."""
        return await asyncio.to_thread(self._counts)

    def _counts(self) -> dict[str, int]:
        if self.is_off:
            return dict.fromkeys((*KINDS, "hyperedges", "waiting"), 0)
        kinds = self._shelf.kinds()
        hyperedges = self.grouping.hypergraph("sentence").hyperedges if self.is_grouped else 0
        return {kind: kinds[kind] for kind in KINDS} | {"hyperedges": hyperedges, "waiting": len(self._unread)}


@dataclass(frozen=True, slots=True, eq=False)
class FactsDraft:
    """Implements Draft: facts are committed with their chunks; memories of them follow."""

    owner: Memories
    chunk_ids: tuple[ChunkId, ...]
    facts: tuple[Fact, ...]
    has_facts: bool

    def write(self, tx: sqlite3.Connection) -> None:
        """As the protocol says."""
        if self.has_facts:
            insert_facts(tx, self.chunk_ids, self.facts)

    def show(self, replaced: Sequence[ChunkId]) -> None:
        """As the protocol says."""
        self.owner.arrived(self.chunk_ids, replaced, has_facts=self.has_facts)
