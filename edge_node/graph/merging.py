"""① Entities and relations merged from their mentions: all of them at start, later those that a change can reach."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from edge_node.database.vectors import text_hash
from edge_node.graph.knowledge_graph import Graph, Pair, graph_of, known_relations, merge_entities, merge_relations, needs_summary
from edge_node.graph.mentions import Changes, Same
from edge_node.graph.resolution import Resolved, Resolver
from edge_node.graph.store import GraphStore
from edge_node.graph.view import pair_of, relation_key
from shared.records import Entity, EntityMention, Relation, RelationMention

Described = TypeVar("Described", Entity, Relation)


@dataclass(frozen=True, slots=True)
class Merged:
    """What was looked at: each entity and relation as it is now, None where it is no more."""

    entities: dict[str, Entity | None]
    relations: dict[Pair, Relation | None]
    removed: frozenset[str]  # keys of which a mention was removed, or which stand for another entity, with all names of theirs
    wanted: dict[str, str]  # entities and relations whose descriptions are too long together -> hash of these
    outdated: frozenset[str]  # those whose shortened description is of other descriptions


@dataclass(frozen=True, slots=True)
class _Shortened(Generic[Described]):
    """Entities, or relations, by key."""

    items: dict[str, Described]  # with the model's description
    wanted: dict[str, str]  # hashes of what it should describe
    outdated: frozenset[str]  # whose description it made of something else


class Merger:
    """Reads mentions under the present aliases. ``by_model``: long descriptions are replaced by what the model made of them."""

    def __init__(self, store: GraphStore, resolver: Resolver, limit_chars: int, *, by_model: bool) -> None:
        self._store = store
        self._resolver = resolver
        self._limit_chars = limit_chars
        self._by_model = by_model
        self.wanted: dict[str, str] = {}  # what the model should shorten: entity or relation -> hash of its descriptions

    def everything(self) -> Graph:
        """The whole graph."""
        canonical, mentions, same = self._resolver.canonical, self._store.mentions, Same()
        merged = self._all_entities(canonical, same)
        graph = graph_of(merged, merge_relations(mentions.relations(same=same), canonical, limit_chars=self._limit_chars))
        if not self._by_model:
            return graph
        entities = self._shortened(graph.entities, _told(mentions.entities(), canonical))
        pairs = {relation_key(pair): relation for pair, relation in graph.relations.items()}
        relations = self._shortened(pairs, _related(mentions.relations(), canonical))
        self.wanted = entities.wanted | relations.wanted
        shortened = {pair_of(key): relation for key, relation in relations.items.items()}
        return Graph(graph.entities | entities.items, graph.relations | shortened)

    def _all_entities(self, canonical: Mapping[str, str], same: Same) -> dict[str, Entity]:
        """One entity's mentions at a time stand in memory, and those of all that have aliases: of 10,000 passages they take 100 MB."""
        joined = canonical.keys() | set(canonical.values())
        entities = merge_entities(self._store.mentions.entities(joined), canonical, limit_chars=self._limit_chars)
        for mentions in self._store.mentions.by_key(same):
            if mentions[0].key not in joined:
                entities |= merge_entities(mentions, limit_chars=self._limit_chars)
        return dict(sorted(entities.items()))

    def merge(self, graph: Graph, changes: Changes, resolved: Resolved) -> Merged:
        """Entities and relations with changed mentions, and those of keys that stand for another entity than before; ``graph``: before."""
        now = {**self._resolver.canonical, **resolved.now}
        entities, mentions = self._entities(changes, resolved, now)
        turned = resolved.moved | {key for key, entity in entities.items() if (entity is None) == (key in graph.entities)}
        found, related = self._relations(set(changes.relations) | self._store.mentions.pairs_with(turned), now)
        relations, removed = known_relations(graph, entities, found), self._removed(changes, resolved)
        if not self._by_model:
            return Merged(entities, relations, removed, {}, frozenset())
        told = self._shortened(entities, _told(mentions, now))
        told_of_pairs = self._shortened({relation_key(pair): relation for pair, relation in relations.items()}, _related(related, now))
        return Merged(
            {**entities, **told.items},
            {**relations, **{pair_of(key): relation for key, relation in told_of_pairs.items.items()}},
            removed,
            told.wanted | told_of_pairs.wanted,
            told.outdated | told_of_pairs.outdated,
        )

    def accept(self, merged: Merged) -> None:
        """It is committed: from now on, this is what the model should shorten."""
        for key in (*merged.entities, *map(relation_key, merged.relations)):
            self.wanted.pop(key, None)
        self.wanted |= merged.wanted

    def descriptions_of(self, key: str) -> list[str]:
        """All descriptions of an entity, or of a relation by its ``relation_key``, in the order of their chunks."""
        source, target = pair_of(key)
        mentions: Iterable[EntityMention | RelationMention]
        if target:
            pairs = {_pair(a, b) for a in self._resolver.group(source) for b in self._resolver.group(target)}
            mentions = self._store.mentions.relations(pairs)
        else:
            mentions = self._store.mentions.entities(self._resolver.group(key))
        return [text for _, text in sorted((mention.chunk_id, mention.description) for mention in mentions)]

    def _ends(self, pair: Pair) -> tuple[str, str]:
        canonical = self._resolver.canonical
        return canonical.get(pair[0], pair[0]), canonical.get(pair[1], pair[1])

    def _entities(
        self, changes: Changes, resolved: Resolved, now: Mapping[str, str]
    ) -> tuple[dict[str, Entity | None], list[EntityMention]]:
        moved = resolved.moved | set(changes.entities)
        asked = {entity for key in moved for entity in (resolved.before[key], resolved.now[key])}
        groups = {key for key in resolved.keys if resolved.now[key] in asked} | asked
        mentions = list(self._store.mentions.entities(groups))
        found = merge_entities((m for m in mentions if now.get(m.key, m.key) in asked), now, limit_chars=self._limit_chars)
        return {key: found.get(key) for key in asked}, mentions

    def _removed(self, changes: Changes, resolved: Resolved) -> frozenset[str]:
        gone = {key for key, is_removed in changes.entities.items() if is_removed} | resolved.moved
        gone |= {end for pair, is_removed in changes.relations.items() if is_removed for end in pair}
        canonical = self._resolver.canonical
        names = {name for key in gone for name in self._resolver.group(canonical.get(key, key))}
        return frozenset(gone | names | {resolved.now[key] for key in gone if key in resolved.now})

    def _relations(self, raw: Iterable[Pair], now: Mapping[str, str]) -> tuple[dict[Pair, Relation | None], list[RelationMention]]:
        """All pairs of keys that stand for an asked pair of entities, before or now, are read again, in one query."""
        asked = {_pair(*ends) for pair in raw for ends in (self._ends(pair), (now.get(pair[0], pair[0]), now.get(pair[1], pair[1])))}
        groups = self._groups(now, {end for pair in asked for end in pair})
        pairs = {_pair(a, b) for source, target in asked for a in groups[source] for b in groups[target]}
        mentions = list(self._store.mentions.relations(pairs))
        found = merge_relations(mentions, now, limit_chars=self._limit_chars)
        return {pair: found.get(pair) for pair in asked if pair[0] != pair[1]}, mentions

    def _groups(self, now: Mapping[str, str], entities: Iterable[str]) -> dict[str, set[str]]:
        groups = {entity: {entity} for entity in entities}
        for key, entity in now.items():
            if entity in groups:
                groups[entity].add(key)
        return groups

    def _shortened(self, items: Mapping[str, Described | None], told: Iterable[tuple[str, str]]) -> _Shortened[Described]:
        """``told``: (key, description) of all mentions of the items, by which these are merged."""
        texts: dict[str, set[str]] = defaultdict(set)
        for key, description in told:
            texts[key].add(description)
        long = {key: descriptions_hash(texts[key]) for key, item in items.items() if item and needs_summary(texts[key], self._limit_chars)}
        stored = self._store.descriptions(items)
        good = {key: text for key, (made_of, text) in stored.items() if long.get(key) == made_of}
        shortened = {key: replace(item, description=good[key]) for key, item in items.items() if item and key in good}
        wanted = {key: made_of for key, made_of in long.items() if key not in good}
        return _Shortened(shortened, wanted, frozenset(stored) - frozenset(good))


def _told(mentions: Iterable[EntityMention], canonical: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    return ((canonical.get(mention.key, mention.key), mention.description) for mention in mentions)


def _related(mentions: Iterable[RelationMention], canonical: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for mention in mentions:
        ends = canonical.get(mention.source, mention.source), canonical.get(mention.target, mention.target)
        yield relation_key(_pair(*ends)), mention.description


def descriptions_hash(texts: Iterable[str]) -> str:
    """Identity of some descriptions, in any order."""
    return text_hash("\n".join(sorted(set(texts))))


def _pair(a: str, b: str) -> Pair:
    return (a, b) if a < b else (b, a)
