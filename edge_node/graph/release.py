"""② Parts of the graph as the sharing policy lets the cloud know them; what a withheld document tells of is merged again without it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from edge_node.graph.knowledge_graph import Graph, Pair, merge_entities, merge_relations
from edge_node.graph.mentions import MentionStore
from edge_node.graph.spellings import alike_pairs
from edge_node.graph.summaries import part_of
from edge_node.graph.view import View
from edge_node.policy.redaction import Redactor, blotted
from edge_node.policy.rules import Redact
from shared.records import DocumentId, Entity, Relation, document_of, is_withheld


@dataclass(frozen=True, slots=True)
class SummaryRelease:
    """What summaries may tell. ``obeys`` names it: the policy's parts, the labels and the names that it was made of."""

    obeys: str
    withheld: frozenset[str]  # ids of documents, and of single chunks
    minimum_support: int
    redactor: Redactor
    untitled: frozenset[DocumentId] = frozenset()  # documents whose facts may be told, and not their titles: no passage of them leaves

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


def released_parts(
    view: View, members: Mapping[str, Sequence[str]], release: SummaryRelease, mentions: MentionStore, canonical: Mapping[str, str]
) -> dict[str, Graph]:
    """The parts with these members. canonical: key -> the key of its entity, for aliases only. Reads mentions of what is touched."""
    parts = {subgraph_id: part_of(view.graph, view.adjacency, keys) for subgraph_id, keys in members.items()}
    if release.is_all:
        return parts
    again = merged_again(parts.values(), release, mentions, canonical)
    return {subgraph_id: released(part, again, release) for subgraph_id, part in parts.items()}


def merged_again(parts: Iterable[Graph], release: SummaryRelease, mentions: MentionStore, canonical: Mapping[str, str]) -> MergedAgain:
    """The touched entities and relations, from the mentions that are not withheld, under the names that these alone say are one's."""
    names: dict[str, set[str]] = defaultdict(set)
    for key, entity in canonical.items():
        names[entity].add(key)
    parts = list(parts)
    told = {key for part in parts for key in part.entities}
    known, parted = _known(told & names.keys() if release.withheld else set(), names, release, mentions, canonical)
    entities, pairs = set(parted), list[tuple[str, str]]()
    for part in parts:
        entities |= {key for key, entity in part.entities.items() if release.touches(entity)}
        pairs += [pair for pair, relation in part.relations.items() if release.touches(relation) or not parted.isdisjoint(pair)]
    if not entities and not pairs:
        return MergedAgain({}, {})
    keys = {name for key in entities for name in (key, *names.get(key, ()))}
    raw = {(a, b) for source, target in pairs for a in (source, *names.get(source, ())) for b in (target, *names.get(target, ()))}
    told_of = (mention for mention in mentions.entities(keys) if not release.withholds(mention.chunk_id))
    related = (mention for mention in mentions.relations(raw) if not release.withholds(mention.chunk_id))
    return MergedAgain(merge_entities(told_of, known), merge_relations(related, known), frozenset(parted))


def _known(
    entities: Collection[str], names: Mapping[str, set[str]], release: SummaryRelease, mentions: MentionStore, canonical: Mapping[str, str]
) -> tuple[dict[str, str], set[str]]:
    """``canonical`` without what only withheld documents say, and the entities that it is otherwise for."""
    groups = {entity: {entity, *names[entity]} for entity in entities}
    everything = {key for group in groups.values() for key in group}
    open_keys = {mention.key for mention in mentions.entities(everything) if not release.withholds(mention.chunk_id)}
    definitions = mentions.definitions_outside(everything, release.withheld)
    known, parted = dict(canonical), set[str]()
    for entity, group in groups.items():
        shown = group & open_keys
        links = {(a, b) for a, b in definitions if {a, b} <= shown} | {pair[:2] for pair in alike_pairs(shown)}
        one = _reached(entity if entity in shown else min(shown, default=entity), links)
        if shown - one:
            parted.add(entity)
            known |= {key: key for key in shown - one}  # no entities of any part
            known |= dict.fromkeys(one, entity)
    return known, parted


def _reached(key: str, links: Collection[tuple[str, str]]) -> set[str]:
    """All keys that links lead to from this one."""
    reached = {key}
    while beside := {end for link in links if not reached.isdisjoint(link) for end in link} - reached:
        reached |= beside
    return reached


def graph_without(graph: Graph, hidden: frozenset[str], canonical: Mapping[str, str], mentions: MentionStore) -> Graph:
    """No name, key, word or number of it comes from a hidden document or chunk. canonical: key -> the key of its entity, for aliases only.

    Reads the mentions of what hidden documents touch. Two names that only they keep from being one entity stay two.
    """
    if not hidden:
        return graph
    release = SummaryRelease("", hidden, 1, Redactor.of(Redact()))
    again = merged_again([graph], release, mentions, canonical)
    entities = {key: entity for key, entity in graph.entities.items() if not again.has_entity(entity, release)} | {**again.entities}
    relations = {pair: relation for pair, relation in graph.relations.items() if not again.has_relation(pair, relation, release)} | {
        **again.relations
    }
    names = _respelt(again.entities.keys() & set(canonical.values()), hidden, canonical, mentions)
    shown = {names.get(key, key): replace(entity, key=names.get(key, key)) for key, entity in entities.items()}
    kept = {}
    for relation in relations.values():
        source, target = sorted(names.get(end, end) for end in (relation.source, relation.target))
        if source in shown and target in shown:
            kept[source, target] = replace(relation, source=source, target=target)
    return Graph(dict(sorted(shown.items())), dict(sorted(kept.items())))


def _respelt(entities: Collection[str], hidden: frozenset[str], canonical: Mapping[str, str], mentions: MentionStore) -> dict[str, str]:
    """A key that another document spells, for each of the entities whose own key only hidden ones do."""
    names: defaultdict[str, set[str]] = defaultdict(set)
    for key, entity in canonical.items():
        if entity in entities:
            names[entity] |= {entity, key}
    keys = {key for group in names.values() for key in group}
    spelt = {mention.key for mention in mentions.entities(keys) if not is_withheld(mention.chunk_id, hidden)}
    return {entity: min(group & spelt) for entity, group in names.items() if entity not in spelt}
