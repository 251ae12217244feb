"""DGRAG as a strategy: ① extraction and merging, ② partition and summaries, ④ dual-level retrieval."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

from edge_node.graph.extractor import Extractor, Extracts
from edge_node.graph.model_extraction import ModelExtractor
from edge_node.graph.nlp import SpacyExtractor
from edge_node.store.lexical import LexicalIndex
from edge_node.store.passages import Passages
from edge_node.strategies.base import NOTHING_WITHHELD, Added, Cost, Progress, Retrieval, Tools
from edge_node.strategies.dgrag.dual_level import Shown, fact_lines
from edge_node.strategies.dgrag.keywords import KeywordFinder, ModelKeywords, NlpKeywords
from edge_node.strategies.dgrag.refine import Limits, Refiner, Unkept
from edge_node.strategies.dgrag.search import Asked, Search
from edge_node.strategies.dgrag.settle import SettleOptions, Settler
from edge_node.strategies.dgrag.titles import title_mentions
from edge_node.strategies.dgrag.view import View
from edge_node.strategies.dgrag.views import graphml, neighbourhood
from shared.records import Chunk, ChunkId, DocumentId, EntityMention

if TYPE_CHECKING:
    from edge_node.settings import Channel, EdgeSettings


@dataclass(frozen=True, slots=True)
class Options:
    """The knobs of this strategy; see EdgeSettings."""

    extraction_share: float
    extraction_form: Literal["lines", "json"]
    gleanings: int
    model_deadline_s: float
    descriptions: Literal["joined", "model"]
    description_chars: int
    subgraph_entities: int
    leiden: Literal["igraph", "leidenalg"]
    seed: int
    summaries: Literal["extractive", "model"]
    summary_staleness: float
    keywords: Literal["nlp", "model"]
    retrieval: frozenset[Channel]
    facts_share: float


class DGRAG:
    """Implements IndexStrategy. ``extractor`` takes the place of spaCy and model."""

    def __init__(self, tools: Tools, options: Options, extractor: Extracts | None = None) -> None:
        self._tools = tools
        self._options = options
        words = LexicalIndex() if "lexical" in options.retrieval else None
        self._passages = Passages(tools.edge, tools.documents, tools.graph, tools.embedder, tools.index, words)
        spacy = SpacyExtractor()
        model = ModelExtractor(
            tools.generator, spacy, form=options.extraction_form, gleanings=options.gleanings, deadline_s=options.model_deadline_s
        )
        self._extractor = extractor or Extractor(spacy, model, options.extraction_share, tools.retries)
        self._keywords: KeywordFinder = NlpKeywords(spacy) if options.keywords == "nlp" else ModelKeywords(Unkept(tools.generator))
        self._settler = Settler(tools, SettleOptions(**{name: getattr(options, name) for name in SettleOptions.__dataclass_fields__}))
        self._refiner = Refiner(
            tools, self._settler, Limits(options.summaries == "model", options.description_chars, options.model_deadline_s)
        )

    @classmethod
    def from_settings(cls, tools: Tools, settings: EdgeSettings) -> Self:
        """Take this strategy's knobs out of the settings."""
        return cls(tools, Options(**{name: getattr(settings, name) for name in Options.__dataclass_fields__}))

    # ------------------------------------------------------------ write path

    async def open(self) -> None:
        """Load models and caches; what a stop left between two steps is made good by the next settle."""
        await self._extractor.load()
        await asyncio.to_thread(self._passages.load)
        await self._settler.open()
        await self._refiner.count()

    async def add(self, chunks: Sequence[Chunk], progress: Progress) -> Added:
        """① Extract mentions from the chunks of a document, embed them, commit all of it at once, in place of its former version."""
        progress("extract", 0, len(chunks))
        found = await self._extractor.extract(chunks, progress)
        titled = await asyncio.to_thread(self._titled, chunks, found.entities)
        rows = await self._passages.embed(chunks, progress)
        await asyncio.to_thread(self._passages.save, chunks, [*found.entities, *titled], found.relations, found.definitions, rows)
        progress("embed", len(chunks), len(chunks))
        return Added(found.cost, found.shortfalls)

    def _titled(self, chunks: Sequence[Chunk], said: Sequence[EntityMention]) -> list[EntityMention]:
        """What the document's title adds to ``said``. Raises NotFound where the document was removed meanwhile."""
        return list(title_mentions(chunks, self._tools.documents.get(chunks[0].document_id)["title"], said)) if chunks else []

    async def forget(self, chunk_ids: Sequence[ChunkId]) -> None:
        """Hide chunks from search at once; the graph follows with ``settle``."""
        await asyncio.to_thread(self._passages.drop, chunk_ids)

    async def settle(self, progress: Progress) -> None:
        """①② Merge what changed, embed it, place it in the partition, summarise it plainly; then show it to questions."""
        await self._settler.settle(progress)
        await self._refiner.count()

    async def refine(self, progress: Progress) -> Cost:
        """② Let the model write summaries and long descriptions, a few."""
        return await self._refiner.refine(progress)

    @property
    def stale(self) -> int:
        """Summaries and descriptions that the model should write."""
        return self._refiner.stale

    # ------------------------------------------------------------ read path

    async def retrieve(
        self, question: str, *, budget_tokens: int, top_k: int, withheld: frozenset[DocumentId] = NOTHING_WITHHELD
    ) -> Retrieval:
        """④ Chunks by nearness, words and graph, within the budget; a passage's score is its own nearness to the question alone.

        With them the relations of what the question names, where these passages do not tell of them.
        """
        asked = await self._asked(question)
        return await asyncio.to_thread(partial(self._found, self._settler.view, Shown(withheld), asked), budget_tokens, top_k)

    async def _asked(self, question: str) -> Asked:
        """Keywords are looked for only where a channel searches for them."""
        if self._options.retrieval.isdisjoint({"entities", "relations"}):
            return Asked(question, (await self._tools.embedder.embed([question]))[0])
        keywords = await self._keywords.find(question)
        low, high, whole = await self._tools.embedder.embed([", ".join(keywords.low), ", ".join(keywords.high), question])
        return Asked(
            question,
            whole,
            low if "entities" in self._options.retrieval else None,
            high if "relations" in self._options.retrieval else None,
        )

    def _found(self, view: View, shown: Shown, asked: Asked, budget_tokens: int, top_k: int) -> Retrieval:
        found = Search(view, self._passages, asked, shown, self._options.retrieval, top_k).run()
        facts_tokens = int(budget_tokens * self._options.facts_share)
        evidence = self._passages.read(found.chunks, budget_tokens=budget_tokens - facts_tokens)
        read = frozenset(item.chunk_id for item in evidence)
        pairs = found.relations if not shown.withheld else ()  # a fact may be of a withheld document
        lines = _within(fact_lines(pairs, view.graph, skip_chunks=read), facts_tokens)
        return Retrieval(evidence, lines, self._passages.unknown(asked.question, shown.withheld))

    # ------------------------------------------------------------ views

    def counts(self) -> dict[str, int]:
        """What was built."""
        graph, summaries = self._settler.view.graph, self._tools.graph.summary_ids()
        return {
            "entities": len(graph.entities),
            "relations": len(graph.relations),
            "subgraphs": len(self._settler.placer.parts.members),
            "summaries": len(summaries),
        }

    def neighbourhood(self, entity: str, *, hops: int, limit: int) -> dict[str, Any]:
        """Entities within ``hops`` of one (by name or key), or those of highest degree; with the relations among them."""
        view = self._settler.view
        return neighbourhood(view.graph, view.adjacency, entity, hops=hops, limit=limit)

    def graphml(self) -> str:
        """The graph for other programs."""
        return graphml(self._settler.view.graph)


def _within(lines: Sequence[str], budget_tokens: int) -> tuple[str, ...]:
    """As many lines as fit, at about four characters a token."""
    kept, used = [], 0
    for line in lines:
        used += len(line) // 4 + 1
        if used > budget_tokens:
            break
        kept.append(line)
    return tuple(kept)
