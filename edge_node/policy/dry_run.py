"""Goal P2: the exact bytes that would leave, made by the functions that make what leaves, on a copy of the store."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from edge_node.link.bodies import body_of, summaries_body
from edge_node.store.backup import FILE, back_up
from edge_node.store.database import Database
from edge_node.store.graph import GraphStore
from edge_node.store.receipts import ACKNOWLEDGED, MEMORIES_HELD
from edge_node.store.shared_memories import SharedMemories

Content: TypeAlias = bytes


@dataclass(frozen=True, slots=True)
class Shown:
    """A body as it would leave: what for, its text, its size in bytes and its SHA-256."""

    kind: str
    body: str
    bytes: int
    sha256: str

    @classmethod
    def of(cls, kind: str, content: Content) -> Shown:
        """The body ``content``, as it would leave."""
        return cls(kind, content.decode(), len(content), hashlib.sha256(content).hexdigest())


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
