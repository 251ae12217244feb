"""Another name for a document that is here, without its content being sent again."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from edge_node.database.schema import Database
from edge_node.documents.store import WHOLE, Accepted, Removed, accept, read_labels, remove
from edge_node.records import Offered, document_id
from shared.errors import Conflict, NotFound
from shared.records import DocumentId


def rename(database: Database, identity: DocumentId, name: str, *, now: float) -> tuple[Accepted, Removed | None]:
    """Accept a document as it is now under another name, and delete the one of the former name; None where it has this name already.

    In one transaction: no change of its labels falls between the two. Raises NotFound, and Conflict where it is damaged on disk.
    """
    with database.write() as tx:
        before = _content(tx, identity)
        reader = name if before.reader == before.name else before.reader
        accepted = accept(tx, replace(before, document_id=document_id(name, before.raw), name=name, reader=reader), now)
        return accepted, remove(tx, identity, now) if accepted.document_id != identity else None


def _content(tx: sqlite3.Connection, identity: DocumentId) -> Offered:
    """A document as it was sent."""
    query = f"SELECT *, {WHOLE} AND crc(raw) = raw_crc AS whole FROM documents WHERE document_id = ?"
    row = tx.execute(query, (identity,)).fetchone()
    if row is None:
        raise NotFound("document", identity)
    labels = read_labels(row["labels"].encode())
    if not row["whole"] or labels is None:
        raise Conflict("the document is damaged on disk", next_step="send it again")
    return Offered(identity, row["name"], row["raw"], row["reader"], row["title"], labels, row["created_at"], row["source"])
