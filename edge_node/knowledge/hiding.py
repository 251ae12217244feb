"""The graph as it would be without some documents: what they tell of is merged again from the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace

from edge_node.graph.knowledge_graph import Graph
from edge_node.knowledge.releasing import merged_again
from edge_node.policy.redaction import Redactor
from edge_node.policy.release import SummaryRelease
from edge_node.policy.rules import Redact
from edge_node.store.mentions import MentionStore
from shared.records import is_withheld


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
