"""The cloud's replica of what edges tell: rows with the cloud's own vectors and a checksum, brought up to date by deltas (goal R4)."""

from __future__ import annotations

import asyncio
import logging
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np

from cloud_server.database.changes import Change, Changes, Kind, changes, note_change
from cloud_server.database.port import Database, Row, Transaction
from shared.errors import EmbedderChanged, NotFound, ResyncNeeded, StaleEpoch, TooLarge
from shared.ports import Clock, Embedder, FloatArray, embed_questions
from shared.records import EdgeId, SummaryDelta
from shared.vectors import unit
from shared.wire import MemoryDelta

RETIRED_KEPT = 1000  # epochs of one edge: a delta of an older store than these is not delayed, but made up

log = logging.getLogger("dgrag.cloud.replica")

Value: TypeAlias = str | int | bytes


Body = TypeVar("Body")
Delta = TypeVar("Delta", bound=SummaryDelta | MemoryDelta)


@dataclass(frozen=True, slots=True)
class Replicated(Generic[Body]):
    """One row: what an edge told, and what this cloud makes of it."""

    edge: EdgeId
    body: Body  # as the edge told it
    vector: FloatArray  # (d,) unit, float32
    held_back: str = ""  # why it is not matched; "": it is


@dataclass(frozen=True, slots=True)
class Shelf:
    """What the store holds of one edge, without its texts: row i of ``vectors`` (n, d) belongs to ``ids[i]``."""

    ids: tuple[str, ...]
    held_back: tuple[str, ...]
    vectors: FloatArray


@dataclass(frozen=True, slots=True)
class Columns:
    """Where a kind of row is stored: beside ``of_body``, each table has ``edge``, ``vector``, ``held_back``, ``crc`` and ``changed``."""

    table: Kind
    key: str
    of_body: tuple[str, ...]
    epoch: str  # in the table of edges …
    version: str  # … of what is here
    embedder: str  # key in meta: which embedder made the vectors
    questions: bool = False  # what is embedded of a row is a question

    @property
    def said(self) -> tuple[str, ...]:
        """What is in the checksum, in its order."""
        return "edge", self.key, *self.of_body, "held_back", "vector"

    @property
    def read(self) -> str:
        """The columns of a row in SQL: ``said``, and the checksum."""
        return ", ".join((*self.said, "crc"))


class Replica(ABC, Generic[Body, Delta]):
    """Applies deltas at most once each, in order."""

    columns: ClassVar[Columns]

    def __init__(self, database: Database, clock: Clock, *, max_per_edge: int, on_removed: Callable[[], None] = lambda: None) -> None:
        self._database = database
        self._clock = clock
        self._max_per_edge = max_per_edge
        self._on_removed = on_removed  # the bytes of a text are to be overwritten
        self._embedder = ""  # by whose vectors this cloud's questions find rows; "": not said yet

    # ------------------------------------------------------------ what a kind of row says

    @abstractmethod
    def key_of(self, body: Body) -> str:
        """Its id, unique at its edge."""

    @abstractmethod
    def _values(self, body: Body) -> tuple[Value, ...]:
        """In the order of ``columns.of_body``."""

    @abstractmethod
    def _body(self, row: Row) -> Body:
        """The reverse."""

    @abstractmethod
    def _embedded(self, body: Body) -> str:
        """The text whose vector stands for a row."""

    @abstractmethod
    def _too_many(self, edge: EdgeId) -> TooLarge:
        """What an edge is told that tells more than ``max_per_edge``."""

    def _note(self, tx: Transaction, edge: EdgeId, delta: Delta, *, held_back: int) -> None:
        """Write what else a delta says, in its transaction."""

    def _checksum(self, said: Sequence[Value], vector: bytes) -> int:
        """CRC-32 over everything a row says: its edge, its key, the values of its body, why it is held back; and its vector."""
        return zlib.crc32(vector, zlib.crc32("\0".join(map(str, said)).encode()))

    # ------------------------------------------------------------ deltas

    def known(self, edge: EdgeId) -> tuple[str, int]:
        """Epoch and version of what is here of an edge; "" and 0: nothing. Raises NotFound."""
        columns = self.columns
        rows = self._database.rows(f"SELECT {columns.epoch}, {columns.version} FROM edges WHERE edge = ?", (edge,))
        if not rows:
            raise NotFound("edge", edge)
        return str(rows[0][0]), int(rows[0][1])

    def fits(self, edge: EdgeId, delta: Delta) -> bool:
        """Whether a delta would change anything; False: the same or a newer version is already here.

        Raises NotFound for an unknown edge, ResyncNeeded when the cloud needs a snapshot first, StaleEpoch for a delta of a
        store that another one of the same edge has replaced, and TooLarge for one row too many.
        """
        epoch, version = self.known(edge)
        if self._database.rows("SELECT 1 FROM retired_epochs WHERE edge = ? AND epoch = ?", (edge, delta.epoch)):
            raise StaleEpoch(edge, delta.epoch)
        if epoch == delta.epoch and delta.version <= version:
            return False
        if delta.base_version != 0 and (epoch, version) != (delta.epoch, delta.base_version):
            raise ResyncNeeded(edge, version=version)
        staying = set() if delta.base_version == 0 else self.ids(edge) - set(delta.removals)
        if len(staying | self._keys(delta)) > self._max_per_edge:
            raise self._too_many(edge)
        return True

    def apply(self, edge: EdgeId, delta: Delta, vectors: FloatArray, verdicts: Mapping[str, str] | None = None) -> frozenset[str] | None:
        """Write a delta in one transaction; ``vectors`` are the upserts' (n, d). Raises as ``fits``.

        ``verdicts``: why an upsert, or a row that was here before, is held back from now on; "": it is not. Of several upserts with
        one id the last counts. Returns the ids of the rows that are gone; None: the delta is here already. Raises EmbedderChanged
        where another cloud of this store has begun to embed with another embedder.
        """
        verdicts, columns = verdicts or {}, self.columns
        with self._database.write() as tx:
            if not self.fits(edge, delta):
                return None
            if not self.is_embedded_alike():
                raise EmbedderChanged(self._embedder)
            seq = note_change(tx, edge, columns.table)
            sent, known = self._keys(delta), self.ids(edge)
            gone = known if delta.base_version == 0 else set(delta.removals)
            if delta.base_version == 0:
                self._retire(tx, edge, delta.epoch)
            keys = [(edge, key) for key in sorted(gone)]
            tx.executemany(f"DELETE FROM {columns.table} WHERE edge = ? AND {columns.key} = ?", keys)
            upserts: tuple[Any, ...] = delta.upserts
            told = zip(upserts, vectors, strict=True)
            self._insert(tx, (Replicated(edge, one, vector, verdicts.get(self.key_of(one), "")) for one, vector in told), seq)
            stayed = known - sent - gone
            self._judge(tx, edge, {key: why for key, why in verdicts.items() if key in stayed}, seq)
            self._note(tx, edge, delta, held_back=sum(verdicts.get(key, "") != "" for key in sent))
            said = f"UPDATE edges SET {columns.epoch} = ?, {columns.version} = ? WHERE edge = ?"
            tx.execute(said, (delta.epoch, delta.version, edge))
        if known & (gone | sent):
            self._on_removed()
        return frozenset(gone - sent)

    def _keys(self, delta: Delta) -> set[str]:
        upserts: tuple[Any, ...] = delta.upserts
        return set(map(self.key_of, upserts))

    def _retire(self, tx: Transaction, edge: EdgeId, epoch: str) -> None:
        """Take no delta any more of the store that an edge had until now, if it had another one than ``epoch``."""
        former, _ = self.known(edge)
        if former not in ("", epoch):
            said = "INSERT INTO retired_epochs (edge, epoch, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
            tx.execute(said, (edge, former, self._clock.now()))
        tx.execute(
            "DELETE FROM retired_epochs WHERE edge = ? AND epoch NOT IN"
            " (SELECT epoch FROM retired_epochs WHERE edge = ? ORDER BY at DESC LIMIT ?)",
            (edge, edge, RETIRED_KEPT),
        )

    def _judge(self, tx: Transaction, edge: EdgeId, verdicts: Mapping[str, str], seq: int) -> None:
        kept = {self.key_of(row.body): row for row in self.some(edge, verdicts)}
        self._insert(tx, (Replicated(edge, row.body, row.vector, verdicts[key]) for key, row in kept.items()), seq)

    def hold_back(self, edge: EdgeId, key: str, why: str) -> None:
        """Match one row no more, until its edge tells it anew; one that is gone is ignored."""
        with self._database.write() as tx:
            self._judge(tx, edge, {key: why}, note_change(tx, edge, self.columns.table))

    # ------------------------------------------------------------ reads

    def edges(self) -> list[EdgeId]:
        """Those that have rows, by name."""
        return [EdgeId(row[0]) for row in self._database.rows(f"SELECT DISTINCT edge FROM {self.columns.table} ORDER BY edge")]

    def changed(self, *, after: Change) -> Changes:
        """As ``database.changes.changes``, of this kind of rows."""
        return changes(self._database, self.columns.table, after=after)

    def load(self, edge: EdgeId, *, after: int = -1) -> list[Replicated[Body]]:
        """The sound rows of an edge, by id; of those only that changed after that change.

        A damaged row is deleted and its edge's version forgotten, so that the edge sends a snapshot when it next enrols or
        syncs: the edge holds the truth about what it tells.
        """
        columns, sound, damaged = self.columns, list[Row](), list[tuple[str, str]]()
        query = f"SELECT {columns.read} FROM {columns.table} WHERE edge = ? AND changed > ? ORDER BY {columns.key}"
        for row in self._database.rows(query, (edge, after)):
            if self._is_sound(row):
                sound.append(row)
            else:
                damaged.append((edge, row[columns.key]))
        if damaged:
            log.warning(
                "%d %s stored of %s were damaged and are dropped; the edge will be asked for all", len(damaged), columns.table, edge
            )
            with self._database.write() as tx:
                note_change(tx, edge, columns.table)
                tx.executemany(f"DELETE FROM {columns.table} WHERE edge = ? AND {columns.key} = ?", damaged)
                tx.execute(f"UPDATE edges SET {columns.epoch} = '', {columns.version} = 0 WHERE edge = ?", (edge,))
        return self._replicated(sound)

    def shelf(self, edge: EdgeId) -> Shelf:
        """All rows of an edge by id, without their texts."""
        key = self.columns.key
        rows = self._database.rows(f"SELECT {key}, held_back, vector FROM {self.columns.table} WHERE edge = ? ORDER BY {key}", (edge,))
        ids, held_back, vectors = zip(*rows, strict=True) if rows else ((), (), ())
        return Shelf(ids, held_back, unpacked(b"".join(vectors), len(rows)))

    def ids(self, edge: EdgeId) -> set[str]:
        """The ids of an edge's rows."""
        rows = self._database.rows(f"SELECT {self.columns.key} FROM {self.columns.table} WHERE edge = ?", (edge,))
        return {str(row[0]) for row in rows}

    def some(self, edge: EdgeId, keys: Collection[str]) -> list[Replicated[Body]]:
        """Those of these rows that are there and sound."""
        query = f"SELECT {self.columns.read} FROM {self.columns.table} WHERE edge = ? AND {self.columns.key} = ?"
        rows = (row for key in keys for row in self._database.rows(query, (edge, key)))
        return self._replicated([row for row in rows if self._is_sound(row)])

    def counts(self) -> dict[EdgeId, tuple[int, int]]:
        """Rows of each edge that has any, and how many of them are held back."""
        rows = self._database.rows(
            f"SELECT edge, count(*), sum(CASE WHEN held_back != '' THEN 1 ELSE 0 END) FROM {self.columns.table} GROUP BY edge"
        )
        return {EdgeId(edge): (count, held_back) for edge, count, held_back in rows}

    def _is_sound(self, row: Row) -> bool:
        *said, vector, crc = row
        return bool(crc == self._checksum(said, vector))

    def _replicated(self, rows: Sequence[Row]) -> list[Replicated[Body]]:
        vectors = unpacked(b"".join(row["vector"] for row in rows), len(rows))
        told = zip(rows, vectors, strict=True)
        return [Replicated(EdgeId(row["edge"]), self._body(row), vector, row["held_back"]) for row, vector in told]

    # ------------------------------------------------------------ vectors

    async def embed_by(self, embedder: Embedder) -> None:
        """Where another embedder than this one made the stored vectors, make them anew, edge by edge.

        Until the last is made the store names no embedder, so that after a kill all are made again, and no cloud takes a delta.
        """
        self._embedder = embedder.fingerprint
        if self.is_embedded_alike():
            return
        edges = await asyncio.to_thread(self.edges)
        embed = partial(embed_questions, embedder) if self.columns.questions else embedder.embed
        if edges:
            log.warning("the stored vectors of %s are of another embedder or release: embedding them again", self.columns.table)
            await asyncio.to_thread(self._name_embedder, "")
        for edge in edges:
            rows = await asyncio.to_thread(self.load, edge)
            if rows:
                vectors = await embed([self._embedded(row.body) for row in rows])
                made = [replace(row, vector=vector) for row, vector in zip(rows, vectors, strict=True)]
                await asyncio.to_thread(self._replace_vectors, edge, made)
        await asyncio.to_thread(self._name_embedder, embedder.fingerprint)

    def fingerprint(self) -> str:
        """The embedder that made the stored vectors; empty in a new store, and while they are made anew."""
        rows = self._database.rows("SELECT value FROM meta WHERE key = ?", (self.columns.embedder,))
        return str(rows[0][0]) if rows else ""

    def is_embedded_alike(self) -> bool:
        """Whether the stored vectors are of the embedder that ``embed_by`` was told; another cloud may have come with another one."""
        return not self._embedder or self.fingerprint() == self._embedder

    def _name_embedder(self, fingerprint: str) -> None:
        with self._database.write() as tx:
            said = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
            tx.execute(said, (self.columns.embedder, fingerprint))

    def _replace_vectors(self, edge: EdgeId, made: Sequence[Replicated[Body]]) -> None:
        """Of the rows that are still there; an edge may have been expelled, or a row held back, while they were made."""
        vectors = {self.key_of(row.body): row.vector for row in made}
        with self._database.write() as tx:
            rows = self.some(edge, vectors)
            now = (replace(row, vector=vectors[self.key_of(row.body)]) for row in rows)
            self._insert(tx, now, note_change(tx, edge, self.columns.table))

    def _insert(self, tx: Transaction, rows: Iterable[Replicated[Body]], seq: int) -> None:
        told = list(rows)
        blobs = packed(np.array([row.vector for row in told])) if told else []
        columns = (*self.columns.said, "crc", "changed")
        places = ", ".join("?" * len(columns))
        again = ", ".join(f"{column} = excluded.{column}" for column in columns)
        tx.executemany(
            f"INSERT INTO {self.columns.table} ({', '.join(columns)}) VALUES ({places})"
            f" ON CONFLICT (edge, {self.columns.key}) DO UPDATE SET {again}",
            (self._stored(row, blob, seq) for row, blob in zip(told, blobs, strict=True)),
        )

    def _stored(self, row: Replicated[Body], blob: bytes, seq: int) -> tuple[Value | bytes, ...]:
        said = (row.edge, self.key_of(row.body), *self._values(row.body), row.held_back)
        return (*said, blob, self._checksum(said, blob), seq)


def packed(rows: FloatArray) -> list[bytes]:
    """Each of the unit rows (n, d) as d signed bytes: its direction is all that counts, and they keep it to a cosine of 0.9999.

    >>> bool(np.allclose(unpacked(packed(np.array([[0.6, -0.8]], dtype=np.float32))[0], 1), [[0.6, -0.8]], atol=0.01))
    True
    """
    steps = np.rint(rows * (127.0 / np.abs(rows).max(axis=1, keepdims=True))).astype(np.int8)
    return [row.tobytes() for row in steps]


def unpacked(blob: bytes, rows: int) -> FloatArray:
    """Unit rows (rows, d) of as many packed ones."""
    return unit(np.frombuffer(blob, dtype=np.int8).reshape(rows, -1).astype(np.float32)) if rows else np.empty((0, 0), dtype=np.float32)
