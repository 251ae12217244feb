"""DGRAG as a strategy: ① extraction and merging, ② partition and summaries, ④ dual-level retrieval."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import networkx as nx

from edge_node.graph.knowledge_graph import Graph, to_networkx
from edge_node.graph.model_extraction import ModelExtractor
from edge_node.graph.nlp import Extraction, SpacyExtractor
from edge_node.graph.shares import choose_for_model
from edge_node.store.passages import Passages
from edge_node.strategies.base import Cost, Progress, Retrieval, Tools, silent
from edge_node.strategies.dgrag.dual_level import Hits, chunk_support, fact_lines, fuse, neighbours, pair, rank_by
from edge_node.strategies.dgrag.keywords import KeywordFinder, ModelKeywords, NlpKeywords
from edge_node.strategies.dgrag.settle import Settled, SettleOptions, Settler
from edge_node.strategies.dgrag.views import neighbourhood
from shared.index import open_index
from shared.ports import FloatArray, VectorIndex
from shared.records import Chunk, ChunkId, EntityMention, RelationMention

if TYPE_CHECKING:
    from edge_node.settings import EdgeSettings

MODEL_DEADLINE_S = 300.0


@dataclass(frozen=True, slots=True)
class Options:
    """The knobs of this strategy; see EdgeSettings."""

    extraction_share: float
    extraction_form: Literal["lines", "json"]
    gleanings: int
    descriptions: Literal["joined", "model"]
    description_chars: int
    subgraph_entities: int
    leiden: Literal["igraph", "leidenalg"]
    seed: int
    summaries: Literal["extractive", "model"]
    keywords: Literal["nlp", "model"]
    facts_share: float


@dataclass(frozen=True, slots=True)
class _View:
    """What questions see: the graph, its shape, and its vectors."""

    graph: Graph
    adjacency: nx.Graph
    entities: VectorIndex
    relations: VectorIndex
    subgraphs: int


class DGRAG:
    """Implements IndexStrategy."""

    def __init__(self, tools: Tools, options: Options) -> None:
        self._tools = tools
        self._options = options
        self._passages = Passages(tools.edge, tools.documents, tools.graph, tools.embedder, tools.index)
        self._spacy = SpacyExtractor()
        self._model = ModelExtractor(
            tools.generator, self._spacy, form=options.extraction_form, gleanings=options.gleanings, deadline_s=MODEL_DEADLINE_S
        )
        self._keywords: KeywordFinder = NlpKeywords(self._spacy) if options.keywords == "nlp" else ModelKeywords(tools.generator)
        self._settler = Settler(tools, SettleOptions(**{name: getattr(options, name) for name in SettleOptions.__dataclass_fields__}))
        empty = open_index(tools.index, tools.embedder.dimensions)
        self._view = _View(Graph({}, {}), nx.Graph(), entities=empty, relations=empty, subgraphs=0)
        self._unfinished = False

    @classmethod
    def from_settings(cls, tools: Tools, settings: EdgeSettings) -> Self:
        """Take this strategy's knobs out of the settings."""
        return cls(tools, Options(**{name: getattr(settings, name) for name in Options.__dataclass_fields__}))

    # ------------------------------------------------------------ write path

    async def open(self) -> None:
        """Load spaCy and the chunk vectors, then settle what a stop may have left between two steps; where nothing was, it only reads."""
        await asyncio.to_thread(self._spacy.load)
        await asyncio.to_thread(self._passages.load)
        await self.settle(silent)

    async def add(self, chunks: Sequence[Chunk], progress: Progress) -> Cost:
        """① Extract mentions from chunks, embed them, commit all of it at once."""
        progress("extract", 0, len(chunks))
        entities, relations, cost = await self._extract(chunks, progress)
        rows = await self._passages.embed(chunks, progress)
        await asyncio.to_thread(self._tools.graph.save_chunks, chunks, entities, relations, rows)
        self._passages.put(rows)
        progress("embed", len(chunks), len(chunks))
        return cost

    async def remove(self, chunk_ids: Sequence[ChunkId]) -> None:
        """Hide chunks from search at once; the graph follows with ``settle``."""
        self._passages.drop(chunk_ids)

    async def settle(self, progress: Progress) -> Cost:
        """①② Merge mentions, embed what changed, partition, summarise what changed; then show it to questions."""
        settled = await self._settler.settle(progress)
        # built beside the loop, then swapped at once: a question sees either the old view or the new one
        self._view = await asyncio.to_thread(self._view_of, settled)
        self._unfinished = settled.unfinished
        return settled.cost

    @property
    def unfinished(self) -> bool:
        """The last settle went without the model."""
        return self._unfinished

    async def _extract(self, chunks: Sequence[Chunk], progress: Progress) -> tuple[list[EntityMention], list[RelationMention], Cost]:
        found = await asyncio.to_thread(self._spacy.extract, chunks, lambda done: progress("extract", done, len(chunks)))
        entities, relations, cost = list(found.entities), list(found.relations), Cost()
        per_chunk: dict[ChunkId, int] = {}
        for mention in entities:
            per_chunk[mention.chunk_id] = per_chunk.get(mention.chunk_id, 0) + 1
        chosen = choose_for_model(chunks, self._options.extraction_share, per_chunk)
        for done, chunk in enumerate(chunk for chunk in chunks if chunk.chunk_id in chosen):
            progress("extract by model", done, len(chosen))
            base = Extraction(
                tuple(m for m in entities if m.chunk_id == chunk.chunk_id), tuple(m for m in relations if m.chunk_id == chunk.chunk_id)
            )
            by_model = await self._model.extract(chunk, base)
            entities = [m for m in entities if m.chunk_id != chunk.chunk_id] + list(by_model.extraction.entities)
            relations = [m for m in relations if m.chunk_id != chunk.chunk_id] + list(by_model.extraction.relations)
            cost += Cost(by_model.calls, by_model.tokens_in, by_model.tokens_out)
        return entities, relations, cost

    def _view_of(self, settled: Settled) -> _View:
        entities = open_index(self._tools.index, self._tools.embedder.dimensions)
        relations = open_index(self._tools.index, self._tools.embedder.dimensions)
        entities.put(settled.entities.keys, settled.entities.vectors)
        relations.put(settled.relations.keys, settled.relations.vectors)
        return _View(settled.graph, to_networkx(settled.graph), entities, relations, settled.subgraphs)

    # ------------------------------------------------------------ read path

    async def retrieve(self, question: str, *, budget_tokens: int, top_k: int) -> Retrieval:
        """④ Entities by low-level keywords, relations by high-level ones, one hop further, then the chunks they carry.

        The chunks' order fuses graph support with the chunks' own nearness to the question; a passage's score is the latter.
        """
        keywords = await self._keywords.find(question)
        low, high, whole = await self._tools.embedder.embed([", ".join(keywords.low), ", ".join(keywords.high), question])
        return await asyncio.to_thread(self._found, self._view, (low, high, whole), budget_tokens=budget_tokens, top_k=top_k)

    def _found(self, view: _View, vectors: tuple[FloatArray, FloatArray, FloatArray], *, budget_tokens: int, top_k: int) -> Retrieval:
        """vectors: of the low-level keywords, of the high-level ones, of the question."""
        low, high, whole = vectors
        hits = Hits(tuple(view.entities.top(low, top_k)), tuple((_edge(key), score) for key, score in view.relations.top(high, top_k)))
        near = neighbours(hits, view.adjacency)
        support = chunk_support(hits, near, view.graph)
        nearest = self._passages.top(whole, top_k)
        ranked = fuse([rank_by(support, top_k), [key for key, _ in nearest]])[:top_k]
        cosine = self._passages.scores(whole, ranked)
        facts_tokens = int(budget_tokens * self._options.facts_share)
        scored = [(chunk_id, cosine[chunk_id]) for chunk_id in ranked if chunk_id in cosine]
        evidence = self._passages.read(scored, budget_tokens=budget_tokens - facts_tokens)
        shown = frozenset(item.chunk_id for item in evidence)
        lines = fact_lines([edge for edge, _ in [*hits.relations, *near]], view.graph, skip_chunks=shown)
        return Retrieval(evidence, _within(lines, facts_tokens))

    # ------------------------------------------------------------ views

    def counts(self) -> dict[str, int]:
        """What was built."""
        summaries = self._tools.graph.database.row("SELECT count(*) AS n FROM summaries WHERE removed = 0")
        return {
            "entities": len(self._view.graph.entities),
            "relations": len(self._view.graph.relations),
            "subgraphs": self._view.subgraphs,
            "summaries": summaries["n"] if summaries else 0,
        }

    def neighbourhood(self, entity: str, *, hops: int, limit: int) -> dict[str, Any]:
        """Entities within ``hops`` of one (by name or key), or those of highest degree; with the relations among them."""
        return neighbourhood(self._view.graph, self._view.adjacency, entity, hops=hops, limit=limit)


def _edge(key: str) -> tuple[str, str]:
    source, _, target = key.partition("\t")
    return pair(source, target)


def _within(lines: Sequence[str], budget_tokens: int) -> tuple[str, ...]:
    """As many lines as fit, at about four characters a token."""
    kept, used = [], 0
    for line in lines:
        used += len(line) // 4 + 1
        if used > budget_tokens:
            break
        kept.append(line)
    return tuple(kept)
