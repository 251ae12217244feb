"""Facts: what a sentence says of something, and ④ relations as lines of text, for a model to read beside the passages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from edge_node.graph.knowledge_graph import Graph

DATE = "date"
NUMBER = "number"


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a sentence says: subject, verb and object, as they are written there (FD-RAG §4.1, eq. 9).

    ``start`` and ``end``: the sentence in the chunk's text. ``verb`` has its auxiliaries and what stands between it and the
    preposition ("was replaced", "won two cups"); ``lemma`` is the same without the auxiliaries, its verb in the base form.
    ``preposition`` is "" before a direct object. The types are an entity's type, "concept", ``DATE`` or ``NUMBER``.
    """

    chunk_id: str
    start: int
    end: int
    subject: str
    subject_type: str
    verb: str
    lemma: str
    preposition: str
    object: str
    object_type: str
    negated: bool


def fact_lines(relations: Iterable[tuple[str, str]], graph: Graph, *, skip_chunks: frozenset[str]) -> list[str]:
    """One line a relation, "A - keywords - B", left out where a shown passage already carries it."""
    lines = []
    for edge in relations:
        relation = graph.relations.get(edge)
        if relation is None or not skip_chunks.isdisjoint(relation.chunk_ids):
            continue
        source, target = graph.entities[relation.source].name, graph.entities[relation.target].name
        lines.append(f"{source} - {', '.join(relation.keywords[:3]) or 'related to'} - {target}")
    return lines


def lines_within(lines: Sequence[str], budget_tokens: int, count: Callable[[str], int]) -> tuple[str, ...]:
    """The first lines, as many as fit, each of ``count(line)`` tokens.

    >>> lines_within(["one", "two", "three"], 2, lambda line: 1)
    ('one', 'two')
    """
    kept, used = [], 0
    for line in lines:
        used += count(line)
        if used > budget_tokens:
            break
        kept.append(line)
    return tuple(kept)
