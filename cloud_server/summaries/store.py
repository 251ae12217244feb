"""The truth about summaries: text, counts and the cloud's own vectors, each row with a checksum."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from cloud_server.database import Database
from shared.errors import NotFound, ResyncNeeded, StaleEpoch
from shared.ports import FloatArray
from shared.records import EdgeId, Summary, SummaryDelta, SummaryId


@dataclass(frozen=True, slots=True)
class StoredSummary:
    """One row of the summaries."""

    edge: EdgeId
    summary: Summary
    vector: FloatArray  # (d,) unit, float32


def checksum(edge: str, summary: Summary, vector: bytes) -> int:
    """CRC-32 over everything a row says."""
    head = "\0".join((edge, summary.summary_id, summary.text, str(summary.entities), str(summary.relations)))
    return zlib.crc32(vector, zlib.crc32(head.encode()))


class SummaryStore:
    """Applies deltas at most once each, in order (reliability goal R4)."""

    def __init__(self, database: Database, on_removed: Callable[[], None] = lambda: None) -> None:
        self._database = database
        self._on_removed = on_removed  # the bytes of a text are to be overwritten

    def fits(self, edge: EdgeId, delta: SummaryDelta) -> bool:
        """Whether a delta would change anything; False: the same or a newer version is already here.

        Raises NotFound for an unknown edge, ResyncNeeded when the cloud needs a snapshot first, and StaleEpoch for a
        delta of a store that another one of the same edge has replaced.
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
        return True

    def apply(self, edge: EdgeId, delta: SummaryDelta, vectors: FloatArray) -> tuple[bool, list[SummaryId]]:
        """Write a delta in one transaction; ``vectors`` are the upserts' (n, d). Raises as ``fits``.

        Returns whether anything was written, and the ids of the summaries that are gone.
        """
        with self._database.write() as tx:
            if not self.fits(edge, delta):
                return False, []
            sent = {summary.summary_id for summary in delta.upserts}
            gone, known = set(delta.removals), set(self.ids(edge))
            if delta.base_version == 0:
                gone = known
                tx.execute(
                    "INSERT OR IGNORE INTO retired_epochs SELECT edge, epoch FROM edges WHERE edge = ? AND epoch NOT IN ('', ?)",
                    (edge, delta.epoch),
                )
            tx.executemany("DELETE FROM summaries WHERE edge = ? AND summary_id = ?", [(edge, summary_id) for summary_id in gone])
            _insert(tx, edge, zip(delta.upserts, vectors, strict=True))
            tx.execute("UPDATE edges SET epoch = ?, version = ? WHERE edge = ?", (delta.epoch, delta.version, edge))
        if known & (gone | sent):
            self._on_removed()
        return True, sorted(gone - sent)

    def load(self) -> tuple[list[StoredSummary], list[EdgeId]]:
        """All sound rows by edge and id, and the edges that own damaged ones.

        A damaged row is deleted and its edge's version forgotten, so that the edge sends a snapshot when it next enrols or
        syncs: the edge holds the truth about its summaries.
        """
        sound, damaged = [], set()
        for edge, summary_id, text, entities, relations, vector, crc in self._database.rows(
            "SELECT edge, summary_id, text, entities, relations, vector, crc FROM summaries ORDER BY edge, summary_id"
        ):
            summary = Summary(summary_id, text, entities, relations)
            if crc == checksum(edge, summary, vector):
                sound.append(StoredSummary(edge, summary, np.frombuffer(vector, dtype=np.float32)))
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

    def counts(self) -> dict[EdgeId, int]:
        """Summaries of each edge that has any."""
        return {EdgeId(edge): count for edge, count in self._database.rows("SELECT edge, count(*) FROM summaries GROUP BY edge")}

    def fingerprint(self) -> str:
        """The embedder that made the stored vectors; empty in a new store."""
        rows = self._database.rows("SELECT value FROM meta WHERE key = 'embedding'")
        return str(rows[0][0]) if rows else ""

    def replace_vectors(self, fingerprint: str, rows: Iterable[tuple[EdgeId, Summary]], vectors: FloatArray) -> None:
        """Store another embedder's vectors of the same texts, in one transaction."""
        with self._database.write() as tx:
            for (edge, summary), vector in zip(rows, vectors, strict=True):
                _insert(tx, edge, [(summary, vector)])
            tx.execute("INSERT OR REPLACE INTO meta VALUES ('embedding', ?)", (fingerprint,))


def _insert(tx: sqlite3.Connection, edge: EdgeId, rows: Iterable[tuple[Summary, FloatArray]]) -> None:
    tx.executemany(
        "INSERT OR REPLACE INTO summaries (edge, summary_id, text, entities, relations, vector, crc) VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (edge, s.summary_id, s.text, s.entities, s.relations, blob, checksum(edge, s, blob))
            for s, blob in ((summary, np.ascontiguousarray(vector, dtype=np.float32).tobytes()) for summary, vector in rows)
        ],
    )
