"""The truth about summaries: text, counts and the cloud's own vectors, each row with a checksum."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cloud_server.database import Database
from shared.errors import NotFound, ResyncNeeded, StaleEpoch, TooLarge
from shared.ports import Clock, FloatArray
from shared.records import EdgeId, Summary, SummaryDelta, SummaryId
from shared.vectors import unit

SYNCS_KEPT = 1000  # rows of history, for each edge
RETIRED_KEPT = 1000  # epochs of one edge: a delta of an older store than these is not delayed, but made up


@dataclass(frozen=True, slots=True)
class StoredSummary:
    """One row of the summaries."""

    edge: EdgeId
    summary: Summary
    vector: FloatArray  # (d,) unit, float32
    held_back: str = ""  # why it is not matched; "": it is


@dataclass(frozen=True, slots=True)
class SummaryReplica:
    """What the store holds of one edge: row i of ``vectors`` (n, d) belongs to ``ids[i]``."""

    ids: tuple[SummaryId, ...]
    held_back: tuple[str, ...]
    vectors: FloatArray


def checksum(edge: str, summary: Summary, vector: bytes, held_back: str = "") -> int:
    """CRC-32 over everything a row says."""
    head = "\0".join((edge, summary.summary_id, summary.text, str(summary.entities), str(summary.relations), *filter(None, [held_back])))
    return zlib.crc32(vector, zlib.crc32(head.encode()))


def packed(vector: FloatArray) -> bytes:
    """A unit row (d,) as d signed bytes: its direction is all that counts, and they keep it to a cosine of 0.9999.

    >>> bool(np.allclose(unpacked(packed(np.array([0.6, -0.8], dtype=np.float32)), 1), [[0.6, -0.8]], atol=0.01))
    True
    """
    return bytes(np.rint(vector * (127.0 / np.abs(vector).max())).astype(np.int8).tobytes())


def unpacked(blob: bytes, rows: int) -> FloatArray:
    """Unit rows (rows, d) of as many packed ones."""
    return unit(np.frombuffer(blob, dtype=np.int8).reshape(rows, -1).astype(np.float32)) if rows else np.empty((0, 0), dtype=np.float32)


def retire(tx: sqlite3.Connection, edge: EdgeId, epoch: str, *, at: float) -> None:
    """Take no delta any more of the store that an edge had until now, if it had one; at: seconds since the epoch."""
    if epoch:
        tx.execute("INSERT OR IGNORE INTO retired_epochs (edge, epoch, at) VALUES (?, ?, ?)", (edge, epoch, at))
    tx.execute(
        "DELETE FROM retired_epochs WHERE edge = ?1 AND epoch IN"
        " (SELECT epoch FROM retired_epochs WHERE edge = ?1 ORDER BY at DESC LIMIT -1 OFFSET ?2)",
        (edge, RETIRED_KEPT),
    )


class SummaryStore:
    """Applies deltas at most once each, in order (reliability goal R4)."""

    def __init__(self, database: Database, clock: Clock, *, max_per_edge: int, on_removed: Callable[[], None] = lambda: None) -> None:
        self._database = database
        self._clock = clock
        self._max_per_edge = max_per_edge
        self._on_removed = on_removed  # the bytes of a text are to be overwritten

    def fits(self, edge: EdgeId, delta: SummaryDelta) -> bool:
        """Whether a delta would change anything; False: the same or a newer version is already here.

        Raises NotFound for an unknown edge, ResyncNeeded when the cloud needs a snapshot first, StaleEpoch for a delta of a
        store that another one of the same edge has replaced, and TooLarge for one summary too many.
        """
        rows = self._database.rows("SELECT epoch, version FROM edges WHERE edge = ?", (edge,))
        if not rows:
            raise NotFound("edge", edge)
        epoch, version = rows[0]
        if self._database.rows("SELECT 1 FROM retired_epochs WHERE edge = ? AND epoch = ?", (edge, delta.epoch)):
            raise StaleEpoch(edge, delta.epoch)
        if epoch == delta.epoch and delta.version <= version:
            return False
        if delta.base_version != 0 and (epoch, version) != (delta.epoch, delta.base_version):
            raise ResyncNeeded(edge, version=version)
        staying = set() if delta.base_version == 0 else set(self.ids(edge)) - set(delta.removals)
        if len(staying.union(summary.summary_id for summary in delta.upserts)) > self._max_per_edge:
            raise TooLarge(f"what {edge} tells of itself", limit=self._max_per_edge, unit="summaries")
        return True

    def apply(
        self, edge: EdgeId, delta: SummaryDelta, vectors: FloatArray, feedback: Mapping[SummaryId, str] | None = None
    ) -> tuple[bool, list[SummaryId]]:
        """Write a delta in one transaction; ``vectors`` are the upserts' (n, d). Raises as ``fits``.

        ``feedback``: why an upsert, or a summary that was here before, is held back from now on; "": it is not.
        Returns whether anything was written, and the ids of the summaries that are gone.
        """
        feedback = feedback or {}
        with self._database.write() as tx:
            if not self.fits(edge, delta):
                return False, []
            sent = {summary.summary_id for summary in delta.upserts}
            gone, known = set(delta.removals), set(self.ids(edge))
            if delta.base_version == 0:
                gone = known
                (epoch,) = tx.execute("SELECT epoch FROM edges WHERE edge = ?", (edge,)).fetchone()
                retire(tx, edge, "" if epoch == delta.epoch else epoch, at=self._clock.now())
            tx.executemany("DELETE FROM summaries WHERE edge = ? AND summary_id = ?", [(edge, summary_id) for summary_id in gone])
            _insert(tx, edge, [(one, vector, feedback.get(one.summary_id, "")) for one, vector in zip(delta.upserts, vectors, strict=True)])
            _hold_back(tx, edge, {summary_id: why for summary_id, why in feedback.items() if summary_id in known - sent})
            self._note(tx, edge, delta, held_back=sum(feedback.get(summary_id, "") != "" for summary_id in sent))
            tx.execute(
                "UPDATE edges SET epoch = ?, version = ?, withheld = ? WHERE edge = ?", (delta.epoch, delta.version, delta.withheld, edge)
            )
        if known & (gone | sent):
            self._on_removed()
        return True, sorted(gone - sent)

    def load(self) -> tuple[list[StoredSummary], list[EdgeId]]:
        """All sound rows by edge and id, and the edges that own damaged ones.

        A damaged row is deleted and its edge's version forgotten, so that the edge sends a snapshot when it next enrols or
        syncs: the edge holds the truth about its summaries.
        """
        sound, damaged = [], set()
        for edge, summary_id, text, entities, relations, vector, crc, held_back in self._database.rows(
            "SELECT edge, summary_id, text, entities, relations, vector, crc, held_back FROM summaries ORDER BY edge, summary_id"
        ):
            summary = Summary(summary_id, text, entities, relations)
            if crc == checksum(edge, summary, vector, held_back):
                sound.append(StoredSummary(edge, summary, unpacked(vector, 1)[0], held_back))
            else:
                damaged.add((edge, summary_id))
        if damaged:
            with self._database.write() as tx:
                tx.executemany("DELETE FROM summaries WHERE edge = ? AND summary_id = ?", sorted(damaged))
                tx.executemany("UPDATE edges SET epoch = '', version = 0 WHERE edge = ?", sorted({(edge,) for edge, _ in damaged}))
        return sound, sorted({EdgeId(edge) for edge, _ in damaged})

    def ids(self, edge: EdgeId) -> list[SummaryId]:
        """The ids of an edge's summaries."""
        return [SummaryId(row[0]) for row in self._database.rows("SELECT summary_id FROM summaries WHERE edge = ?", (edge,))]

    def shelf(self, edge: EdgeId) -> SummaryReplica:
        """An edge's summaries by id, without their texts."""
        rows = self._database.rows("SELECT summary_id, held_back, vector FROM summaries WHERE edge = ? ORDER BY summary_id", (edge,))
        return SummaryReplica(
            tuple(SummaryId(row["summary_id"]) for row in rows),
            tuple(row["held_back"] for row in rows),
            unpacked(b"".join(row["vector"] for row in rows), len(rows)),
        )

    def texts(self, edge: EdgeId, summary_ids: Sequence[SummaryId]) -> list[str]:
        """The texts of an edge's summaries, in the order of their ids."""
        said = dict(map(tuple, self._database.rows("SELECT summary_id, text FROM summaries WHERE edge = ?", (edge,))))
        return [said[summary_id] for summary_id in summary_ids]

    def counts(self) -> dict[EdgeId, tuple[int, int]]:
        """Summaries of each edge that has any, and how many of them are held back."""
        rows = self._database.rows("SELECT edge, count(*), sum(held_back != '') FROM summaries GROUP BY edge")
        return {EdgeId(edge): (count, held_back) for edge, count, held_back in rows}

    def fingerprint(self) -> str:
        """The embedder that made the stored vectors; empty in a new store."""
        rows = self._database.rows("SELECT value FROM meta WHERE key = 'embedding'")
        return str(rows[0][0]) if rows else ""

    def replace_vectors(self, fingerprint: str, rows: Iterable[tuple[StoredSummary, FloatArray]]) -> None:
        """Store another embedder's vectors of the same texts, in one transaction."""
        with self._database.write() as tx:
            for row, vector in rows:
                _insert(tx, row.edge, [(row.summary, vector, row.held_back)])
            tx.execute("INSERT OR REPLACE INTO meta VALUES ('embedding', ?)", (fingerprint,))

    def _note(self, tx: sqlite3.Connection, edge: EdgeId, delta: SummaryDelta, *, held_back: int) -> None:
        tx.execute(
            "INSERT INTO syncs (edge, at, epoch, version, upserts, removals, held_back) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (edge, self._clock.now(), delta.epoch, delta.version, len(delta.upserts), len(delta.removals), held_back),
        )
        tx.execute(
            "DELETE FROM syncs WHERE edge = ?1"
            " AND rowid <= (SELECT rowid FROM syncs WHERE edge = ?1 ORDER BY rowid DESC LIMIT 1 OFFSET ?2)",
            (edge, SYNCS_KEPT),
        )


def _insert(tx: sqlite3.Connection, edge: EdgeId, rows: Iterable[tuple[Summary, FloatArray, str]]) -> None:
    tx.executemany(
        "INSERT OR REPLACE INTO summaries (edge, summary_id, text, entities, relations, vector, crc, held_back)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (edge, s.summary_id, s.text, s.entities, s.relations, blob, checksum(edge, s, blob, why), why)
            for s, blob, why in ((one, packed(vector), why) for one, vector, why in rows)
        ],
    )


def _hold_back(tx: sqlite3.Connection, edge: EdgeId, feedback: Mapping[SummaryId, str]) -> None:
    for summary_id, why in feedback.items():
        query = "SELECT text, entities, relations, vector FROM summaries WHERE edge = ? AND summary_id = ?"
        if (row := tx.execute(query, (edge, summary_id)).fetchone()) is not None:
            summary = Summary(summary_id, row["text"], row["entities"], row["relations"])
            crc = checksum(edge, summary, row["vector"], why)
            tx.execute("UPDATE summaries SET held_back = ?, crc = ? WHERE edge = ? AND summary_id = ?", (why, crc, edge, summary_id))
