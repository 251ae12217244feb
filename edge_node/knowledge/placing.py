"""② Where each entity has its place: the partition repaired after a change, or made anew when it has drifted (design §5)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from edge_node.graph.knowledge_graph import Graph
from edge_node.graph.partition import Home, Method, partition
from edge_node.graph.repair import Parts, PartsChange, applied, repair, replace_all, worth_replacing
from edge_node.knowledge.merging import Merged
from edge_node.knowledge.view import View
from edge_node.store.graph import GraphStore
from shared.records import Subgraph

DRIFT_CHECK = 0.03  # share of the graph that changes between two looks at what a full partition would be worth


@dataclass(frozen=True, slots=True)
class Placed:
    """The partition after a change. ``drift``: entities and relations looked at since it was last compared with a full one."""

    change: PartsChange
    parts: Parts
    drift: int


class Placer:
    """Holds the partition; a cache of the store."""

    def __init__(self, store: GraphStore, *, max_entities: int, seed: int, method: Method) -> None:
        self._store = store
        self._max_entities = max_entities
        self._seed = seed
        self._method: Method = method
        self._drift = 0
        self.parts = Parts({}, {})

    def load(self, graph: Graph) -> set[str]:
        """Read the partition. Returns the entities that have no place, or no summary of theirs, or that are no more."""
        self.parts, self._drift = Parts.of(self._store.subgraphs()), self._store.drift()
        summarised = self._store.summary_ids()
        bare = (keys for subgraph_id, keys in self.parts.members.items() if subgraph_id not in summarised)
        return (graph.entities.keys() ^ self.parts.home.keys()) | {key for keys in bare for key in keys}

    def place(self, view: View, merged: Merged) -> Placed:
        """Repair the partition; where much has changed since the last full one, compare with that, and take it if it is better.

        Looks at all that was merged, not at what differs from the last view: the one at start already shows what a stop left unsettled.
        """
        graph, parts = view.graph, self.parts
        new = [key for key, entity in merged.entities.items() if entity is not None and key not in parts.home]
        gone = [key for key, entity in merged.entities.items() if entity is None and key in parts.home]
        drift = self._drift + len(merged.entities) + len(merged.relations)
        if 2 * len(new) > len(graph.entities):
            return self._placed(replace_all(parts, self._full(graph)), gone, 0)
        repaired = self._repaired(view, new, gone, drift)
        if drift <= DRIFT_CHECK * (len(graph.entities) + len(graph.relations)):
            return repaired
        fresh = self._full(graph)
        if worth_replacing(repaired.parts, Parts.of({part.subgraph_id: part.entities for part in fresh}), view.adjacency):
            return self._placed(replace_all(parts, fresh), gone, 0)
        return Placed(repaired.change, repaired.parts, 0)

    def accept(self, placed: Placed) -> None:
        """It is committed: later changes build on it."""
        self.parts, self._drift = placed.parts, placed.drift

    def _repaired(self, view: View, new: Collection[str], gone: Collection[str], drift: int) -> Placed:
        if not new and not gone:
            return Placed(PartsChange((), frozenset()), self.parts, drift)
        change = repair(
            self.parts,
            view.adjacency,
            new=new,
            gone=gone,
            homes=self._homes(view.graph, new),
            max_entities=self._max_entities,
            seed=self._seed,
            method=self._method,
        )
        return self._placed(change, gone, drift)

    def _placed(self, change: PartsChange, gone: Collection[str], drift: int) -> Placed:
        return Placed(change, applied(self.parts, change, gone=gone), drift)

    def _full(self, graph: Graph) -> list[Subgraph]:
        weights = {pair: relation.weight for pair, relation in graph.relations.items()}
        homes = self._homes(graph, graph.entities)
        return partition(list(graph.entities), weights, homes, max_entities=self._max_entities, seed=self._seed, method=self._method)

    def _homes(self, graph: Graph, keys: Collection[str]) -> dict[str, Home]:
        first = {key: graph.entities[key].chunk_ids[0] for key in keys}
        documents = self._store.mentions.chunk_documents(set(first.values()))
        return {key: (chunk_id, documents.get(chunk_id, "")) for key, chunk_id in first.items()}
