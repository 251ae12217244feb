"""The truth about memories that edges told: texts and the cloud's own vectors of their questions, each row with a checksum."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from cloud_server.database import Database
from cloud_server.routing.summaries import packed, retire, unpacked
from shared.errors import NotFound, ResyncNeeded, StaleEpoch, TooLarge
from shared.ports import Clock, FloatArray
from shared.records import EdgeId
from shared.wire import MemoryBody, MemoryDelta

MADE_BY = "memory_embedding"  # key in meta: the embedder of the stored vectors


@dataclass(frozen=True, slots=True)
class ReplicatedMemory:
    """One memory of an edge, as it is stored."""

    edge: EdgeId
    memory: MemoryBody
    vector: FloatArray  # (d,) unit, float32, of the question
    held_back: str = ""  # why it is not matched; "": it is


class MemoryStore:
    """Applies deltas at most once each, in order, as ``SummaryStore`` does."""

    def __init__(self, database: Database, clock: Clock, *, max_per_edge: int, on_removed: Callable[[], None] = lambda: None) -> None:
        self._database = database
        self._clock = clock
        self._max_per_edge = max_per_edge
        self._on_removed = on_removed  # the bytes of a text are to be overwritten

    def known(self, edge: EdgeId) -> tuple[str, int]:
        """Epoch and version of what is held of an edge; "" and 0: nothing. Raises NotFound."""
        rows = self._database.rows("SELECT memory_epoch, memory_version FROM edges WHERE edge = ?", (edge,))
        if not rows:
            raise NotFound("edge", edge)
        return str(rows[0][0]), int(rows[0][1])

    def fits(self, edge: EdgeId, delta: MemoryDelta) -> bool:
        """Whether a delta would change anything; raises as ``SummaryStore.fits``."""
        epoch, version = self.known(edge)
        if self._database.rows("SELECT 1 FROM retired_epochs WHERE edge = ? AND epoch = ?", (edge, delta.epoch)):
            raise StaleEpoch(edge, delta.epoch)
        if epoch == delta.epoch and delta.version <= version:
            return False
        if delta.base_version != 0 and (epoch, version) != (delta.epoch, delta.base_version):
            raise ResyncNeeded(edge, version=version)
        staying = set() if delta.base_version == 0 else self.ids(edge) - set(delta.removals)
        if len(staying.union(memory.memory_id for memory in delta.upserts)) > self._max_per_edge:
            raise TooLarge(f"what {edge} remembers", limit=self._max_per_edge, unit="memories")
        return True

    def apply(self, edge: EdgeId, delta: MemoryDelta, vectors: FloatArray, feedback: Mapping[str, str]) -> bool:
        """Write a delta in one transaction; ``vectors`` are the upserts' (n, d), ``feedback`` why one is held back. Raises as ``fits``.

        False: it is here already. Of several upserts with one id the last counts.
        """
        with self._database.write() as tx:
            if not self.fits(edge, delta):
                return False
            known = self.ids(edge)
            gone = known if delta.base_version == 0 else set(delta.removals)
            if delta.base_version == 0:
                epoch, _ = self.known(edge)
                retire(tx, edge, "" if epoch == delta.epoch else epoch, at=self._clock.now())
            tx.executemany("DELETE FROM memories WHERE edge = ? AND memory_id = ?", [(edge, memory_id) for memory_id in sorted(gone)])
            told = zip(delta.upserts, vectors, strict=True)
            _insert(tx, (ReplicatedMemory(edge, one, vector, feedback.get(one.memory_id, "")) for one, vector in told))
            tx.execute("UPDATE edges SET memory_epoch = ?, memory_version = ? WHERE edge = ?", (delta.epoch, delta.version, edge))
        if known & (gone | {memory.memory_id for memory in delta.upserts}):
            self._on_removed()
        return True

    def hold_back(self, edge: EdgeId, memory_id: str, why: str) -> None:
        """Match one no more, until its edge tells it anew; one that is gone is ignored."""
        for held in self.some(edge, [memory_id]):
            with self._database.write() as tx:
                _insert(tx, [ReplicatedMemory(edge, held.memory, held.vector, why)])

    def load(self) -> tuple[list[ReplicatedMemory], list[EdgeId]]:
        """All sound rows by edge and id, and the edges that own damaged ones, which are asked for a snapshot, as for summaries."""
        sound, damaged = list[ReplicatedMemory](), set[tuple[str, str]]()
        for row in self._database.rows("SELECT * FROM memories ORDER BY edge, memory_id"):
            if row["crc"] == _checksum(row):
                sound.append(_held(row))
            else:
                damaged.add((row["edge"], row["memory_id"]))
        if damaged:
            with self._database.write() as tx:
                tx.executemany("DELETE FROM memories WHERE edge = ? AND memory_id = ?", sorted(damaged))
                owners = sorted({(edge,) for edge, _ in damaged})
                tx.executemany("UPDATE edges SET memory_epoch = '', memory_version = 0 WHERE edge = ?", owners)
        return sound, sorted({EdgeId(edge) for edge, _ in damaged})

    def ids(self, edge: EdgeId) -> set[str]:
        """The ids of an edge's memories."""
        return {str(row[0]) for row in self._database.rows("SELECT memory_id FROM memories WHERE edge = ?", (edge,))}

    def of(self, edge: EdgeId) -> list[ReplicatedMemory]:
        """An edge's memories, by id; without damaged ones."""
        rows = self._database.rows("SELECT * FROM memories WHERE edge = ? ORDER BY memory_id", (edge,))
        return [_held(row) for row in rows if row["crc"] == _checksum(row)]

    def some(self, edge: EdgeId, memory_ids: Collection[str]) -> list[ReplicatedMemory]:
        """Those of these memories that are there and whole."""
        query = "SELECT * FROM memories WHERE edge = ? AND memory_id = ?"
        rows = (row for memory_id in memory_ids for row in self._database.rows(query, (edge, memory_id)))
        return [_held(row) for row in rows if row["crc"] == _checksum(row)]

    def counts(self) -> dict[EdgeId, int]:
        """Memories of each edge that has any."""
        return {EdgeId(edge): count for edge, count in self._database.rows("SELECT edge, count(*) FROM memories GROUP BY edge")}

    def clear(self) -> None:
        """Forget all memories of all edges; they are asked for a snapshot should they be wanted again."""
        if self._database.row("SELECT 1 FROM edges WHERE memory_epoch != ''") is not None:
            with self._database.write() as tx:
                tx.execute("DELETE FROM memories")
                tx.execute("UPDATE edges SET memory_epoch = '', memory_version = 0")
            self._on_removed()

    def fingerprint(self) -> str:
        """The embedder that made the stored vectors; empty in a new store."""
        rows = self._database.rows("SELECT value FROM meta WHERE key = ?", (MADE_BY,))
        return str(rows[0][0]) if rows else ""

    def replace_vectors(self, fingerprint: str, rows: Iterable[ReplicatedMemory]) -> None:
        """Store another embedder's vectors of the same texts, in one transaction."""
        with self._database.write() as tx:
            _insert(tx, rows)
            tx.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (MADE_BY, fingerprint))


def _insert(tx: sqlite3.Connection, rows: Iterable[ReplicatedMemory]) -> None:
    tx.executemany(
        "INSERT OR REPLACE INTO memories (edge, memory_id, question, answer, direct, vector, held_back, crc)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        map(_values, rows),
    )


def _values(row: ReplicatedMemory) -> tuple[str | int | bytes, ...]:
    told, blob = row.memory, packed(row.vector)
    said = (row.edge, told.memory_id, told.question, told.answer, int(told.direct))
    return (*said, blob, row.held_back, _crc(*said, row.held_back, vector=blob))


def _checksum(row: sqlite3.Row) -> int:
    said = (row["edge"], row["memory_id"], row["question"], row["answer"], row["direct"], row["held_back"])
    return _crc(*said, vector=row["vector"])


def _crc(*said: str | int, vector: bytes) -> int:
    return zlib.crc32(vector, zlib.crc32("\0".join(map(str, said)).encode()))


def _held(row: sqlite3.Row) -> ReplicatedMemory:
    told = MemoryBody(memory_id=row["memory_id"], question=row["question"], answer=row["answer"], direct=bool(row["direct"]))
    return ReplicatedMemory(EdgeId(row["edge"]), told, unpacked(row["vector"], 1)[0], row["held_back"])
