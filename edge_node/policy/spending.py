"""What hints tell of names, for the eyes of the site alone: epsilon of each name, and the sum over the names of each memory (goal P3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from edge_node.policy.dry_run import copied
from edge_node.policy.file import NAME, PolicyFile
from edge_node.policy.memory_release import Why
from edge_node.policy.memory_sharing import MemorySharing
from edge_node.policy.meter import Meter
from edge_node.policy.rules import Memories, NameKind
from edge_node.policy.sharing import Sharing
from edge_node.policy.surrogates import ReleasedName, name_key_of
from edge_node.store.backup import FILE
from edge_node.store.database import Database
from edge_node.store.documents import DocumentStore
from edge_node.store.graph import GraphStore
from edge_node.store.ledger import Ledger
from shared.clock import SystemClock
from shared.records import EntityMention


@dataclass(frozen=True, slots=True)
class SpentName:
    """A name that was exchanged, once and for ever. ``name`` "": no document has it any more."""

    name: str
    kind: NameKind
    surrogate: str
    epsilon: float


@dataclass(frozen=True, slots=True)
class SpentMemory:
    """A hint: its question here and outside, and the sum of epsilon over its names."""

    question: str
    told: str
    epsilon: float


@dataclass(frozen=True, slots=True)
class Spending:
    """All that has been drawn, and the hints that may leave now, those that tell most first; and why how many others stay."""

    rules: Memories
    names: tuple[SpentName, ...]
    hints: tuple[SpentMemory, ...]
    stayed: Mapping[Why, int]


def spending(state_dir: Path) -> Spending:
    """What a store's hints have told and tell of names; reads a copy, also while its edge runs. Raises as ``back_up``."""
    with copied(state_dir) as folder:
        database = Database(folder / FILE)
        try:
            clock = SystemClock()
            documents, graph = DocumentStore(database, clock), GraphStore(database)
            policy = PolicyFile(state_dir / NAME, database, clock)
            memories = MemorySharing.of(Sharing(policy, documents, graph, Meter(Ledger(database, clock), clock)), documents, graph)
            found = memories.released()
            drawn = {**memories.names.all(), **{name.name_key: name for name in found.drawn}}
            names = _named(drawn, graph.mentions.entities(), memories.names.secret())
            asked = {one.memory.memory_id: one.memory.question for one in memories.source.all()}
        finally:
            database.close()
    hints = (SpentMemory(asked[one.memory_id], one.question, one.epsilon) for one in found.leaving if not one.direct)
    return Spending(policy.lasting().memories, names, tuple(sorted(hints, key=lambda one: (-one.epsilon, one.told))), found.stayed)


def _named(drawn: Mapping[str, ReleasedName], mentions: Iterable[EntityMention], secret: bytes) -> tuple[SpentName, ...]:
    here = {name_key_of(name, secret): name for name in sorted({mention.name for mention in mentions}, reverse=True)}
    names = (SpentName(here.get(key, ""), one.kind, one.surrogate, one.epsilon) for key, one in drawn.items())
    return tuple(sorted(names, key=lambda one: (not one.name, one.name, one.surrogate)))
