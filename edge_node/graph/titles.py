"""② Which documents a part of the graph is about, for the cloud: marks of their titles, as far as these leave with passages anyway.

⑥ The cloud may ask for what such a mark stands for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import lru_cache

from edge_node.documents.store import DocumentStore
from edge_node.extraction.names import normalise
from edge_node.extraction.titles import names_of
from edge_node.graph.knowledge_graph import Graph
from edge_node.graph.release import SummaryRelease, documents_of
from edge_node.policy.redaction import Redactor
from shared.text.marks import mark_of, packed


def title_marks(
    parts: Mapping[str, Graph], documents: DocumentStore, release: SummaryRelease, canonical: Mapping[str, str]
) -> dict[str, bytes]:
    """Of each of the released parts the marks of the titles that name an entity of it, with and without a qualifier.

    A title that the mask changes has none, nor has that of a document whose passages stay. canonical: key -> the key of its entity.
    """
    told = {document for part in parts.values() for entity in part.entities.values() for document in documents_of(entity.chunk_ids)}
    marks = defaultdict[str, set[int]](set)
    for title in documents.titles(told - release.untitled - release.withheld):
        for name in names_of(title):
            if release.redactor.mask(name) == name:
                key = normalise(name)
                marks[canonical.get(key, key)].add(mark_of(name))
    return {subgraph_id: packed(mark for key in part.entities for mark in marks.get(key, ())) for subgraph_id, part in parts.items()}


def titles_marked(marks: Collection[int], documents: DocumentStore, withheld: Collection[str], redactor: Redactor) -> list[str]:
    """The titles with one of the marks, of documents that are not withheld; without those that the mask changes. In their order."""
    found = {name for title in documents.titles_but(withheld) for name, mark in _marked(title) if mark in marks}
    return sorted(name for name in found if redactor.mask(name) == name)


@lru_cache(maxsize=200_000)
def _marked(title: str) -> tuple[tuple[str, int], ...]:
    return tuple((name, mark_of(name)) for name in names_of(title))
