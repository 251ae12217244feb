"""Other labels, or another name, for a document that is here, without its content being sent again; and what comes from another edge."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace as changed
from typing import Literal

from edge_node.database.schema import Database
from edge_node.documents.store import WHOLE, Accepted, Removed, accept, labels_watched, read_labels, remove, require_own
from edge_node.records import Offered, document_id
from shared.errors import Conflict, InputError, NotFound, OriginalDropped
from shared.records import DocumentId
from shared.text.document_names import document_name, is_as_seen


def relabel(database: Database, identity: DocumentId, labels: Sequence[str], *, source: str | None = None) -> None:
    """Give a document other labels: counted as a change, so that summaries and memories are looked at anew.

    They are those of its name: of the version that is served, and of one that waits, which would undo them else. Another version that is
    damaged on disk keeps what it has. Raises NotFound, and Conflict where the document itself is damaged, and as ``require_own``.
    """
    listed = json.dumps(tuple(labels))
    with database.write() as tx:
        require_own(tx, source, identity=identity)
        row = tx.execute(f"SELECT name, {WHOLE} AS whole FROM documents WHERE document_id = ?", (identity,)).fetchone()
        if row is None:
            raise NotFound("document", identity)
        if not row["whole"]:
            raise Conflict("this document is damaged on disk", next_step="send it again, with its labels")
        with labels_watched(tx, row["name"]):
            tx.execute(
                f"UPDATE documents SET labels = ?1, row_crc = crc(document_id, name, title, ?1, reader) WHERE name = ?2 AND {WHOLE}",
                (listed, row["name"]),
            )


def rename(
    database: Database, identity: DocumentId, name: str, *, now: float, source: str | None = None
) -> tuple[Accepted, Removed | None]:
    """Accept a document as it is now under another name, and delete the one of the former name; None where it has this name already.

    In one transaction: no change of its labels falls between the two. With ``source`` neither name may have come another way. Raises
    NotFound, and Conflict where it is damaged on disk, and as ``require_own``.
    """
    with database.write() as tx:
        name = document_name(name)
        require_own(tx, source, identity=identity)
        require_own(tx, source, name=name)
        before = _content(tx, identity)
        reader = name if before.reader == before.name else before.reader
        accepted = accept(tx, changed(before, document_id=document_id(name, before.raw), name=name, reader=reader), now)
        return accepted, remove(tx, identity, now) if accepted.document_id != identity else None


def bring(database: Database, offered: Offered, *, replace: bool, now: float) -> Accepted | Literal["here", "kept"]:
    """Commit a document of another edge, unless the same is here, or another version of its name that is not to be replaced.

    In one transaction: nothing takes the name between the look and the commit. Raises as ``DocumentStore.accept``.
    """
    name = document_name(offered.name)
    offered = changed(offered, document_id=document_id(name, offered.raw), name=name, reader=document_name(offered.reader))
    with database.write() as tx:
        there = {row["document_id"] for row in tx.execute("SELECT document_id FROM documents WHERE name = ?", (offered.name,))}
        if offered.document_id in there:
            return "here"
        return "kept" if there and not replace else accept(tx, offered, now)


def misnamed(database: Database) -> list[tuple[DocumentId, str]]:
    """Documents whose name is not as ``document_name`` makes it, each with the name that it is to have; "": a later one has that name.

    Stores of earlier releases hold them: two spellings of one name were two documents there. A name that is damaged on disk stays.
    """
    rows = database.rows("SELECT document_id, CAST(name AS BLOB) AS name, status FROM documents ORDER BY rowid")
    named = [(row, name) for row in rows if (name := _decoded(row["name"])) is not None]
    if all(is_as_seen(name) for _, name in named):
        return []
    groups = defaultdict[str, list[tuple[sqlite3.Row, str]]](list)
    for row, name in named:
        groups[_name_for(row, name)].append((row, name))
    found = list[tuple[DocumentId, str]]()
    for target, members in groups.items():
        served = [member for member in members if member[0]["status"] != "parked"] or members
        latest = served[-1]
        others = [member for member in members if member is not latest]
        for row, name in (latest, *others):
            if name != target:
                found.append((DocumentId(row["document_id"]), target if row is latest[0] else ""))
    return found


def _decoded(name: bytes) -> str | None:
    try:
        return name.decode()
    except UnicodeDecodeError:
        return None


def _name_for(row: sqlite3.Row, name: str) -> str:
    try:
        return document_name(name)
    except InputError:
        return f"document-{row['document_id'][:8]}"


def _content(tx: sqlite3.Connection, identity: DocumentId) -> Offered:
    """A document as it was sent."""
    query = f"SELECT *, {WHOLE} AND crc(raw) = raw_crc AS whole FROM documents WHERE document_id = ?"
    row = tx.execute(query, (identity,)).fetchone()
    if row is None:
        raise NotFound("document", identity)
    labels = read_labels(row["labels"].encode())
    if row["dropped_bytes"] is not None:
        raise OriginalDropped(row["name"])
    if not row["whole"] or labels is None:
        raise Conflict("the document is damaged on disk", next_step="send it again")
    return Offered(identity, row["name"], row["raw"], row["reader"], row["title"], labels, row["created_at"], row["source"])
