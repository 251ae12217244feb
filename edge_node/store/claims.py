"""What a model says that chunks claim, on disk. A deleted chunk takes its claims with it."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence

from edge_node.graph.claims import Claim
from edge_node.store.database import Database
from shared.checksum import crc

log = logging.getLogger("dgrag.edge.store")


class ClaimStore:
    """Tables claims and claim_readings."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> tuple[Claim, ...]:
        """Every claim, by chunk and as it was read. Damaged ones are left out."""
        found = list[Claim]()
        for row in self._database.stream("SELECT * FROM claims ORDER BY chunk_id, rowid"):
            *fields, checksum = row
            if crc(*fields) == checksum:
                found.append(_claim(row))
            else:
                log.error("a damaged claim is left out")
        return tuple(found)

    def readings(self) -> frozenset[str]:
        """The chunks whose claims a model has read."""
        return frozenset(row["chunk_id"] for row in self._database.stream("SELECT chunk_id FROM claim_readings"))

    def save(self, chunk_id: str, claims: Sequence[Claim], *, model: str) -> None:
        """Commit what a model has read in a chunk, in the place of what it had; nothing where the chunk is gone."""
        with self._database.write() as tx:
            if tx.execute("SELECT 1 FROM chunks WHERE chunk_id = ?", (chunk_id,)).fetchone() is None:
                return
            tx.execute("DELETE FROM claims WHERE chunk_id = ?", (chunk_id,))
            tx.executemany("INSERT INTO claims VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", map(_values, claims))
            tx.execute("INSERT OR REPLACE INTO claim_readings VALUES (?, ?)", (chunk_id, model))

    def clear(self) -> None:
        """Delete all of them."""
        with self._database.write() as tx:
            tx.execute("DELETE FROM claims")
            tx.execute("DELETE FROM claim_readings")


def _values(claim: Claim) -> tuple[str | int, ...]:
    said = (claim.subject, claim.object, claim.type, claim.status, claim.sentence)
    fields = (claim.chunk_id, *said, *claim.span, claim.since, claim.until)
    return (*fields, crc(*fields))


def _claim(row: sqlite3.Row) -> Claim:
    said = (row["subject"], row["object"], row["type"], row["status"], row["description"])
    return Claim(row["chunk_id"], *said, (row["start"], row["end"]), row["since"], row["until"])
