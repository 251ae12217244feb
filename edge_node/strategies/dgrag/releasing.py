"""② Parts of the graph as the sharing policy lets the cloud know them; what a withheld document tells of is merged again without it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from edge_node.graph.knowledge_graph import Graph, merge_entities, merge_relations
from edge_node.graph.summaries import part_of
from edge_node.policy.release import MergedAgain, SummaryRelease, released
from edge_node.store.mentions import MentionStore
from edge_node.strategies.dgrag.view import View
from shared.records import document_of


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
    """The touched entities and relations, from the mentions that are not withheld."""
    entities, pairs = set[str](), list[tuple[str, str]]()
    for part in parts:
        entities |= {key for key, entity in part.entities.items() if release.touches(entity)}
        pairs += [pair for pair, relation in part.relations.items() if release.touches(relation)]
    if not entities and not pairs:
        return MergedAgain({}, {})
    names: dict[str, set[str]] = defaultdict(set)
    for key, entity in canonical.items():
        names[entity].add(key)
    keys = {name for key in entities for name in (key, *names.get(key, ()))}
    told = (mention for mention in mentions.entities(keys) if document_of(mention.chunk_id) not in release.withheld)
    raw = {(a, b) for source, target in pairs for a in (source, *names.get(source, ())) for b in (target, *names.get(target, ()))}
    related = (mention for mention in mentions.relations(raw) if document_of(mention.chunk_id) not in release.withheld)
    return MergedAgain(merge_entities(told, canonical), merge_relations(related, canonical))
