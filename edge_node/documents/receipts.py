"""Receipts: what was deleted, and whether every trace of it is gone."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from edge_node.database.schema import Database
from shared.errors import NotFound
from shared.records import DocumentId

UNSETTLED = 2**62  # version of a receipt whose deletion no settle has followed yet
UNERASED = "unerased"  # key in meta: something was deleted since the store's files were last overwritten; the value names the last time
ACKNOWLEDGED = "cloud_version"  # key in meta: the newest version of the summaries that the cloud is known to have
MEMORIES_ACKNOWLEDGED = "cloud_memories_version"  # the same of shared memories; one that has none has forgotten all
MEMORIES_HELD = "cloud_memories_held"  # key in meta: the version of the shared memories that the cloud holds; -1: none of this store's
TITLES_TOLD = "titles_told"  # key in meta: the key of the cloud that has all summaries with the marks of titles
MEMORIES_VERSION = "memories_version"  # key in meta: the newest version of the shared memories


@dataclass(frozen=True, slots=True)
class Receipt:
    """``version``, ``memories``: a cloud that has these versions of summaries and memories has forgotten too.

    ``erased``: no byte is left in the store's files.
    """

    receipt_id: str
    document_id: DocumentId
    deleted_at: float  # seconds since the epoch
    chunks: int
    version: int
    erased: bool
    memories: int = 0


class ReceiptStore:
    """Table receipts."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def get(self, receipt_id: str) -> Receipt:
        """One receipt. Raises NotFound."""
        row = self.database.row("SELECT * FROM receipts WHERE receipt_id = ?", (receipt_id,))
        if row is None:
            raise NotFound("receipt", receipt_id)
        return _receipt(row)

    def of_document(self, document_id: str) -> tuple[Receipt, ...]:
        """The deletions of one document, newest first; more than one if it was sent again in between."""
        rows = self.database.rows("SELECT * FROM receipts WHERE document_id = ? ORDER BY deleted_at DESC, receipt_id", (document_id,))
        return tuple(map(_receipt, rows))

    def unfinished(self) -> tuple[str, ...]:
        """Receipts of deletions of which something may be left; the next settle and erasure finish them."""
        return tuple(str(row["receipt_id"]) for row in self.database.rows("SELECT receipt_id FROM receipts WHERE NOT erased"))

    def settled(self, receipt_ids: Iterable[str], *, erased: bool) -> None:
        """A settle that began after these deletions is done."""
        with self.database.write() as tx:
            version = int(tx.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()["value"])
            tx.executemany(
                "UPDATE receipts SET version = min(version, ?), erased = ? WHERE receipt_id = ?",
                [(version, erased, receipt_id) for receipt_id in receipt_ids],
            )

    def unerased(self) -> str:
        """Names the last deletion whose bytes may still be in the store's files; empty: there is none."""
        return self.database.meta(UNERASED)

    def erase(self, mark: str) -> bool:
        """Overwrite the bytes of what was deleted up to ``mark``, and of what was derived from it; False if they are still there."""
        if not mark:
            return True
        if not self.database.erase():
            return False
        with self.database.write() as tx:
            tx.execute("DELETE FROM meta WHERE key = ? AND value = ?", (UNERASED, mark))
        return True

    def is_confirmed(self, receipt: Receipt) -> bool | None:
        """Whether the cloud is known to have forgotten what was deleted; None: there never was a cloud."""
        known = self.database.meta(ACKNOWLEDGED)
        if not known:
            return None
        return receipt.version <= int(known) and receipt.memories <= int(self.database.meta(MEMORIES_ACKNOWLEDGED, "0"))


def mark_unerased(tx: sqlite3.Connection) -> None:
    """Something is deleted, part of the caller's transaction: the files must be overwritten."""
    tx.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (UNERASED, secrets.token_hex(8)))


def postpone(tx: sqlite3.Connection, *, from_version: int, to_version: int) -> None:
    """What the cloud was to learn with ``from_version`` or later it learns with ``to_version``; part of the caller's transaction."""
    tx.execute("UPDATE receipts SET version = ? WHERE version >= ? AND version < ?", (to_version, from_version, to_version))


def write_receipt(tx: sqlite3.Connection, document_id: DocumentId, *, chunks: int, now: float) -> str:
    """Note a deletion, part of the caller's transaction; returns the receipt's id."""
    receipt_id = secrets.token_hex(8)
    tx.execute(
        "INSERT INTO receipts (receipt_id, document_id, deleted_at, chunks, version, memories) VALUES (?, ?, ?, ?, ?,"
        " coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?), 0))",  # its memories are marked as removed already
        (receipt_id, document_id, now, chunks, UNSETTLED, MEMORIES_VERSION),
    )
    return receipt_id


def _receipt(row: sqlite3.Row) -> Receipt:
    return Receipt(**{**dict(row), "erased": bool(row["erased"])})
