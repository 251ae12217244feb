"""Which entities most documents name: candidates from the graph, counted in the graph and in the texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from math import fsum

from shared.records import ChunkId, DocumentId, Entity, document_of

MOST_CHUNKS = 6  # of an entity: one of them has to hold its name as it is told
CANDIDATES = 6  # looked for in the texts, for each that is wanted
LEAST_OWN = 0.25  # of the documents whose words hold a name, have it as a name of its own: "City" of Kansas City has fewer
LEAST_DOCUMENTS = 2  # what one document names is no more than this document's


@dataclass(frozen=True, slots=True)
class NamedOften:
    """An entity, the number of documents that tell of it, chunks of different ones that do, and a community that holds it."""

    name: str
    type: str
    documents: int
    chunk_ids: tuple[ChunkId, ...]  # the nearest first
    report: str


def as_words(name: str) -> re.Pattern[str]:
    """Finds a name where it is no part of a word.

    >>> as_words("U.S.").search("BOGUS.") is None, as_words("U.S.").search("The U.S. said") is None
    (True, False)
    """
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


def documents_with(names: Collection[str], texts: Iterable[tuple[ChunkId, str]]) -> dict[str, set[DocumentId]]:
    """The documents whose words hold each name, by name: the graph misses what spaCy takes for a part of a longer name.

    >>> documents_with(["Ann"], [(ChunkId("a:0"), "Annual report"), (ChunkId("b:0"), "Dr. Ann Lee")])
    {'Ann': {'b'}}
    """
    found: dict[str, set[DocumentId]] = {name: set() for name in names}
    patterns = {name: as_words(name) for name in names}
    for chunk_id, text in texts:
        document = document_of(chunk_id)
        for name, documents in found.items():
            if document not in documents and name in text and patterns[name].search(text):  # the words first: they are found much faster
                documents.add(document)
    return found


def named_often(
    entities: Collection[Entity],
    kinds: Collection[str],
    texts: Iterable[tuple[ChunkId, str]] = (),
    *,
    most: int,
    cosines: Callable[[Sequence[str]], Mapping[str, float]] | None,
    community_of: Callable[[str], str],
) -> list[NamedOften]:
    """The entities of these types that most documents name, most first; ties by key. What is written small is no name.

    ``texts``: in which the names that the graph has in most documents are counted as words, too; one that is mostly a part of longer
    names is left out. ``cosines`` of passages with what is
    asked about: then a document counts by how much nearer its passages that name the entity are than passages on average, so that those
    come first that are named where the question is near. ``community_of``: by key.
    """
    named = [entity for entity in entities if entity.type in kinds and entity.name != entity.name.lower()]
    documents = {entity.key: {document_of(chunk_id) for chunk_id in entity.chunk_ids} for entity in named}
    told = [entity for entity in named if len(documents[entity.key]) >= LEAST_DOCUMENTS]
    near = cosines(sorted({chunk_id for entity in told for chunk_id in entity.chunk_ids})) if cosines else {}
    order = _by_nearness(near) if near else lambda entity: (-len(documents[entity.key]), entity.key)
    candidates = nsmallest(CANDIDATES * most, told, key=order)
    holding = documents_with([entity.name for entity in candidates], texts)
    whole = list[Entity]()
    for entity in candidates:
        own = len(documents[entity.key])
        documents[entity.key] |= holding[entity.name]
        if own >= LEAST_OWN * len(documents[entity.key]):
            whole.append(entity)
    return [
        NamedOften(
            entity.name,
            entity.type,
            len(documents[entity.key]),
            _of_each_document(sorted(entity.chunk_ids, key=lambda chunk_id: -near.get(chunk_id, 0.0))),
            community_of(entity.key),
        )
        for entity in nsmallest(most, whole, key=order)
    ]


def _by_nearness(near: Mapping[str, float]) -> Callable[[Entity], tuple[float, str]]:
    usual = fsum(near.values()) / len(near)

    def order(entity: Entity) -> tuple[float, str]:
        best = dict[str, float]()
        for chunk_id in entity.chunk_ids:
            document = document_of(chunk_id)
            best[document] = max(best.get(document, 0.0), near.get(chunk_id, 0.0) - usual)
        return -fsum(best.values()), entity.key

    return order


def _of_each_document(chunk_ids: Sequence[ChunkId]) -> tuple[ChunkId, ...]:
    first = dict[str, ChunkId]()
    for chunk_id in chunk_ids:
        first.setdefault(document_of(chunk_id), chunk_id)
    return tuple(first.values())[:MOST_CHUNKS]
