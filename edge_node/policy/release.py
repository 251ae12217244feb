"""② What of a subgraph may be told: facts of shared documents, entities that enough of them mention, names that are not masked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from edge_node.graph.knowledge_graph import Graph, Pair
from edge_node.policy.redaction import Redactor, blotted
from shared.records import DocumentId, Entity, Relation, document_of, is_withheld


@dataclass(frozen=True, slots=True)
class SummaryRelease:
    """What summaries may tell. ``obeys`` names it: the policy's parts, the labels and the names that it was made of."""

    obeys: str
    withheld: frozenset[str]  # ids of documents, and of single chunks
    minimum_support: int
    redactor: Redactor

    @property
    def is_all(self) -> bool:
        """Everything may be told: nothing needs to be looked at."""
        return not self.withheld and self.minimum_support <= 1 and self.redactor.idle

    def touches(self, item: Entity | Relation) -> bool:
        """Whether one of the chunks that tell of it is withheld."""
        return bool(self.withheld) and any(map(self.withholds, item.chunk_ids))

    def withholds(self, chunk_id: str) -> bool:
        """Whether what a chunk says is withheld."""
        return is_withheld(chunk_id, self.withheld)


@dataclass(frozen=True, slots=True)
class MergedAgain:
    """Entities and relations that withheld documents tell of, merged from the others only; what is missing is told of by no other.

    ``parted``: entities of which only a withheld document says that all their names mean one thing. They are here under one name.
    """

    entities: Mapping[str, Entity]
    relations: Mapping[Pair, Relation]
    parted: frozenset[str] = frozenset()

    def has_entity(self, entity: Entity, release: SummaryRelease) -> bool:
        """Whether what may be told of it is to be looked up here."""
        return release.touches(entity) or entity.key in self.parted

    def has_relation(self, pair: Pair, relation: Relation, release: SummaryRelease) -> bool:
        """Whether what may be told of it is to be looked up here."""
        return release.touches(relation) or not self.parted.isdisjoint(pair)


def documents_of(chunk_ids: Iterable[str]) -> set[DocumentId]:
    """The documents of some chunks."""
    return set(map(document_of, chunk_ids))


def released(part: Graph, again: MergedAgain, release: SummaryRelease) -> Graph:
    """The part as the cloud may know it. ``again`` has everything of the part that withheld documents touch."""
    kept = dict[str, Entity]()
    for key, entity in part.entities.items():
        told = again.entities.get(key) if again.has_entity(entity, release) else entity
        if told is None or len(documents_of(told.chunk_ids)) < release.minimum_support:
            continue
        name = release.redactor.mask(told.name)
        if not blotted(name):
            kept[key] = replace(told, name=name)
    relations = dict[Pair, Relation]()
    for pair, relation in part.relations.items():
        shown = again.relations.get(pair) if again.has_relation(pair, relation, release) else relation
        if shown is not None and pair[0] in kept and pair[1] in kept:
            words = map(release.redactor.mask, shown.keywords)
            relations[pair] = replace(shown, keywords=tuple(word for word in words if not blotted(word)))
    return Graph(kept, relations)
