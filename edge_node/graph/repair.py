"""The partition kept up to date without doing it all again (design §5): new entities are placed, the rest stays where it is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from edge_node.graph.knowledge_graph import Adjacency, Graph
from edge_node.graph.leiden import Method, detector, graph_of, within
from edge_node.graph.merging import Merged
from edge_node.graph.partition import Home, communities, merged, name_subgraphs, packed, partition
from edge_node.graph.store import GraphStore
from edge_node.graph.view import View
from shared.records import Subgraph

TOLERATED_LOSS = 0.01  # of a full partition's modularity
TOLERATED_PARTS = 1.25  # times a full partition's number of parts

DRIFT_CHECK = 0.03  # share of the graph that changes between two looks at what a full partition would be worth


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition: members by subgraph id, and the id of each member."""

    members: dict[str, tuple[str, ...]]
    home: dict[str, str]

    @classmethod
    def of(cls, members: Mapping[str, tuple[str, ...]]) -> Partition:
        """From members by id."""
        return cls(dict(members), {key: subgraph_id for subgraph_id, keys in members.items() for key in keys})


@dataclass(frozen=True, slots=True)
class PartitionChange:
    """Subgraphs that are new or have other members, and ids of those that are no more."""

    changed: tuple[Subgraph, ...]
    gone: frozenset[str]


def repair(
    parts: Partition,
    adjacency: Adjacency,
    *,
    new: Collection[str],
    gone: Collection[str],
    homes: Mapping[str, Home],
    max_entities: int,
    seed: int = 7,
    method: Method = "graspologic",
) -> PartitionChange:
    """Place ``new`` entities and take ``gone`` ones out, with as few other changes as that takes.

    New entities form communities among themselves; each joins the part that it shares most weight with, if that has room.
    Parts that lost members may join a neighbour too. homes: (chunk id, document id) of each new entity, to group those
    without relations. Nothing outside the parts that are next to a change is looked at.
    """
    lost = set(gone)
    near = {parts.home[key] for key in lost if key in parts.home}
    near |= {parts.home[other] for key in new for other in adjacency.get(key, ()) if other in parts.home and other not in lost}
    before = {subgraph_id: tuple(key for key in parts.members[subgraph_id] if key not in lost) for subgraph_id in near}
    names = sorted({*new, *(key for keys in before.values() for key in keys)})
    row = {key: place for place, key in enumerate(names)}
    graph = graph_of(names, _edges_among(row, adjacency))
    fresh = sorted(row[key] for key in set(new))
    inner = communities(within(graph, fresh), max_entities, seed, method) if fresh else []
    atoms = [[fresh[place] for place in piece] for piece in inner]
    atoms += [[row[key] for key in keys] for keys in before.values() if keys]
    joined, alone = merged(atoms, graph, max_entities)
    unplaced = set(fresh)
    orphans = [rows for rows in alone if unplaced.issuperset(rows)]
    joined += [rows for rows in alone if not unplaced.issuperset(rows)]  # their relations lead out of what was looked at
    joined += packed(orphans, [homes.get(name, ("", "")) for name in names], max_entities)
    found = sorted(tuple(names[place] for place in rows) for rows in joined)
    named = name_subgraphs(found, {key: keys for key, keys in before.items() if keys}, reserved=parts.members)
    return _change(parts, named, near)


def replace_all(parts: Partition, fresh: Iterable[Subgraph]) -> PartitionChange:
    """The change from ``parts`` to a full partition, with ids kept where members overlap most."""
    named = name_subgraphs([subgraph.entities for subgraph in fresh], parts.members)
    return _change(parts, named, parts.members)


def applied(parts: Partition, change: PartitionChange, *, gone: Collection[str]) -> Partition:
    """The partition after a change; ``gone``: entities that are no more."""
    members, home = parts.members.copy(), parts.home.copy()
    for key in gone:
        home.pop(key, None)
    for subgraph_id in change.gone:
        del members[subgraph_id]
    for subgraph in change.changed:
        members[subgraph.subgraph_id] = subgraph.entities
        home.update(dict.fromkeys(subgraph.entities, subgraph.subgraph_id))
    return Partition(members, home)


def worth_replacing(parts: Partition, fresh: Partition, adjacency: Adjacency) -> bool:
    """Whether a full partition is so much better than a repaired one that summaries may change for it."""
    too_many = len(parts.members) > TOLERATED_PARTS * len(fresh.members) + 1
    return too_many or modularity(adjacency, parts.home) < (1 - TOLERATED_LOSS) * modularity(adjacency, fresh.home)


def modularity(adjacency: Adjacency, home: Mapping[str, str]) -> float:
    """Newman's modularity of a weighted graph, in [-0.5, 1): the weight within parts less what chance would put there.

    >>> round(modularity({"a": {"b": 1.0}, "b": {"a": 1.0}, "c": {"d": 1.0}, "d": {"c": 1.0}}, dict(a="1", b="1", c="2", d="2")), 3)
    0.5
    """
    within: dict[str, float] = {}
    degree: dict[str, float] = {}
    total = 0.0
    for key, others in adjacency.items():
        part = home[key]
        weight = sum(others.values())
        total += weight
        degree[part] = degree.get(part, 0.0) + weight
        within[part] = within.get(part, 0.0) + sum(w for other, w in others.items() if home[other] == part)
    return sum(within.values()) / total - sum((weight / total) ** 2 for weight in degree.values()) if total else 0.0


def _edges_among(row: Collection[str], adjacency: Adjacency) -> dict[tuple[str, str], float]:
    return {(key, other): weight for key in row for other, weight in adjacency.get(key, {}).items() if key < other and other in row}


def _change(parts: Partition, named: Iterable[Subgraph], looked_at: Collection[str]) -> PartitionChange:
    named = list(named)
    changed = tuple(subgraph for subgraph in named if parts.members.get(subgraph.subgraph_id) != subgraph.entities)
    return PartitionChange(changed, frozenset(looked_at) - {subgraph.subgraph_id for subgraph in named})


@dataclass(frozen=True, slots=True)
class Placed:
    """The partition after a change. ``drift``: entities and relations looked at since it was last compared with a full one."""

    change: PartitionChange
    parts: Partition
    drift: int


class Placer:
    """Holds the partition; a cache of the store. Raises SettingsError where the library of ``method`` is not installed."""

    def __init__(self, store: GraphStore, *, max_entities: int, seed: int, method: Method) -> None:
        self._store = store
        self._max_entities = max_entities
        self._seed = seed
        self._method: Method = method
        detector(method)  # what is not installed is told at start, not with the first document
        self._drift = 0
        self.parts = Partition({}, {})

    def load(self, graph: Graph) -> set[str]:
        """Read the partition. Returns the entities that have no place, or no summary of theirs, or that are no more."""
        self.parts, self._drift = Partition.of(self._store.subgraphs()), self._store.drift()
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
        if worth_replacing(repaired.parts, Partition.of({part.subgraph_id: part.entities for part in fresh}), view.adjacency):
            return self._placed(replace_all(parts, fresh), gone, 0)
        return Placed(repaired.change, repaired.parts, 0)

    def accept(self, placed: Placed) -> None:
        """It is committed: later changes build on it."""
        self.parts, self._drift = placed.parts, placed.drift

    def _repaired(self, view: View, new: Collection[str], gone: Collection[str], drift: int) -> Placed:
        if not new and not gone:
            return Placed(PartitionChange((), frozenset()), self.parts, drift)
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

    def _placed(self, change: PartitionChange, gone: Collection[str], drift: int) -> Placed:
        return Placed(change, applied(self.parts, change, gone=gone), drift)

    def _full(self, graph: Graph) -> list[Subgraph]:
        weights = {pair: relation.weight for pair, relation in graph.relations.items()}
        homes = self._homes(graph, graph.entities)
        return partition(list(graph.entities), weights, homes, max_entities=self._max_entities, seed=self._seed, method=self._method)

    def _homes(self, graph: Graph, keys: Collection[str]) -> dict[str, Home]:
        first = {key: graph.entities[key].chunk_ids[0] for key in keys}
        documents = self._store.mentions.chunk_documents(set(first.values()))
        return {key: (chunk_id, documents.get(chunk_id, "")) for key, chunk_id in first.items()}
