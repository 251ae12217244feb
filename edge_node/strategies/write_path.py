"""① The write path of every strategy: chunks read, embedded and committed at once; the graph merged from them, where one is needed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from edge_node.communities.claim_reader import ClaimReader
from edge_node.communities.report_writer import ReportWriter
from edge_node.communities.service import CommunityReports
from edge_node.database.vectors import GraphKind, VectorRows
from edge_node.documents.lexical import LexicalIndex
from edge_node.documents.read_by import ReadByDraft, usual_language
from edge_node.extraction.descriptions import ModelDescriber
from edge_node.extraction.extractor import Extracted, Extractor, Extracts
from edge_node.extraction.model_extraction import ModelExtractor
from edge_node.extraction.nlp import SpacyExtractor
from edge_node.extraction.titles import title_mentions
from edge_node.graph.passages import ChunkDraft, Passages
from edge_node.graph.refinement import IN_ONE_GO, SummaryRefiner
from edge_node.graph.tools import Tools
from edge_node.graph.update import GraphUpdater
from edge_node.graph.view import View
from edge_node.memory.service import Memories
from edge_node.records import Added, Cost, Needs, Progress
from shared.records import Chunk, ChunkId, EntityMention

if TYPE_CHECKING:
    from edge_node.settings import EdgeSettings


class WritePath:
    """Chunks and, as far as ``needs`` says, words, mentions, graph and told summaries. ``extractor`` takes the place of spaCy and model."""

    def __init__(self, tools: Tools, settings: EdgeSettings, needs: Needs, extractor: Extracts | None = None) -> None:
        self._tools = tools
        self.needs = needs
        self._idle_calls = settings.idle_calls
        self.tagger = SpacyExtractor(
            with_facts=needs.facts, processes=settings.workers, usual=lambda: usual_language(tools.documents.database)
        )
        words = LexicalIndex() if needs.words else None
        self.passages = Passages(tools.edge, tools.documents, tools.graph, tools.embedder, tools.index, words)
        model = ModelExtractor(
            tools.generator, self.tagger, form=settings.extraction_form, gleanings=settings.gleanings, deadline_s=settings.model_deadline_s
        )
        describer = ModelDescriber(tools.generator, deadline_s=settings.model_deadline_s) if settings.descriptions == "model" else None
        self.extractor = extractor or Extractor(
            self.tagger, model, settings.model_share, tools.retries, describer=describer, parallel=settings.model_calls
        )
        kinds: dict[GraphKind, bool] = {"entity": needs.entity_vectors, "relation": needs.relation_vectors}
        self.updater = GraphUpdater(tools, settings, [kind for kind, is_read in kinds.items() if is_read])
        self._refiner = SummaryRefiner(tools, self.updater, settings)
        self.reports = CommunityReports(tools, self.updater, self.passages, settings, with_graph=needs.graph)
        with_claims = needs.graph and settings.claims == "model" and not self.reports.is_off
        self._claims = ClaimReader(
            tools, self.updater, self.reports, is_on=with_claims, deadline_s=settings.model_deadline_s, at_once=settings.idle_calls
        )
        self.memories = Memories(tools, settings, grouped=needs.hyperedges, processes=settings.workers)
        self._report_writer = ReportWriter(tools, self.reports, settings)

    @property
    def view(self) -> View:
        """What questions see of the graph at this moment; empty where no graph is needed."""
        return self.updater.view

    async def open(self) -> None:
        """Load caches; what a stop left between two steps is made good by the next settle."""
        await asyncio.to_thread(self.passages.load)
        await self.memories.open()
        await self._claims.open()
        if self.needs.graph:
            await self.updater.open()
            await self._refiner.count()

    # ------------------------------------------------------------ documents

    async def read(self, chunks: Sequence[Chunk], progress: Progress) -> Extracted:
        """① What the chunks of a document say of entities and relations, its title included, and their facts: what is needed of it.

        Raises NotFound where the document was removed since.
        """
        if not (self.needs.mentions or self.needs.facts):
            return Extracted((), (), ())
        progress("extract", 0, len(chunks))
        found = await self.extractor.extract(chunks, progress)
        if not self.needs.mentions:
            return Extracted((), (), cost=found.cost, facts=found.facts, read_by=found.read_by)
        titled = await asyncio.to_thread(self._titled, chunks, found.entities)
        return replace(found, entities=(*found.entities, *titled))

    async def save(
        self, chunks: Sequence[Chunk], found: Extracted, rows: VectorRows, drafts: Sequence[ChunkDraft], progress: Progress
    ) -> Added:
        """Commit all of it at once, in place of the document's former version. Raises as ``Passages.save``."""
        if not self.memories.is_off:
            drafts = [*drafts, self.memories.draft(chunks, found.facts, has_facts=self.needs.facts)]
        drafts = [*drafts, ReadByDraft(found.read_by)]
        await asyncio.to_thread(self.passages.save, chunks, found.entities, found.relations, found.definitions, rows, drafts)
        progress("embed", len(chunks), len(chunks))
        return Added(found.cost, found.shortfalls)

    def _titled(self, chunks: Sequence[Chunk], said: Sequence[EntityMention]) -> list[EntityMention]:
        return list(title_mentions(chunks, self._tools.documents.get(chunks[0].document_id)["title"], said)) if chunks else []

    async def forget(self, chunk_ids: Sequence[ChunkId]) -> None:
        """Hide chunks from search at once; the graph follows with ``settle``."""
        await asyncio.to_thread(self.passages.drop, chunk_ids)
        await self.memories.forget(chunk_ids)

    async def retire(self) -> None:
        """As ``Index.retire``."""
        await asyncio.to_thread(self.passages.retire)
        await asyncio.to_thread(self.memories.retire)
        await self.updater.ended()

    # ------------------------------------------------------------ what is derived

    async def settle(self, progress: Progress) -> None:
        """①② Merge what changed, embed it, place it in the partition, summarise it plainly; then show it to questions.

        Without a need of a graph, what another strategy derived in this store is forgotten, as nobody keeps it up to date.
        """
        await self.memories.renew()
        if not self.needs.graph:
            await asyncio.to_thread(self._tools.graph.drop_derived)
            progress("settle", 1, 1)
            return
        await self.updater.settle(progress)
        await self._refiner.count()

    async def refine(self, progress: Progress) -> Cost:
        """② Let the model write descriptions and summaries, then read claims, then write reports, a few in all. Raises ModelError."""
        if not self.needs.graph:
            return Cost()
        most = IN_ONE_GO * self._idle_calls
        cost = await self._refiner.refine(progress, most=most)
        cost += await self._claims.read(progress, most=most - cost.calls)
        return cost + await self._report_writer.write(progress, most=most - cost.calls)

    @property
    def stale(self) -> int:
        """Descriptions, summaries and reports that the model should write, and chunks whose claims it should read."""
        return self._refiner.stale + self._claims.stale + self._report_writer.stale

    def counts(self) -> dict[str, int]:
        """What was built."""
        return {
            "entities": len(self.view.graph.entities),
            "relations": len(self.view.graph.relations),
            "subgraphs": len(self.updater.placer.parts.members),
            "summaries": len(self._tools.graph.summary_ids()),
        }
