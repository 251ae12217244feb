"""Memories out of facts, with anchors and vectors; what others have made gets these from here too (FD-RAG §4.1, eq. 10)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from edge_node.graph.facts import Fact
from edge_node.graph.nlp import SpacyExtractor
from edge_node.knowledge.embedding import embed_texts
from edge_node.knowledge.memory_shelf import MemoryShelf
from edge_node.memory.drafting import Anchoring, anchored, asked_of_chunk, names_in, version_of, without_repeats
from edge_node.memory.records import Memory
from edge_node.store.memories import StoredMemory
from edge_node.store.passages import EMBED_BATCH
from edge_node.strategies.base import Progress, Tools, silent
from shared.ports import FloatArray
from shared.quantised import Ints, from_ints, to_ints


class MemoryMaker:
    """Makes memories and puts them on the shelf, a few chunks at a time. ``version``: of the templates and the anchors."""

    def __init__(self, tools: Tools, shelf: MemoryShelf, anchoring: Anchoring) -> None:
        self._documents = tools.documents
        self._embedder = tools.embedder
        self._shelf = shelf
        self._anchoring = anchoring
        self._tagger = SpacyExtractor(with_facts=True)
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
        facts = self._facts_of(texts)
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
        keys, rows = await embed_texts(self._embedder, texts, lambda done: progress("embed questions", done, len(texts)), batch=EMBED_BATCH)
        return dict(zip(keys, to_ints(rows), strict=True))

    def _anchored(self, memories: Sequence[Memory]) -> list[Memory]:
        chunk_ids = {place.chunk_id for one in memories for place in one.supports}
        facts, texts = self._facts_of(chunk_ids), self._documents.texts_of(chunk_ids)
        names = {chunk_id: names_in(facts[chunk_id]) for chunk_id in chunk_ids}
        return [
            anchored(one, frozenset().union(*(names[place.chunk_id] for place in one.supports)), texts, self._anchoring) for one in memories
        ]

    def _facts_of(self, chunk_ids: Collection[str]) -> Mapping[str, list[Fact]]:
        facts: defaultdict[str, list[Fact]] = defaultdict(list)
        for fact in self._shelf.store.facts_of(chunk_ids):
            facts[fact.chunk_id].append(fact)
        return facts
