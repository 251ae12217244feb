"""Both graphs of KET-RAG over the chunks of an edge, kept up to date with the store (Alg. 3). Nothing here calls a language model."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np

from edge_node.database.chunk_parts import ChunkParts, ChunkPartStore, insert_parts
from edge_node.database.vectors import text_hash
from edge_node.extraction.names import terms_of
from edge_node.graph.tools import Tools
from edge_node.records import Progress
from edge_node.settings import KETRAGSettings
from edge_node.strategies.ketrag.bipartite import Bipartite, ChunkTerms
from edge_node.strategies.ketrag.core import core, core_uniform, pagerank
from edge_node.strategies.ketrag.knn import Neighbours, Node
from edge_node.strategies.ketrag.pieces import Cut, Span, cut_of, terms_of_cut
from shared.index import open_index
from shared.records import Chunk, ChunkId
from shared.vectors import ONE, Ints, to_ints

BATCH = 32  # texts that are embedded at a time
TOGETHER = 256  # chunks that are read, or written, at once


@dataclass(frozen=True, slots=True, eq=False)
class PreparedChunk:
    """A chunk as it goes into the graphs: its cut, its terms, and what is stored of it."""

    cut: Cut
    terms: ChunkTerms
    parts: ChunkParts


class Graphs:
    """The bipartite graph at once with every commit; the KNN graph and its core with every settle. ``lock`` keeps writers out."""

    def __init__(self, tools: Tools, settings: KETRAGSettings) -> None:
        self._tools = tools
        self.settings = settings
        self._dimensions = tools.embedder.dimensions
        self._store = ChunkPartStore(tools.graph.database, self._dimensions)
        self._knn = Neighbours(self._dimensions, k=settings.ket_neighbours)
        self._listed: dict[str, str] = {}  # hash of its text by chunk id, of the chunks in the KNN graph
        self._seen: dict[str, str] = {}  # the same, of those in the bipartite graph
        self._joining = Lock()  # of the thread that changes the KNN graph: it goes on where its settle was cancelled
        self._midway = False  # that thread has begun, and not come to its end
        self.lock = Lock()
        self.bipartite = Bipartite(self._dimensions)
        self.spans: dict[str, dict[str, Span]] = {}  # place of each piece in its chunk, by chunk id; only where there are several
        self.pieces = open_index(tools.index, self._dimensions)  # their vectors
        self.ranked: tuple[str, ...] = ()  # the core, most central first
        self.core: frozenset[str] = frozenset()
        self.neighbours: dict[str, list[str]] = {}

    # ------------------------------------------------------------ with every commit

    async def seen(self, chunks: Sequence[tuple[Chunk, str]], progress: Progress) -> list[PreparedChunk]:
        """Cut chunks, each with its document's title, and embed their sentences and pieces."""
        cuts = [cut_of(chunk, title, splits=self.settings.ket_splits) for chunk, title in chunks]
        texts = [text for cut in cuts for text in cut.texts()]
        vectors = np.zeros((len(texts), self._dimensions), dtype=np.int16)
        for start in range(0, len(texts), BATCH):
            progress("embed sentences", start, len(texts))
            batch = texts[start : start + BATCH]
            vectors[start : start + len(batch)] = to_ints(await self._tools.embedder.embed(batch))
        ends = np.cumsum([len(cut.texts()) for cut in cuts])[:-1]
        rows = np.split(vectors, ends) if cuts else []
        return [self._seen_of(cut, own) for cut, own in zip(cuts, rows, strict=True)]

    def _seen_of(self, cut: Cut, vectors: Ints) -> PreparedChunk:
        parts = ChunkParts(cut.chunk.chunk_id, text_hash(cut.chunk.text), self.settings.ket_splits, vectors)
        return PreparedChunk(cut, self._terms(cut, vectors), parts)

    def _terms(self, cut: Cut, vectors: Ints) -> ChunkTerms:
        return terms_of_cut(cut, vectors[: len(cut.sentences)], self._tools.tokenizer, self.settings.ket_keywords)

    def put(self, seen: Sequence[PreparedChunk]) -> None:
        """Show chunks to searches."""
        with self.lock:
            self.bipartite.put(one.terms for one in seen)
            self._seen |= {one.parts.chunk_id: one.parts.text_hash for one in seen}
            for one in seen:
                if len(one.cut.pieces) > 1:
                    ids = one.cut.piece_ids()
                    self.spans[one.parts.chunk_id] = dict(zip(ids, one.cut.pieces, strict=True))
                    self.pieces.put(ids, one.parts.vectors[len(one.cut.sentences) :].astype(np.float32) / np.float32(ONE))

    def drop(self, chunk_ids: Sequence[ChunkId]) -> None:
        """Hide chunks from searches."""
        with self.lock:
            self.bipartite.drop(chunk_ids)
            for chunk_id in chunk_ids:
                self._seen.pop(chunk_id, None)
                self.pieces.drop(list(self.spans.pop(chunk_id, ())))

    def seen_all(self, chunk_ids: Collection[str]) -> bool:
        """Whether all of these chunks are shown to searches."""
        return all(chunk_id in self._seen for chunk_id in chunk_ids)

    # ------------------------------------------------------------ from the store

    async def open(self) -> None:
        """Read what the store has of each chunk, and join them; what it lacks is made by the next renewal."""
        await asyncio.to_thread(self._load)
        await asyncio.to_thread(self._join)

    def _load(self) -> None:
        there = self._hashes()
        waiting: list[ChunkParts] = []
        for parts in self._store.all():
            if there.get(parts.chunk_id) == parts.text_hash and parts.splits == self.settings.ket_splits:
                waiting.append(parts)
            if len(waiting) == TOGETHER:
                self.put(list(self._cut_again(waiting)))
                waiting = []
        self.put(list(self._cut_again(waiting)))

    def _cut_again(self, stored: Sequence[ChunkParts]) -> Iterator[PreparedChunk]:
        chunks = self._tools.documents.chunks([parts.chunk_id for parts in stored])
        for parts in stored:
            if parts.chunk_id in chunks:
                chunk, _, title = chunks[parts.chunk_id]
                cut = cut_of(chunk, title, splits=self.settings.ket_splits)
                if len(parts.vectors) == len(cut.texts()):
                    yield PreparedChunk(cut, self._terms(cut, parts.vectors), parts)

    # ------------------------------------------------------------ with every settle

    async def renew(self, progress: Progress) -> None:
        """Bring both graphs up to the chunks that are there, and choose the core anew (Alg. 3 l. 2-8)."""
        lacking = await asyncio.to_thread(self._lacking)
        for start in range(0, len(lacking), TOGETHER):
            chunks = await asyncio.to_thread(self._tools.documents.chunks, lacking[start : start + TOGETHER])
            seen = await self.seen([(chunk, title) for chunk, _, title in chunks.values()], progress)
            await asyncio.to_thread(self._make_up, seen)
        progress("neighbours", 0, 1)
        await asyncio.to_thread(self._join)

    def _lacking(self) -> list[str]:
        """What is missing beside chunks: another strategy has indexed them, other knobs cut them, or a row was damaged."""
        with self.lock:
            seen = list(self._seen)  # before the store is read: what came after that is not gone
        there = self._hashes()
        self.drop([ChunkId(chunk_id) for chunk_id in seen if chunk_id not in there])
        return [chunk_id for chunk_id, known in there.items() if self._seen.get(chunk_id) != known]

    def _make_up(self, seen: Sequence[PreparedChunk]) -> None:
        self._store.save([one.parts for one in seen])
        self.put(seen)
        there = self._tools.graph.vectors.hashes("chunk", [one.parts.chunk_id for one in seen])
        self.drop([ChunkId(one.parts.chunk_id) for one in seen if there.get(one.parts.chunk_id) != one.parts.text_hash])

    def _hashes(self) -> dict[str, str]:
        return self._tools.graph.vectors.all_hashes("chunk")

    def _join(self) -> None:
        with self._joining:
            if self._midway:  # it failed: nobody knows how far it came
                self._knn, self._listed = Neighbours(self._dimensions, k=self.settings.ket_neighbours), {}
            there = self._hashes()
            came = [chunk_id for chunk_id, known in there.items() if self._listed.get(chunk_id) != known]
            went = [chunk_id for chunk_id, known in self._listed.items() if there.get(chunk_id) != known]
            if came or went or self._midway:
                nodes = self._nodes(came)
                self._midway = True
                changed = self._knn.renew(nodes, went)
                self._choose(changed)
                for chunk_id in went:
                    del self._listed[chunk_id]
                self._listed |= {node.chunk_id: there[node.chunk_id] for node in nodes}
            self._midway = False

    def _nodes(self, chunk_ids: Sequence[str]) -> list[Node]:
        nodes = []
        for start in range(0, len(chunk_ids), TOGETHER):
            rows = self._tools.graph.vectors.some("chunk", chunk_ids[start : start + TOGETHER], self._dimensions)
            texts = self._tools.documents.texts_of(rows.keys)
            nodes += [
                Node(key, set(terms_of(texts[key])), vector)  # without its title, which may change while the text stays
                for key, vector in zip(rows.keys, to_ints(rows.vectors), strict=True)
                if key in texts
            ]
        return nodes

    def _choose(self, changed: Collection[str]) -> None:
        graph = self._knn.graph()
        if self.settings.ket_variant == "ket-u":
            self.ranked = core_uniform(graph.keys, share=self.settings.ket_core_share, seed=self.settings.seed)
        else:
            self.ranked = core(graph.keys, pagerank(graph.edges, len(graph.keys)), share=self.settings.ket_core_share)
        self.core = frozenset(self.ranked)
        self.neighbours = {key: self._knn.neighbours_of(key) if key in changed else self.neighbours[key] for key in graph.keys}


@dataclass(frozen=True, slots=True)
class PartsDraft:
    """Implements Draft: sentence vectors are committed with their chunks, and seen at once."""

    graphs: Graphs
    seen: Sequence[PreparedChunk]

    def write(self, tx: sqlite3.Connection) -> None:
        """As the protocol says."""
        insert_parts(tx, [one.parts for one in self.seen])

    def show(self, replaced: Sequence[ChunkId]) -> None:
        """As the protocol says."""
        self.graphs.drop(replaced)
        self.graphs.put(self.seen)
