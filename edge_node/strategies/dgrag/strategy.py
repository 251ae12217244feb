"""DGRAG as a strategy: ①② are the common write path; ④ is dual-level retrieval over its graph."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from edge_node.graph.local_search import lines_within, part_of
from edge_node.graph.tools import Tools
from edge_node.graph.view import View, fact_lines
from edge_node.model_task import UncachedGenerator
from edge_node.records import Needs, Retrieval
from edge_node.settings import RetrievalSettings
from edge_node.strategies.dgrag.descriptions import Describer
from edge_node.strategies.dgrag.search import GraphSearch, KeywordFinder, ModelKeywords, NlpKeywords, QueryVectors
from edge_node.strategies.method import FACTS_SHARE, Method, MethodQuery
from edge_node.strategies.write_path import WritePath
from shared.ports import embed_questions

if TYPE_CHECKING:
    from edge_node.settings import EdgeSettings


class DGRAG(Method):
    """Finds chunks by nearness, words and graph."""

    def __init__(self, tools: Tools, write_path: WritePath, settings: RetrievalSettings) -> None:
        self._tools = tools
        self._write_path = write_path
        self._settings = settings
        self.keywords: KeywordFinder = (
            NlpKeywords(write_path.tagger) if settings.keywords == "nlp" else ModelKeywords(UncachedGenerator(tools.generator))
        )

    @staticmethod
    def needs(settings: EdgeSettings) -> Needs:
        """The graph; words and vectors of entities and relations where they are channels."""
        channels = settings.retrieval
        return Needs(
            words="lexical" in channels,
            mentions=True,
            graph=True,
            entity_vectors="entities" in channels,
            relation_vectors="relations" in channels,
        )

    async def search(self, asked: MethodQuery) -> Retrieval:
        """④ Chunks by nearness, words and graph, within the budget; a passage's score is its own nearness to the question alone.

        With them the relations of what the question names, where these passages do not tell of them; or, where descriptions have a
        share and nothing is withheld, what describes the entities and relations that were found.
        """
        sought = await self._sought(asked)
        return await asyncio.to_thread(partial(self._found, self._write_path.view, asked, sought))

    async def _sought(self, asked: MethodQuery) -> QueryVectors:
        """Keywords are looked for only where a channel searches for them."""
        if self._settings.retrieval.isdisjoint({"entities", "relations"}):
            return QueryVectors(asked.question, asked.vector)
        keywords = await self.keywords.find(asked.question)
        low, high = await embed_questions(self._tools.embedder, [", ".join(keywords.low), ", ".join(keywords.high)])
        channels = self._settings.retrieval
        return QueryVectors(
            asked.question, asked.vector, low if "entities" in channels else None, high if "relations" in channels else None
        )

    def _found(self, view: View, asked: MethodQuery, sought: QueryVectors) -> Retrieval:
        passages, shown = self._write_path.passages, asked.shown
        found = GraphSearch(view, passages, sought, shown, self._settings.retrieval, asked.top_k).run()
        if (share := self._settings.description_share) and not shown.withheld:
            describer = Describer(view, passages, asked.vector, self._tools.tokenizer.count)
            told = describer.within(found, part_of(asked.budget_tokens, share))
            return Retrieval(passages.read(found.chunks, budget_tokens=asked.budget_tokens), descriptions=told)
        facts_tokens = int(asked.budget_tokens * FACTS_SHARE)
        evidence = passages.read(found.chunks, budget_tokens=asked.budget_tokens - facts_tokens)
        read = frozenset(item.chunk_id for item in evidence)
        pairs = found.relations if not shown.withheld else ()  # a fact may be of a withheld document
        return Retrieval(evidence, lines_within(fact_lines(pairs, view.graph, skip_chunks=read), facts_tokens, _about))


def _about(line: str) -> int:
    """Tokens of a line, at about four characters a token."""
    return len(line) // 4 + 1
