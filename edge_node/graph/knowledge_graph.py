"""The merged graph as a view over mentions (DGRAG §III-B ①, design §4): no state, any order of mentions gives the same graph."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum

import networkx as nx

from shared.records import Entity, EntityMention, Relation, RelationMention

DESCRIPTION_CHARS = 1200
_UNSURE_TYPES = frozenset({"", "concept"})
_NO_ALIASES: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Graph:
    """Entities by key, relations by (source, target) with source < target; both ends of a relation are entities."""

    entities: dict[str, Entity]
    relations: dict[tuple[str, str], Relation]


def merge(
    entity_mentions: Iterable[EntityMention],
    relation_mentions: Iterable[RelationMention],
    aliases: Mapping[str, str] = _NO_ALIASES,
    *,
    limit_chars: int = DESCRIPTION_CHARS,
) -> Graph:
    """Return the graph of all mentions. ``aliases``: key -> the key it is an alias of, one step.

    Any order of the mentions gives an equal graph. Self-loops are dropped, and so is a relation one of whose ends no
    entity mention names.
    """
    entities = _entities(entity_mentions, aliases, limit_chars)
    relations = _relations(relation_mentions, aliases, limit_chars)
    return Graph(entities, {pair: relation for pair, relation in relations.items() if pair[0] in entities and pair[1] in entities})


def _entities(mentions: Iterable[EntityMention], aliases: Mapping[str, str], limit_chars: int) -> dict[str, Entity]:
    by_key: dict[str, list[EntityMention]] = defaultdict(list)
    for mention in mentions:
        by_key[aliases.get(mention.key, mention.key)].append(mention)
    return {key: _entity(key, by_key[key], limit_chars) for key in sorted(by_key)}


def _entity(key: str, mentions: Sequence[EntityMention], limit_chars: int) -> Entity:
    types = Counter(mention.type for mention in mentions)
    known = {kind: n for kind, n in types.items() if kind not in _UNSURE_TYPES} or types
    ordered = sorted((mention.chunk_id, mention.description) for mention in mentions)
    return Entity(
        key=key,
        name=_most_frequent(Counter(mention.name for mention in mentions)),
        type=_most_frequent(known),
        description=describe([text for _, text in ordered], limit_chars),
        chunk_ids=tuple(sorted({mention.chunk_id for mention in mentions})),
        mentions=len(mentions),
    )


def _relations(mentions: Iterable[RelationMention], aliases: Mapping[str, str], limit_chars: int) -> dict[tuple[str, str], Relation]:
    by_pair: dict[tuple[str, str], list[RelationMention]] = defaultdict(list)
    for mention in mentions:
        source, target = aliases.get(mention.source, mention.source), aliases.get(mention.target, mention.target)
        if source != target:
            by_pair[min(source, target), max(source, target)].append(mention)
    return {pair: _relation(pair, by_pair[pair], limit_chars) for pair in sorted(by_pair)}


def _relation(pair: tuple[str, str], mentions: Sequence[RelationMention], limit_chars: int) -> Relation:
    keywords = Counter(word for mention in mentions for word in mention.keywords)
    ordered = sorted((mention.chunk_id, mention.description) for mention in mentions)
    return Relation(
        source=pair[0],
        target=pair[1],
        description=describe([text for _, text in ordered], limit_chars),
        keywords=tuple(sorted(keywords, key=lambda word: (-keywords[word], word))),
        weight=fsum(mention.strength for mention in mentions),  # exact, so the order of mentions cannot show
        chunk_ids=tuple(sorted({mention.chunk_id for mention in mentions})),
    )


def _most_frequent(counts: Mapping[str, int]) -> str:
    return min(counts, key=lambda text: (-counts[text], text))


def describe(descriptions: Iterable[str], limit_chars: int = DESCRIPTION_CHARS) -> str:
    """Join distinct descriptions in their order, as many whole ones as fit into ``limit_chars``; a first one that is longer is cut.

    >>> describe(["A ward.", "A ward.", "It has beds."], 100)
    'A ward. It has beds.'
    """
    kept: list[str] = []
    used = 0
    for text in dict.fromkeys(text.strip() for text in descriptions if text.strip()):
        if kept and used + 1 + len(text) > limit_chars:
            break
        kept.append(text[:limit_chars])
        used += len(kept[-1]) + (len(kept) > 1)
    return " ".join(kept)


def needs_summary(descriptions: Iterable[str], limit_chars: int = DESCRIPTION_CHARS) -> bool:
    """True when ``describe`` must leave something out, so that a model's summary of all would say more (DGRAG §III-B ①)."""
    distinct = {text.strip() for text in descriptions if text.strip()}
    return sum(len(text) + 1 for text in distinct) - 1 > limit_chars


def to_networkx(graph: Graph) -> nx.Graph:
    """Return the graph's shape: nodes are keys, edges have ``weight``."""
    shape = nx.Graph()
    shape.add_nodes_from(graph.entities)
    shape.add_weighted_edges_from((relation.source, relation.target, relation.weight) for relation in graph.relations.values())
    return shape
