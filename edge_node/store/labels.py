"""The labels of documents: how they are read, kept, and how a change of them is counted."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from shared.errors import Conflict
from shared.records import DocumentId

LABELS_CHANGED = "labels_changed"  # key in meta: how often an indexed document got other labels
WHOLE = "crc(document_id, name, title, labels, reader) = row_crc"


@contextmanager
def labels_watched(tx: sqlite3.Connection, name: str) -> Iterator[None]:
    """Count what happens in here as a change of labels, where a version of this name stays and the versions' labels are others."""
    before = _labels_under(tx, name)
    yield
    after = _labels_under(tx, name)
    if before and after and before != after:
        tx.execute("INSERT INTO meta VALUES (?, '1') ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1", (LABELS_CHANGED,))


def _labels_under(tx: sqlite3.Connection, name: str) -> set[bytes]:
    return {row["labels"] for row in tx.execute("SELECT CAST(labels AS BLOB) AS labels FROM documents WHERE name = ?", (name,))}


def labels_kept(tx: sqlite3.Connection, name: str, identity: DocumentId) -> tuple[str, ...]:
    """The labels of a document as it is here, or else of the newest version of its name. Raises Conflict where they are damaged."""
    row = tx.execute(
        f"SELECT CAST(labels AS BLOB) AS labels, {WHOLE} AS whole FROM documents WHERE document_id = ? OR name = ?"
        " ORDER BY document_id = ? DESC, rowid DESC LIMIT 1",
        (identity, name, identity),
    ).fetchone()
    if row is None:
        return ()
    if not row["whole"] or (found := read_labels(row["labels"])) is None:
        raise Conflict("the labels that this document had are damaged on disk: send it with its labels", next_step="an empty list is none")
    return found


def read_labels(stored: bytes) -> tuple[str, ...] | None:
    """The labels of a row; None where they are damaged."""
    try:
        labels = json.loads(stored)
    except ValueError:  # UnicodeDecodeError is one too
        return None
    return tuple(labels) if isinstance(labels, list) and all(isinstance(label, str) for label in labels) else None
