"""Goal P2: the exact bytes that would leave, made by the functions that make what leaves, on a copy of the store."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from edge_node.database.backup import FILE, back_up
from edge_node.database.schema import Database
from edge_node.documents.receipts import ACKNOWLEDGED, MEMORIES_HELD
from edge_node.documents.store import DocumentStore
from edge_node.egress.bodies import body_of, summaries_body
from edge_node.egress.ledger import Ledger
from edge_node.egress.memory_outbox import SharedMemories
from edge_node.egress.memory_sharing import MemorySharing
from edge_node.egress.meter import EgressMeter
from edge_node.egress.policy_file import NAME, PolicyFile
from edge_node.egress.sharing import Sharing
from edge_node.graph.store import GraphStore
from edge_node.memory.release import Why
from edge_node.policy.rules import MemoryRules, NameKind
from edge_node.policy.surrogates import ReleasedName, name_key_of
from shared.ports import SystemClock
from shared.records import EntityMention

Content: TypeAlias = bytes


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Passages near to a question that one rule keeps here, and the names of their documents."""

    rule: str
    passages: int
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """A body as it would leave: what for, its text, size in bytes and SHA-256; of an answer also the rules that let it go or stop it.

    near: how many passages here are near to the question, before the policy; None: nobody looked. held: those that the policy keeps.
    """

    kind: str
    body: str
    bytes: int
    sha256: str
    rule: str = ""
    near: int | None = None
    held: tuple[HeldBack, ...] = ()

    @classmethod
    def of(cls, kind: str, content: Content, *, rule: str = "") -> Shown:
        """The body ``content``, as it would leave."""
        return cls(kind, content.decode(), len(content), hashlib.sha256(content).hexdigest(), rule)


@contextmanager
def copied(state_dir: Path) -> Iterator[Path]:
    """A folder with a copy of the store, gone afterwards; its edge may run. Raises as ``back_up``."""
    with tempfile.TemporaryDirectory(prefix="dgrag-try-") as folder:
        back_up(state_dir, Path(folder) / FILE)
        yield Path(folder)


def next_sync(graph: GraphStore, *, epoch: str, version: int) -> list[bytes]:
    """The bodies of all deltas that a cloud gets which knows ``version`` (-1: nothing) of ``epoch``. It stamps pages: for a copy only."""
    bodies = []
    while version != graph.version():
        delta = graph.delta(epoch=epoch, version=max(version, 0))
        bodies.append(summaries_body(delta))
        epoch, version = delta.epoch, delta.version
    return bodies


def next_memories(told: SharedMemories, *, version: int) -> list[bytes]:
    """The body that a cloud gets which holds ``version`` of the memories (-1: none); none where it knows all."""
    known = told.version() if told.is_empty() and version < 0 else version  # who holds none need not hear of none
    return [] if known == told.version() else [body_of(told.delta(epoch=told.epoch(), version=max(version, 0)))]


def held(graph: GraphStore) -> int:
    """The version of the memories that the cloud is known to hold; -1: none."""
    return int(graph.database.meta(MEMORIES_HELD, "-1"))


def acknowledged(graph: GraphStore) -> int:
    """The version that the cloud is known to have; -1: none."""
    return int(graph.database.meta(ACKNOWLEDGED, "-1"))


def shown_sync(state_dir: Path) -> list[Shown]:
    """What the summaries and memories of a store, as they are now, would bring to the cloud. Raises as ``back_up``."""
    with copied(state_dir) as folder:
        database = Database(folder / FILE)
        try:
            graph = GraphStore(database)
            bodies = next_sync(graph, epoch=graph.epoch(), version=acknowledged(graph))
            memories = next_memories(SharedMemories(database), version=held(graph))
        finally:
            database.close()
    return [*(Shown.of("summaries", body) for body in bodies), *(Shown.of("memories", body) for body in memories)]


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
class HintBudget:
    """All that has been drawn, and the hints that may leave now, those that tell most first; and why how many others stay."""

    rules: MemoryRules
    names: tuple[SpentName, ...]
    hints: tuple[SpentMemory, ...]
    stayed: Mapping[Why, int]


def spending(state_dir: Path) -> HintBudget:
    """What a store's hints have told and tell of names; reads a copy, also while its edge runs. Raises as ``back_up``."""
    with copied(state_dir) as folder:
        database = Database(folder / FILE)
        try:
            clock = SystemClock()
            documents, graph = DocumentStore(database, clock), GraphStore(database)
            policy = PolicyFile(state_dir / NAME, clock)
            memories = MemorySharing.of(Sharing(policy, documents, graph, EgressMeter(Ledger(database, clock), clock)), documents, graph)
            found = memories.released()
            drawn = {**memories.names.all(), **{name.name_key: name for name in found.drawn}}
            names = _named(drawn, graph.mentions.entities(), memories.names.secret())
            asked = {one.memory.memory_id: one.memory.question for one in memories.source.all()}
        finally:
            database.close()
    hints = (SpentMemory(asked[one.memory_id], one.question, one.epsilon) for one in found.leaving if not one.direct)
    return HintBudget(policy.lasting().memories, names, tuple(sorted(hints, key=lambda one: (-one.epsilon, one.told))), found.stayed)


def _named(drawn: Mapping[str, ReleasedName], mentions: Iterable[EntityMention], secret: bytes) -> tuple[SpentName, ...]:
    here = {name_key_of(name, secret): name for name in sorted({mention.name for mention in mentions}, reverse=True)}
    names = (SpentName(here.get(key, ""), one.kind, one.surrogate, one.epsilon) for key, one in drawn.items())
    return tuple(sorted(names, key=lambda one: (not one.name, one.name, one.surrogate)))
