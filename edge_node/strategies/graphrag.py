"""GraphRAG as a method: local search on the common graph (KET-RAG §3.2, Alg. 2). Reports take no part in it: Alg. 2 has none."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from edge_node.graph.local_search import SEEDS, SearchedGraph, local_search, relations_of
from edge_node.graph.passages import top_allowed
from edge_node.graph.tools import Tools
from edge_node.graph.view import View
from edge_node.records import Needs, Retrieval
from edge_node.strategies.method import Method, MethodQuery
from edge_node.strategies.write_path import WritePath
from shared.records import Entity, Relation

if TYPE_CHECKING:
    from edge_node.settings import EdgeSettings


class GraphRAG(Method):
    """Keeps nothing of its own: chunks, and all that the graph says of them."""

    def __init__(self, tools: Tools, write_path: WritePath, settings: EdgeSettings) -> None:
        del settings  # ten seeds, and half of the tokens for lines, are the paper's
        self._tools = tools
        self._write_path = write_path

    @staticmethod
    def needs(settings: EdgeSettings) -> Needs:
        """The graph, and words for the gate."""
        del settings
        return Needs(words=True, mentions=True, graph=True, entity_vectors=True)

    async def search(self, asked: MethodQuery) -> Retrieval:
        """Lines of the entities nearest the question and of their relations, and the chunks that most of these stand in.

        Who may not see all documents gets nothing, and so the chunks nearest the question: vectors, descriptions and weights are made of
        many documents at once, and choosing by them would tell of those that are withheld.
        """
        if asked.shown.withheld:
            return Retrieval(())
        return await asyncio.to_thread(self._found, self._write_path.view, asked)

    def _found(self, view: View, asked: MethodQuery) -> Retrieval:
        """Alg. 2, its chunks in the order of their nearness."""
        entities, passages = view.graph.entities, self._write_path.passages
        seeds = [entities[key] for key, _ in top_allowed(view.entities, asked.vector, SEEDS, entities.__contains__)]
        relations = relations_of(seeds, view.graph, view.adjacency)
        elements: list[Entity | Relation] = [*seeds, *relations]
        sizes = self._tools.documents.tokens_of({chunk_id for element in elements for chunk_id in element.chunk_ids})
        cosines = passages.scores(asked.vector, sorted(sizes))  # of what is there: until the next settle the graph may tell of what is gone
        graph = SearchedGraph(
            linked_pieces=lambda element: element.chunk_ids,
            tells=lambda element: cosines.keys() >= set(element.chunk_ids),
            name_of=lambda key: entities[key].name,
            tokens_of=sizes.__getitem__,
            cosines_of=lambda chunk_ids: {key: cosines[key] for key in chunk_ids if key in cosines},
            count=self._tools.tokenizer.count,
        )
        found = local_search(seeds, relations, graph, limit_tokens=asked.budget_tokens)
        nearest = sorted(found.pieces[: asked.top_k], key=lambda key: (-cosines[key], key))
        return Retrieval(passages.all_of([(key, cosines[key]) for key in nearest]), found.lines)
