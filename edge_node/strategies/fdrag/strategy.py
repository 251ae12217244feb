"""FD-RAG's Cognizer as a method: memories say where to look, hyperedges what belongs there (§4.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Self

from edge_node.graph.facts import lines_within
from edge_node.knowledge.knowledge import Knowledge
from edge_node.memory.hypergraph import Hypergraph
from edge_node.store.incidence import Grain
from edge_node.store.memories import MemoryStore
from edge_node.strategies.base import Needs, Retrieval, Tools
from edge_node.strategies.fdrag.search import Lead, best_of_chunks, told_facts, unit_scores, unit_scores_by_chunk
from edge_node.strategies.method import Asked, Method
from shared.ports import FloatArray

if TYPE_CHECKING:
    from edge_node.settings import EdgeSettings

GRAINS: tuple[Grain, ...] = ("paragraph", "sentence")
UnitScores = Callable[[Hypergraph, FloatArray, Iterable[Lead]], FloatArray]
LOWEST = -1.0  # of a memory's score


class FDRAG(Method):
    """Keeps nothing of its own: memories, facts and hyperedges are everybody's."""

    def __init__(self, tools: Tools, knowledge: Knowledge, *, k: int, facts_share: float, score: UnitScores) -> None:
        """``k``: memories that lead; ``facts_share``: of the tokens, for facts; ``score``: what a memory leads to."""
        self._knowledge = knowledge
        self._facts = MemoryStore(tools.graph.database, tools.embedder.dimensions)
        self._count = tools.tokenizer.count
        self._k = k
        self._facts_share = facts_share
        self._score = score

    @staticmethod
    def needs(settings: EdgeSettings) -> Needs:
        """Facts, of which memories are made, and words for the gate."""
        del settings
        return Needs(words=True, facts=True)

    @classmethod
    def of(cls, tools: Tools, knowledge: Knowledge, settings: EdgeSettings) -> Self:
        """With as many memories as the fast path looks at."""
        score = unit_scores if settings.memory_edges == "hyperedges" else unit_scores_by_chunk
        return cls(tools, knowledge, k=settings.memory_k, facts_share=settings.facts_share, score=score)

    async def search(self, asked: Asked) -> Retrieval:
        """The chunks whose best passage or sentence is nearest the question and its memories' hyperedges, and facts of them.

        Who may not see all documents gets nothing, and so the chunks nearest the question: hyperedges are learned of all documents at
        once, and what stands together in them would tell of those that are withheld.
        """
        if asked.shown.withheld:
            return Retrieval(())
        found = await self._knowledge.remembering.recalled(
            asked.question, asked.vector, k=self._k, floor=LOWEST, withheld=asked.shown.withheld
        )
        leads = [Lead(one.scored.score, memory.supports) for one in found for memory in (one.scored.memory, *one.scored.same)]
        return await asyncio.to_thread(self._found, asked, leads)

    def _found(self, asked: Asked, leads: list[Lead]) -> Retrieval:
        """What is in no hyperedge yet has the nearness of its whole chunk."""
        passages = self._knowledge.passages
        best = dict(passages.top(asked.vector, asked.top_k))
        for grain in GRAINS:
            hypergraph = self._knowledge.remembering.grouping.hypergraph(grain)
            for chunk_id, score in best_of_chunks(hypergraph, self._score(hypergraph, asked.vector, leads), asked.top_k).items():
                best[chunk_id] = max(score, best.get(chunk_id, LOWEST))
        order = sorted(best, key=lambda chunk_id: (-best[chunk_id], chunk_id))[: asked.top_k]
        cosines = passages.scores(asked.vector, order)
        facts = sorted(self._facts.facts_of(order), key=lambda fact: order.index(fact.chunk_id))
        lines = lines_within(told_facts(asked.question, facts), int(self._facts_share * asked.budget_tokens), self._count)
        left = asked.budget_tokens - sum(map(self._count, lines))
        return Retrieval(passages.read([(key, cosines[key]) for key in order if key in cosines], budget_tokens=left), lines)
