"""Both graphs of KET-RAG over the chunks of an edge, kept up to date with the store (Alg. 3). Nothing here calls a language model."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np

from edge_node.store.chunk_parts import ChunkParts, ChunkPartStore, insert_parts
from edge_node.store.passages import text_hash
from edge_node.strategies.base import Progress, Tools
from edge_node.strategies.ketrag.bipartite import Bipartite, ChunkTerms
from edge_node.strategies.ketrag.centrality import core, core_uniform, pagerank
from edge_node.strategies.ketrag.knn import Neighbours, Node
from edge_node.strategies.ketrag.parts import Cut, Span, chunk_terms, cut_of, terms_of_cut
from edge_node.strategies.ketrag.quantised import ONE, Ints, to_ints
from shared.index import open_index
from shared.ports import FloatArray
from shared.records import Chunk, ChunkId

BATCH = 32  # texts that are embedded at a time
TOGETHER = 256  # chunks that are read, or written, at once


@dataclass(frozen=True, slots=True)
class Shape:
    """The knobs of the index; see EdgeSettings."""

    neighbours: int  # K
    core_share: float  # beta
    uniform: bool  # the core is drawn, and not of highest PageRank (KET-RAG-U)
    splits: int  # tau
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """A chunk as it goes into the graphs: its cut, its terms, and what is stored of it."""

    cut: Cut
    terms: ChunkTerms
    parts: ChunkParts


class Graphs:
    """The bipartite graph at once with every commit; the KNN graph and its core with every settle. ``lock`` keeps writers out."""

    def __init__(self, tools: Tools, shape: Shape) -> None:
        self._tools = tools
        self._shape = shape
        self._dimensions = tools.embedder.dimensions
        self._store = ChunkPartStore(tools.graph.database, self._dimensions)
        self._knn = Neighbours(self._dimensions, k=shape.neighbours)
        self._listed: dict[str, str] = {}  # hash of its text by chunk id, of the chunks in the KNN graph
        self._seen: dict[str, str] = {}  # the same, of those in the bipartite graph
        self._renewing = asyncio.Lock()
        self.lock = Lock()
        self.bipartite = Bipartite(self._dimensions)
        self.spans: dict[str, dict[str, Span]] = {}  # place of each piece in its chunk, by chunk id; only where there are several
        self.pieces = open_index(tools.index, self._dimensions)  # their vectors
        self.ranked: tuple[str, ...] = ()  # the core, most central first
        self.core: frozenset[str] = frozenset()
        self.neighbours: dict[str, list[str]] = {}

    # ------------------------------------------------------------ with every commit

    async def seen(self, chunks: Sequence[tuple[Chunk, str]], progress: Progress) -> list[Seen]:
        """Cut chunks, each with its document's title, and embed their sentences and pieces."""
        cuts = [cut_of(chunk, title, splits=self._shape.splits) for chunk, title in chunks]
        texts = [text for cut in cuts for text in cut.texts()]
        vectors = np.zeros((len(texts), self._dimensions), dtype=np.int16)
        for start in range(0, len(texts), BATCH):
            progress("embed sentences", start, len(texts))
            batch = texts[start : start + BATCH]
            vectors[start : start + len(batch)] = to_ints(await self._tools.embedder.embed(batch))
        ends = np.cumsum([len(cut.texts()) for cut in cuts])[:-1]
        rows = np.split(vectors, ends) if cuts else []
        return [self._seen_of(cut, own) for cut, own in zip(cuts, rows, strict=True)]

    def _seen_of(self, cut: Cut, vectors: Ints) -> Seen:
        parts = ChunkParts(cut.chunk.chunk_id, text_hash(cut.chunk.text), self._shape.splits, vectors)
        return Seen(cut, terms_of_cut(cut, vectors[: len(cut.sentences)], self._tools.tokenizer), parts)

    def put(self, seen: Sequence[Seen]) -> None:
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

    # ------------------------------------------------------------ from the store

    async def open(self) -> None:
        """Read what the store has of each chunk, and join them; what it lacks is made by the next renewal."""
        there = await asyncio.to_thread(self._load)
        await self._join(there)

    def _load(self) -> dict[str, str]:
        there = self._tools.graph.vectors.all_hashes("chunk")
        waiting: list[ChunkParts] = []
        for parts in self._store.all():
            if there.get(parts.chunk_id) == parts.text_hash and parts.splits == self._shape.splits:
                waiting.append(parts)
            if len(waiting) == TOGETHER:
                self.put(list(self._cut_again(waiting)))
                waiting = []
        self.put(list(self._cut_again(waiting)))
        return there

    def _cut_again(self, stored: Sequence[ChunkParts]) -> Iterator[Seen]:
        chunks = self._tools.documents.chunks([parts.chunk_id for parts in stored])
        for parts in stored:
            if parts.chunk_id in chunks:
                chunk, _, title = chunks[parts.chunk_id]
                cut = cut_of(chunk, title, splits=self._shape.splits)
                if len(parts.vectors) == len(cut.texts()):
                    yield Seen(cut, terms_of_cut(cut, parts.vectors[: len(cut.sentences)], self._tools.tokenizer), parts)

    # ------------------------------------------------------------ with every settle

    async def renew(self, progress: Progress) -> None:
        """Bring both graphs up to the chunks that are there, and choose the core anew (Alg. 3 l. 2-8)."""
        async with self._renewing:
            there = await asyncio.to_thread(self._tools.graph.vectors.all_hashes, "chunk")
            await self._make_up(there, progress)
            progress("neighbours", 0, 1)
            await self._join(there)

    async def _join(self, there: dict[str, str]) -> None:
        stay = {chunk_id: known for chunk_id, known in self._listed.items() if there.get(chunk_id) == known}
        came = [chunk_id for chunk_id in there if chunk_id not in stay]
        went = [chunk_id for chunk_id in self._listed if chunk_id not in stay]
        if came or went:
            nodes = await asyncio.to_thread(self._nodes, came)
            self.ranked, self.neighbours = await asyncio.to_thread(self._chosen, nodes, went)
            self.core = frozenset(self.ranked)
            self._listed = stay | {node.chunk_id: there[node.chunk_id] for node in nodes}

    async def _make_up(self, there: dict[str, str], progress: Progress) -> None:
        """What is missing beside chunks: another strategy has indexed them, other knobs cut them, or a row was damaged."""
        self.drop([ChunkId(chunk_id) for chunk_id in self._seen if chunk_id not in there])
        lacking = [chunk_id for chunk_id, known in there.items() if self._seen.get(chunk_id) != known]
        for start in range(0, len(lacking), TOGETHER):
            chunks = await asyncio.to_thread(self._tools.documents.chunks, lacking[start : start + TOGETHER])
            seen = await self.seen([(chunk, title) for chunk, _, title in chunks.values()], progress)
            await asyncio.to_thread(self._store.save, [one.parts for one in seen])
            await asyncio.to_thread(self.put, seen)

    def _nodes(self, chunk_ids: Sequence[str]) -> list[Node]:
        rows = self._tools.graph.vectors.some("chunk", chunk_ids, self._dimensions)
        vectors: dict[str, FloatArray] = dict(zip(rows.keys, rows.vectors, strict=True))
        nodes = []
        for start in range(0, len(rows.keys), TOGETHER):
            found = self._tools.documents.chunks(rows.keys[start : start + TOGETHER])
            cuts = [cut_of(chunk, title, splits=0) for chunk, _, title in found.values()]
            for cut, terms in zip(cuts, chunk_terms(cuts), strict=True):
                nodes.append(Node(cut.chunk.chunk_id, terms, to_ints(vectors[cut.chunk.chunk_id])))
        return nodes

    def _chosen(self, nodes: Sequence[Node], went: Sequence[str]) -> tuple[tuple[str, ...], dict[str, list[str]]]:
        self._knn.renew(nodes, went)
        graph = self._knn.graph()
        if self._shape.uniform:
            chosen = core_uniform(graph.keys, share=self._shape.core_share, seed=self._shape.seed)
        else:
            chosen = core(graph.keys, pagerank(graph.edges, len(graph.keys)), share=self._shape.core_share)
        return chosen, {key: self._knn.neighbours_of(key) for key in graph.keys}


@dataclass(frozen=True, slots=True)
class PartsDraft:
    """Implements Draft: sentence vectors are committed with their chunks, and seen at once."""

    graphs: Graphs
    seen: Sequence[Seen]

    def write(self, tx: sqlite3.Connection) -> None:
        """As the protocol says."""
        insert_parts(tx, [one.parts for one in self.seen])

    def show(self, replaced: Sequence[ChunkId]) -> None:
        """As the protocol says."""
        self.graphs.drop(replaced)
        self.graphs.put(self.seen)
