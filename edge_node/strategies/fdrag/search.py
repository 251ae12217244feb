"""Which passages the memories of a question lead to, and which facts of them are told beside (FD-RAG §4.2, the Cognizer)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from edge_node.graph.facts import Fact
from edge_node.memory.anchors import anchors_of
from edge_node.memory.drafting import names_in
from edge_node.memory.hypergraph import Hypergraph
from edge_node.memory.records import Support
from shared.ports import FloatArray
from shared.vectors import top_rows


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
