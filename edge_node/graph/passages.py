"""Chunks by meaning and by words: both indexes in memory, and passages read from the store by id."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Lock
from typing import Protocol

import numpy as np

from edge_node.database.vectors import VectorRows, text_hash
from edge_node.documents.lexical import LexicalIndex, Matches
from edge_node.documents.store import DocumentStore
from edge_node.extraction.names import Definition
from edge_node.graph.store import GraphStore
from shared.errors import StoreError
from shared.index import open_index
from shared.ports import Embedder, FloatArray, VectorIndex
from shared.records import Chunk, ChunkId, EdgeId, EntityMention, Evidence, RelationMention, is_withheld

EMBED_BATCH = 8  # a question waits for one batch at most: 0.3 s on two cores, at the speed of larger ones


class ChunkDraft(Protocol):
    """What a strategy derives from chunks that are about to be committed."""

    def write(self, tx: sqlite3.Connection) -> None:
        """Write it, in the transaction that writes the chunks."""

    def show(self, replaced: Sequence[ChunkId]) -> None:
        """Let searches find it, in place of what was derived from ``replaced``: the chunks are committed."""


def top_allowed(index: VectorIndex, vector: FloatArray, k: int, allowed: Callable[[str], bool]) -> list[tuple[str, float]]:
    """The k allowed keys nearest a vector (d,), with cosine: as many more are looked at as it takes. Nothing is near to zeros."""
    looked_at = k
    if not vector.any():
        return []
    while True:
        found = index.top(vector, looked_at)
        kept = [(key, score) for key, score in found if allowed(key)][:k]
        if len(kept) == k or len(found) < looked_at:
            return kept
        looked_at *= 4


class Passages:
    """The chunk index of an edge; a cache of the store."""

    def __init__(
        self, edge: EdgeId, documents: DocumentStore, graph: GraphStore, embedder: Embedder, index: str, words: LexicalIndex | None = None
    ) -> None:
        """``words``: an empty index to keep up to date too; without one, no chunk shares a word with any question."""
        self._edge = edge
        self._documents = documents
        self._graph = graph
        self._embedder = embedder
        self._index_name = index
        self._index = open_index(index, embedder.dimensions)
        self._words = words
        self._retired = False
        self._lock = Lock()

    def load(self) -> None:
        """Read all chunk vectors from the store, and the words of all chunks where these are indexed."""
        rows = self._graph.vectors.load("chunk", self._embedder.dimensions)
        self._index = open_index(self._index_name, self._embedder.dimensions)
        self._index.put(rows.keys, rows.vectors)
        if self._words is not None:
            self._words = LexicalIndex()
            self._words.put(self._documents.texts())

    async def embed(self, chunks: Sequence[Chunk], progress: Callable[[str, int, int], None]) -> VectorRows:
        """Vectors of chunks, to be committed with them."""
        texts = [chunk.text for chunk in chunks]
        vectors = np.empty((len(texts), self._embedder.dimensions), dtype=np.float32)
        for start in range(0, len(texts), EMBED_BATCH):
            progress("embed", start, len(texts))
            vectors[start : start + EMBED_BATCH] = await self._embedder.embed(texts[start : start + EMBED_BATCH])
        return VectorRows(tuple(chunk.chunk_id for chunk in chunks), tuple(text_hash(text) for text in texts), vectors)

    def save(
        self,
        chunks: Sequence[Chunk],
        entities: Iterable[EntityMention],
        relations: Iterable[RelationMention],
        definitions: Iterable[Definition],
        rows: VectorRows,
        drafts: Sequence[ChunkDraft] = (),
    ) -> None:
        """Commit chunks with what they say, and show them to searches in place of what they replace. Raises as ``save_chunks``.

        Both in one call and under one lock: a search never misses what is committed, nor finds what was removed meanwhile.
        """
        with self._lock:
            if self._retired:
                raise StoreError("another embedding model takes over", next_step="the document is indexed by that one")
            replaced = self._graph.mentions.save_chunks(chunks, entities, relations, definitions, rows, also=[one.write for one in drafts])
            self._index.drop(replaced)
            self._index.put(rows.keys, rows.vectors)
            if self._words is not None:
                self._words.drop(replaced)
                self._words.put(self._documents.texts(rows.keys))
            for draft in drafts:
                draft.show(replaced)

    def retire(self) -> None:
        """Save no chunk any more, and read no vector from the store."""
        with self._lock:
            self._retired = True
            self._graph.vectors.retire()

    def drop(self, chunk_ids: Sequence[ChunkId]) -> None:
        """Hide removed chunks from searches."""
        with self._lock:
            self._index.drop(chunk_ids)
            if self._words is not None:
                self._words.drop(chunk_ids)

    def top(self, vector: FloatArray, k: int, withheld: frozenset[str] = frozenset()) -> list[tuple[str, float]]:
        """The k chunks nearest a vector (d,), with cosine, as if the withheld documents were not there."""
        return top_allowed(self._index, vector, k, lambda chunk_id: not is_withheld(chunk_id, withheld))

    def matches(self, question: str, withheld: frozenset[str] = frozenset()) -> Matches:
        """BM25 of the chunks for a question, as if the withheld documents were not there; 0 for all where words are not indexed."""
        return (self._words or LexicalIndex()).matches(question, withheld)

    def unknown(self, question: str, withheld: frozenset[str] = frozenset()) -> float:
        """The share of a question's words that no chunk has, as if the withheld documents were not there; 0 where words are not indexed."""
        return 0.0 if self._words is None else self._words.unknown(question, withheld)

    def scores(self, vector: FloatArray, chunk_ids: Sequence[str]) -> dict[str, float]:
        """Cosine of given chunks with a vector (d,), 0 with zeros; without those that are gone."""
        is_near = vector.any()
        found = self._index.scores(vector if is_near else np.eye(1, len(vector), dtype=np.float32)[0], chunk_ids)
        if not is_near:
            found = [None if score is None else 0.0 for score in found]
        return {key: score for key, score in zip(chunk_ids, found, strict=True) if score is not None}

    def read(self, ranked: Sequence[tuple[str, float]], *, budget_tokens: int) -> tuple[Evidence, ...]:
        """Passages of ranked (chunk id, cosine), best first, as long as they fit the budget; the first is always in."""
        kept: list[Evidence] = []
        used = 0
        for passage, tokens in self._read(ranked):
            if kept and used + tokens > budget_tokens:
                continue
            used += tokens
            kept.append(passage)
        return tuple(kept)

    def all_of(self, ranked: Sequence[tuple[str, float]]) -> tuple[Evidence, ...]:
        """All passages of ranked (chunk id, cosine): what they cost was counted before."""
        return tuple(passage for passage, _ in self._read(ranked))

    def _read(self, ranked: Sequence[tuple[str, float]]) -> Iterator[tuple[Evidence, int]]:
        """Passages with their tokens; without those that were deleted between search and read."""
        chunks = self._documents.chunks([chunk_id for chunk_id, _ in ranked])
        for chunk_id, score in ranked:
            if chunk_id in chunks:
                chunk, document, title = chunks[chunk_id]
                at = (self._edge, chunk.document_id, document, chunk.chunk_id, (chunk.start, chunk.end))
                yield Evidence(*at, chunk.text, round(score, 4), title=title, places=chunk.places), chunk.tokens
