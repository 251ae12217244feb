"""② Parts of the graph as the sharing policy lets the cloud know them; what a withheld document tells of is merged again without it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from edge_node.graph.knowledge_graph import Graph, merge_entities, merge_relations
from edge_node.graph.spellings import alike_pairs
from edge_node.graph.summaries import part_of
from edge_node.knowledge.view import View
from edge_node.policy.release import MergedAgain, SummaryRelease, released
from edge_node.store.mentions import MentionStore


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
