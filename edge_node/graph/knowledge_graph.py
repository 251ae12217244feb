"""The merged graph as a view over mentions (DGRAG §III-B ①, design §4): no state, any order of mentions gives the same graph."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, TypeVar

from edge_node.extraction.names import TITLE
from shared.records import Entity, EntityMention, Relation, RelationMention

if TYPE_CHECKING:
    import networkx as nx

Key = TypeVar("Key")
Item = TypeVar("Item")
DESCRIPTION_CHARS = 1200
_UNSURE_TYPES = frozenset({"", "concept", TITLE})
_NO_ALIASES: Mapping[str, str] = {}


Pair = tuple[str, str]  # the ends of a relation, the lesser first
Adjacency = dict[str, dict[str, float]]  # weight by neighbour, for each entity that has one


@dataclass(frozen=True, slots=True)
class Graph:
    """Entities by key, relations by (source, target) with source < target; both ends of a relation are entities."""

    entities: dict[str, Entity]
    relations: dict[Pair, Relation]


@dataclass(frozen=True, slots=True)
class GraphChange:
    """What is different in a newer graph: the new entities and relations, None for what is gone."""

    entities: dict[str, Entity | None]
    relations: dict[Pair, Relation | None]


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
    entities = merge_entities(entity_mentions, aliases, limit_chars=limit_chars)
    return graph_of(entities, merge_relations(relation_mentions, aliases, limit_chars=limit_chars))


def graph_of(entities: dict[str, Entity], relations: Mapping[Pair, Relation]) -> Graph:
    """The graph of some entities and of those relations both ends of which are among them."""
    return Graph(entities, {pair: relation for pair, relation in relations.items() if pair[0] in entities and pair[1] in entities})


def merge_entities(
    mentions: Iterable[EntityMention], aliases: Mapping[str, str] = _NO_ALIASES, *, limit_chars: int = DESCRIPTION_CHARS
) -> dict[str, Entity]:
    """The entities of some mentions: all mentions of an entity and its aliases must be among them."""
    by_key: dict[str, list[EntityMention]] = defaultdict(list)
    for mention in mentions:
        by_key[aliases.get(mention.key, mention.key)].append(mention)
    return {key: _entity(key, by_key[key], limit_chars) for key in sorted(by_key)}


def _entity(key: str, mentions: Sequence[EntityMention], limit_chars: int) -> Entity:
    if len(mentions) == 1:  # most entities: a tenth of the time
        (only,) = mentions
        return Entity(key, only.name, only.type, describe((only.description,), limit_chars), (only.chunk_id,), 1)
    types = Counter(mention.type for mention in mentions)
    said = {kind: n for kind, n in types.items() if kind != TITLE} or types
    known = {kind: n for kind, n in said.items() if kind not in _UNSURE_TYPES} or said
    ordered = sorted((mention.chunk_id, mention.description) for mention in mentions)
    return Entity(
        key=key,
        name=_most_frequent(Counter(mention.name for mention in mentions)),
        type=_most_frequent(known),
        description=describe([text for _, text in ordered], limit_chars),
        chunk_ids=tuple(sorted({mention.chunk_id for mention in mentions})),
        mentions=len(mentions),
    )


def merge_relations(
    mentions: Iterable[RelationMention], aliases: Mapping[str, str] = _NO_ALIASES, *, limit_chars: int = DESCRIPTION_CHARS
) -> dict[Pair, Relation]:
    """The relations of some mentions, self-loops left out: all mentions of a pair and its aliases must be among them."""
    by_pair: dict[Pair, list[RelationMention]] = defaultdict(list)
    for mention in mentions:
        source, target = aliases.get(mention.source, mention.source), aliases.get(mention.target, mention.target)
        if source != target:
            by_pair[min(source, target), max(source, target)].append(mention)
    return {pair: _relation(pair, by_pair[pair], limit_chars) for pair in sorted(by_pair)}


def _relation(pair: Pair, mentions: Sequence[RelationMention], limit_chars: int) -> Relation:
    if len(mentions) == 1 and len(set(mentions[0].keywords)) == len(mentions[0].keywords):
        (only,) = mentions
        words = tuple(sorted(only.keywords))
        return Relation(*pair, describe((only.description,), limit_chars), words, float(only.strength), (only.chunk_id,))
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


def adjacency_of(graph: Graph) -> Adjacency:
    """Who is related to whom, and with which weight."""
    adjacency: Adjacency = {}
    for (source, target), relation in graph.relations.items():
        adjacency.setdefault(source, {})[target] = relation.weight
        adjacency.setdefault(target, {})[source] = relation.weight
    return adjacency


def known_relations(
    graph: Graph, entities: Mapping[str, Entity | None], relations: Mapping[Pair, Relation | None]
) -> dict[Pair, Relation | None]:
    """The relations, None for one with an end that is no entity. entities: those that are not as in ``graph``, None for what is gone."""

    def known(key: str) -> bool:
        return (entities[key] if key in entities else graph.entities.get(key)) is not None

    return {pair: relation if known(pair[0]) and known(pair[1]) else None for pair, relation in relations.items()}


def difference(graph: Graph, entities: Mapping[str, Entity | None], relations: Mapping[Pair, Relation | None]) -> GraphChange:
    """Those of the given entities and ``known_relations`` that are not so in ``graph``."""
    return GraphChange(
        {key: entity for key, entity in entities.items() if graph.entities.get(key) != entity},
        {pair: relation for pair, relation in relations.items() if graph.relations.get(pair) != relation},
    )


def changed_graph(graph: Graph, adjacency: Adjacency, change: GraphChange) -> tuple[Graph, Adjacency]:
    """A newer graph with its adjacency; the old ones stay as they are, so that who reads them sees one moment.

    Only the outer dicts are copied (1 ms for 100,000 entries).
    """
    newer, shape = Graph(graph.entities.copy(), graph.relations.copy()), adjacency.copy()
    _update(newer.entities, change.entities)
    _update(newer.relations, change.relations)
    for end in {end for pair in change.relations for end in pair}:
        shape[end] = dict(shape.get(end, {}))
    for (source, target), relation in change.relations.items():
        for end, other in ((source, target), (target, source)):
            if relation is None:
                shape[end].pop(other, None)
            else:
                shape[end][other] = relation.weight
    for end in {end for pair in change.relations for end in pair}:
        if not shape[end]:
            del shape[end]
    return newer, shape


def _update(items: dict[Key, Item], changed: Mapping[Key, Item | None]) -> None:
    for key, item in changed.items():
        if item is None:
            items.pop(key, None)
        else:
            items[key] = item


def to_networkx(graph: Graph) -> nx.Graph:
    """For other programs: nodes with name, type, description and mentions; edges with weight, keywords and description."""
    import networkx as nx  # here: 12 MB that a start should not take

    shape = nx.Graph()
    for key, entity in graph.entities.items():
        shape.add_node(key, name=entity.name, type=entity.type, description=entity.description, mentions=entity.mentions)
    for relation in graph.relations.values():
        words = ", ".join(relation.keywords)
        shape.add_edge(relation.source, relation.target, weight=relation.weight, keywords=words, description=relation.description)
    return shape
