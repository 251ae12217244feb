"""The communities of one moment of the graph (GraphRAG §2.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from edge_node.communities.claims import Claim
from edge_node.communities.hierarchy import Community, Hierarchy, Uppers, finer, fresh_uppers, hierarchy_of, kept_uppers
from edge_node.communities.selection import NEAREST, relevance
from edge_node.graph.knowledge_graph import Adjacency, Graph, adjacency_of
from edge_node.graph.partition import Home, partition, quotient
from edge_node.graph.repair import Partition
from edge_node.graph.summaries import part_of
from edge_node.graph.view import View, told_by
from edge_node.settings import CommunitySettings
from shared.records import ChunkId, document_of

Members = Mapping[str, Sequence[str]]  # keys of entities by part


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The graph that may be told of, and its communities. Made of the first three."""

    view: View
    parts: Partition
    hidden: frozenset[str]  # as if these were not there
    graph: Graph
    adjacency: Adjacency
    uppers: Uppers
    hierarchy: Hierarchy
    told: Mapping[str, tuple[ChunkId, ...]]  # chunks that tell of the entities of each community that is not divided, by its id
    claims: Mapping[str, tuple[Claim, ...]] = field(default_factory=dict)  # by the key of the entity that is their subject

    def part(self, community: Community) -> Graph:
        """Its entities, and the relations among them."""
        return part_of(self.graph, self.adjacency, community.entities)

    def claims_about(self, part: Graph) -> dict[str, tuple[Claim, ...]]:
        """The claims about a part's entities, by key."""
        return {key: self.claims[key] for key in part.entities if key in self.claims}

    def near(self, cosines: Mapping[str, float]) -> dict[str, float]:
        """``relevance`` of the passages of each community, by its id: the nearest are among the nearest of those within it."""
        nearest: dict[str, list[str]] = {}
        for community in sorted(self.hierarchy.communities.values(), key=lambda community: -community.level):
            key = community.community_id
            held = {chunk_id for child in community.children for chunk_id in nearest[child]} or cosines.keys() & self.told.get(key, ())
            nearest[key] = sorted(held, key=cosines.__getitem__, reverse=True)[:NEAREST]
        return {key: relevance(cosines, chunk_ids) for key, chunk_ids in nearest.items()}

    def sizes(self) -> dict[str, int]:
        """How many chunks tell of each community, by its id."""
        held: dict[str, set[str]] = {}
        for community in sorted(self.hierarchy.communities.values(), key=lambda community: -community.level):
            key = community.community_id
            held[key] = set[str]().union(self.told.get(key, ()), *(held[child] for child in community.children))
        return {key: len(chunk_ids) for key, chunk_ids in held.items()}


def own_snapshot(
    view: View, parts: Partition, hidden: frozenset[str], graph: Graph, before: Uppers, settings: CommunitySettings
) -> Snapshot:
    """Of the partition that is kept; C0 and C1 stay as they were, as far as that is good. before: no labels at first."""
    within = {part: [key for key in keys if key in graph.entities] for part, keys in parts.members.items()}
    members = {part: keys for part, keys in within.items() if keys}  # the partition may be a moment ahead of the view
    return _snapshot(view, parts, hidden, graph, members, before, settings)


def guest_snapshot(view: View, parts: Partition, hidden: frozenset[str], graph: Graph, settings: CommunitySettings) -> Snapshot:
    """Of this graph and nothing else: what hidden documents tell decides no border of a community either."""
    weights = {pair: relation.weight for pair, relation in graph.relations.items()}
    most, seed, method = settings.subgraph_entities, settings.seed, settings.leiden
    found = partition(list(graph.entities), weights, _homes(graph), max_entities=most, seed=seed, method=method)
    members = {part.subgraph_id: part.entities for part in found}
    return _snapshot(view, parts, hidden, graph, members, Uppers({}, {}), settings)


def _snapshot(
    view: View, parts: Partition, hidden: frozenset[str], graph: Graph, members: Members, before: Uppers, settings: CommunitySettings
) -> Snapshot:
    same = graph is view.graph
    adjacency = view.adjacency if same else adjacency_of(graph)
    home = {key: part for part, keys in members.items() for key in keys}
    weights = quotient(home, graph.relations, view.told if same else told_by(graph), tie=settings.community_tie)
    uppers = fresh_uppers(members, weights, seed=settings.seed, method=settings.leiden)
    if before.root:
        uppers = kept_uppers(before, uppers, members, weights)
    leaves = {part: _leaves(part_of(graph, adjacency, keys), settings) for part, keys in members.items()}
    hierarchy = hierarchy_of(uppers, leaves)
    told = {key: _told(graph, one.entities) for key, one in hierarchy.communities.items() if not one.children}
    return Snapshot(view, parts, hidden, graph, adjacency, uppers, hierarchy, told)


def _told(graph: Graph, keys: Sequence[str]) -> tuple[ChunkId, ...]:
    return tuple(dict.fromkeys(chunk_id for key in keys for chunk_id in graph.entities[key].chunk_ids))


def _leaves(part: Graph, settings: CommunitySettings) -> list[tuple[str, ...]]:
    most, seed, method = settings.community_entities, settings.seed, settings.leiden
    return finer(part, max_entities=most, seed=seed, method=method, homes=_homes(part))


def _homes(graph: Graph) -> dict[str, Home]:
    first = {key: entity.chunk_ids[0] for key, entity in graph.entities.items()}
    return {key: (chunk_id, document_of(chunk_id)) for key, chunk_id in first.items()}
