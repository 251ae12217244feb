"""FD-RAG's Cognizer as a method: memories say where to look, hyperedges what belongs there (§4.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from edge_node.extraction.facts import Fact
from edge_node.graph.local_search import lines_within
from edge_node.graph.tools import Tools
from edge_node.memory.anchors import anchors_of
from edge_node.memory.hypergraph import Hypergraph
from edge_node.memory.records import Support
from edge_node.memory.store import Grain, MemoryStore
from edge_node.memory.templates import names_in
from edge_node.records import Needs, Retrieval
from edge_node.settings import EdgeSettings, MemorySettings
from edge_node.strategies.method import FACTS_SHARE, Method, MethodQuery
from edge_node.strategies.write_path import WritePath
from shared.ports import FloatArray
from shared.vectors import top_rows

GRAINS: tuple[Grain, ...] = ("paragraph", "sentence")
LOWEST = -1.0  # of a memory's score


@dataclass(frozen=True, slots=True)
class Lead:
    """A memory that leads somewhere: its score S with the question, and the sentences that it rests on."""

    score: float
    supports: tuple[Support, ...]


def unit_scores(hypergraph: Hypergraph, vector: FloatArray, leads: Iterable[Lead]) -> FloatArray:
    """Return each unit's score (n,): its cosine with the question (d,), and max S_m H_ue over the hyperedges e of each memory m.

    The hyperedges of a memory are those that its sentences are in now. A unit that shares none of them has its cosine alone.
    """
    nearness = hypergraph.units @ vector
    columns, shares = hypergraph.rows.columns, hypergraph.rows.values
    strengths = np.zeros(int(columns.max(initial=-1)) + 1, np.float32)  # S_m of the best memory of each hyperedge
    for lead in leads:
        rows = (hypergraph.row_of(support.chunk_id, support.start, support.end) for support in lead.supports)
        for row in (row for row in rows if row is not None):
            held = columns[row][shares[row] > 0]
            strengths[held] = np.maximum(strengths[held], lead.score)
    if not len(strengths):
        return nearness
    return np.asarray(nearness + (strengths[columns] * shares).max(axis=1, initial=0))


def unit_scores_by_chunk(hypergraph: Hypergraph, vector: FloatArray, leads: Iterable[Lead]) -> FloatArray:
    """As ``unit_scores``, where the one hyperedge of a memory's sentence is its chunk: what is lost without learning any."""
    strengths = dict[str, float]()
    for lead in leads:
        for support in lead.supports:
            strengths[support.chunk_id] = max(lead.score, strengths.get(support.chunk_id, 0.0))
    lifted = np.array([strengths.get(chunk_id, 0.0) for chunk_id in hypergraph.chunk_ids], np.float32)
    return np.asarray(hypergraph.units @ vector + lifted)


def best_of_chunks(hypergraph: Hypergraph, scores: FloatArray, k: int) -> dict[str, float]:
    """The k chunks with the best units, best first, ties by id, each with the score (n,) of its best unit."""
    starts = np.fromiter(hypergraph.first.values(), np.int64, len(hypergraph.first))
    starts = starts[np.diff(starts, append=len(scores)) > 0]  # of chunks with units
    best = np.maximum.reduceat(scores, starts) if len(starts) else scores
    return {hypergraph.chunk_ids[starts[row]]: float(best[row]) for row in top_rows(best, k)}


def told_facts(question: str, facts: Sequence[Fact]) -> list[str]:
    """Facts as lines, those that share most with the question first, each once; without those that share no anchor, and denials.

    >>> told = Fact("d:0", 0, 42, "Orrin Mill", "place", "was built", "build", "in", "1962", "date", False)
    >>> told_facts("When was the Orrin Mill built?", [told]), told_facts("Who runs it?", [told])
    (['Orrin Mill was built in 1962'], [])
    """
    names = names_in(facts)
    asked = anchors_of(question, names)
    lines = dict[str, int]()
    for fact in facts:
        line = " ".join(filter(None, (fact.subject, fact.verb, fact.preposition, fact.object)))
        if not fact.negated and (shared := len(asked & anchors_of(line, names))):
            lines[line] = shared
    return sorted(lines, key=lambda line: -lines[line])


UnitScores = Callable[[Hypergraph, FloatArray, Iterable[Lead]], FloatArray]


class FDRAG(Method):
    """Keeps nothing of its own: memories, facts and hyperedges are everybody's."""

    def __init__(self, tools: Tools, write_path: WritePath, settings: MemorySettings) -> None:
        self._write_path = write_path
        self._facts = MemoryStore(tools.graph.database, tools.embedder.dimensions)
        self._count = tools.tokenizer.count
        self._k = settings.memory_k
        self._score = unit_scores if settings.memory_edges == "hyperedges" else unit_scores_by_chunk

    @staticmethod
    def needs(settings: EdgeSettings) -> Needs:
        """Facts, of which memories are made, and words for the gate."""
        del settings
        return Needs(words=True, facts=True, hyperedges=True)

    async def search(self, asked: MethodQuery) -> Retrieval:
        """The chunks whose best passage or sentence is nearest the question and its memories' hyperedges, and facts of them.

        Who may not see all documents gets nothing, and so the chunks nearest the question: hyperedges are learned of all documents at
        once, and what stands together in them would tell of those that are withheld.
        """
        if asked.shown.withheld:
            return Retrieval(())
        found = await self._write_path.memories.recalled(
            asked.question, asked.vector, k=self._k, floor=LOWEST, withheld=asked.shown.withheld
        )
        leads = [Lead(one.scored.score, memory.supports) for one in found for memory in (one.scored.memory, *one.scored.same)]
        return await asyncio.to_thread(self._found, asked, leads)

    def _found(self, asked: MethodQuery, leads: list[Lead]) -> Retrieval:
        """What is in no hyperedge yet has the nearness of its whole chunk."""
        passages = self._write_path.passages
        best = dict(passages.top(asked.vector, asked.top_k))
        for grain in GRAINS:
            hypergraph = self._write_path.memories.grouping.hypergraph(grain)
            for chunk_id, score in best_of_chunks(hypergraph, self._score(hypergraph, asked.vector, leads), asked.top_k).items():
                best[chunk_id] = max(score, best.get(chunk_id, LOWEST))
        order = sorted(best, key=lambda chunk_id: (-best[chunk_id], chunk_id))[: asked.top_k]
        cosines = passages.scores(asked.vector, order)
        facts = sorted(self._facts.facts_of(order), key=lambda fact: order.index(fact.chunk_id))
        lines = lines_within(told_facts(asked.question, facts), int(FACTS_SHARE * asked.budget_tokens), self._count)
        left = asked.budget_tokens - sum(map(self._count, lines))
        return Retrieval(passages.read([(key, cosines[key]) for key in order if key in cosines], budget_tokens=left), lines)
