"""Documents, their jobs and their chunks."""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from edge_node.store.database import Database, crc
from edge_node.store.replies import usage
from shared.errors import NotFound, StoreError
from shared.ports import Clock
from shared.records import Chunk, ChunkId, DocumentId

LIST_COLUMNS = "document_id, name, title, labels, length(raw) AS bytes, status, code, reason, next_step, created_at"


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the client learns when its document is committed."""

    document_id: DocumentId
    job_id: str
    duplicate: bool
    removed: tuple[ChunkId, ...] = ()  # chunks of the document that it replaced


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as it was sent."""

    document_id: DocumentId
    job_id: str
    name: str
    title: str
    labels: tuple[str, ...]
    raw: bytes
    reader: str


def document_id(name: str, raw: bytes) -> DocumentId:
    """Id of this content under this name, so that sending it twice changes nothing."""
    return DocumentId(hashlib.sha256(name.encode() + b"\0" + raw).hexdigest()[:24])


class DocumentStore:
    """Tables documents, jobs and chunks."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self.database = database
        self.clock = clock

    def accept(self, name: str, raw: bytes, *, reader: str, title: str = "", labels: Sequence[str] = ()) -> Accepted:
        """Commit a document and its job. The same content under the same name is a no-op; new content replaces the old."""
        identity, now = document_id(name, raw), self.clock.now()
        with self.database.write() as tx:
            old = tx.execute("SELECT document_id, status FROM documents WHERE name = ?", (name,)).fetchone()
            if old and old["document_id"] == identity and old["status"] == "parked":
                tx.execute(  # with the bytes: it may be parked because they were damaged
                    "UPDATE documents SET status = 'queued', code = '', reason = '', next_step = '',"
                    " title = ?, labels = ?, raw = ?, raw_crc = ?, reader = ? WHERE document_id = ?",
                    (title, json.dumps(list(labels)), raw, crc(raw), reader, identity),
                )
                return Accepted(identity, _new_job(tx, identity, now), duplicate=True)  # sending it again is how to try again
            if old and old["document_id"] == identity:
                job = tx.execute("SELECT job_id FROM jobs WHERE document_id = ? ORDER BY created_at DESC", (identity,)).fetchone()
                return Accepted(identity, str(job["job_id"]), duplicate=True)
            removed = _purge(tx, DocumentId(old["document_id"])) if old else ()
            row = (identity, name, title, json.dumps(list(labels)), raw, crc(raw), reader, now)
            tx.execute(
                "INSERT INTO documents (document_id, name, title, labels, raw, raw_crc, reader, status, created_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, 'queued', ?)",
                row,
            )
            job_id = _new_job(tx, identity, now)
        return Accepted(identity, job_id, duplicate=False, removed=removed)

    def remove(self, identity: DocumentId) -> tuple[ChunkId, ...]:
        """Delete a document with all that came from it; returns its chunks. Raises NotFound."""
        with self.database.write() as tx:
            return _purge(tx, identity)

    def requeue_interrupted(self) -> int:
        """After a restart: what was under way waits again. Returns how many."""
        with self.database.write() as tx:
            return tx.execute("UPDATE documents SET status = 'queued' WHERE status = 'running'").rowcount

    def take_next(self) -> StoredDocument | None:
        """Mark the oldest queued document as running and return it; one that is damaged on disk is parked, and the next one taken."""
        with self.database.write() as tx:
            while True:
                row = tx.execute("SELECT * FROM documents WHERE status = 'queued' ORDER BY created_at, rowid LIMIT 1").fetchone()
                if row is None:
                    return None
                identity = DocumentId(row["document_id"])
                tx.execute("UPDATE documents SET status = 'running' WHERE document_id = ?", (identity,))
                if crc(row["raw"]) != row["raw_crc"]:
                    reason = f"document {row['name']!r} is damaged on disk"
                    _end(tx, self.clock.now(), identity, "parked", ("damaged", reason, "send the document again"))
                    continue
                job = tx.execute("SELECT job_id FROM jobs WHERE document_id = ? ORDER BY created_at DESC", (identity,)).fetchone()
                labels = tuple(json.loads(row["labels"]))
                return StoredDocument(identity, job["job_id"], row["name"], row["title"], labels, row["raw"], row["reader"])

    def requeue(self, identity: DocumentId) -> None:
        """Let a document that is under way wait again, as the first of all if it is the oldest."""
        with self.database.write() as tx:
            tx.execute("UPDATE documents SET status = 'queued' WHERE document_id = ? AND status = 'running'", (identity,))

    def mark_indexed(self, identities: Iterable[DocumentId]) -> None:
        """These documents' graph and summaries are committed; one that was deleted and sent again meanwhile still waits."""
        now = self.clock.now()
        with self.database.write() as tx:
            for identity in identities:
                _end(tx, now, identity, "indexed", ("", "", ""))

    def park(self, identity: DocumentId, *, code: str, reason: str, next_step: str) -> None:
        """Set a document that is under way aside, with a reason a person can act on."""
        with self.database.write() as tx:
            _end(tx, self.clock.now(), identity, "parked", (code, reason, next_step))

    def add_job_cost(self, job_id: str, *, calls: int, tokens_in: int, tokens_out: int) -> None:
        """Add a step's model use to its job."""
        with self.database.write() as tx:
            tx.execute(
                "UPDATE jobs SET calls = calls + ?, tokens_in = tokens_in + ?, tokens_out = tokens_out + ? WHERE job_id = ?",
                (calls, tokens_in, tokens_out, job_id),
            )

    def list(self, *, limit: int, after: str = "", status: str = "") -> list[dict[str, Any]]:
        """A page of documents by name, after the name ``after``."""
        where = "name > ?" + (" AND status = ?" if status else "")
        arguments = (after, status, limit) if status else (after, limit)
        rows = self.database.rows(f"SELECT {LIST_COLUMNS} FROM documents WHERE {where} ORDER BY name LIMIT ?", arguments)
        return [_view(row) for row in rows]

    def get(self, identity: str) -> dict[str, Any]:
        """One document's view with its counts. Raises NotFound."""
        row = self.database.row(f"SELECT {LIST_COLUMNS} FROM documents WHERE document_id = ?", (identity,))
        if row is None:
            raise NotFound("document", identity)
        counts = self.database.row(
            "SELECT count(*) AS chunks, coalesce(sum(tokens), 0) AS tokens FROM chunks WHERE document_id = ?", (identity,)
        )
        return _view(row) | dict(counts or {})

    def job(self, job_id: str) -> dict[str, Any]:
        """One job with its document's status. Raises NotFound."""
        row = self.database.row(
            "SELECT jobs.*, name, status, code, reason, next_step FROM jobs JOIN documents USING (document_id) WHERE job_id = ?", (job_id,)
        )
        if row is None:
            raise NotFound("job", job_id)
        return dict(row)

    def counts(self) -> dict[str, int]:
        """Documents by status."""
        found = {row["status"]: row["n"] for row in self.database.rows("SELECT status, count(*) AS n FROM documents GROUP BY status")}
        return {status: found.get(status, 0) for status in ("queued", "running", "indexed", "parked")}

    def totals(self) -> dict[str, int]:
        """Chunks and corpus tokens of all documents, and all that the write path has used of the model, settling included."""
        chunks = self.database.row("SELECT count(*) AS chunks, coalesce(sum(tokens), 0) AS tokens FROM chunks")
        return dict(chunks or {}) | usage(self.database)

    def chunks(self, chunk_ids: Sequence[str]) -> dict[str, tuple[Chunk, str]]:
        """Chunks by id with the name of their document; unknown ids are left out. Raises StoreError for a damaged one."""
        marks = ", ".join("?" * len(chunk_ids))
        rows = self.database.rows(
            f"SELECT chunks.*, name FROM chunks JOIN documents USING (document_id) WHERE chunk_id IN ({marks})", list(chunk_ids)
        )
        found = {}
        for row in rows:
            if crc(row["text"]) != row["crc"]:
                raise StoreError(f"chunk {row['chunk_id']} of {row['name']!r} is damaged on disk", next_step="send the document again")
            found[row["chunk_id"]] = (chunk_of(row), str(row["name"]))
        return found


def insert_chunks(tx: sqlite3.Connection, chunks: Sequence[Chunk]) -> None:
    """Write chunks, part of the caller's transaction."""
    tx.executemany(
        "INSERT OR REPLACE INTO chunks (chunk_id, document_id, ordinal, text, crc, start, end, tokens) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(c.chunk_id, c.document_id, c.ordinal, c.text, crc(c.text), c.start, c.end, c.tokens) for c in chunks],
    )


def delete_chunks(tx: sqlite3.Connection, identity: DocumentId) -> None:
    """Delete a document's chunks with their vectors, part of the caller's transaction; their mentions follow by cascade."""
    tx.execute("DELETE FROM vectors WHERE kind = 'chunk' AND key IN (SELECT chunk_id FROM chunks WHERE document_id = ?)", (identity,))
    tx.execute("DELETE FROM chunks WHERE document_id = ?", (identity,))


def chunk_of(row: sqlite3.Row) -> Chunk:
    """The record of a row."""
    return Chunk(
        ChunkId(row["chunk_id"]), DocumentId(row["document_id"]), row["ordinal"], row["text"], row["start"], row["end"], row["tokens"]
    )


def _purge(tx: sqlite3.Connection, identity: DocumentId) -> tuple[ChunkId, ...]:
    removed = tuple(ChunkId(row["chunk_id"]) for row in tx.execute("SELECT chunk_id FROM chunks WHERE document_id = ?", (identity,)))
    delete_chunks(tx, identity)
    if tx.execute("DELETE FROM documents WHERE document_id = ?", (identity,)).rowcount == 0:  # its jobs follow by cascade
        raise NotFound("document", identity)
    return removed


def _end(tx: sqlite3.Connection, now: float, identity: DocumentId, status: str, why: tuple[str, str, str]) -> None:
    """End a document that is under way; ``why``: code, reason and next step. One that is not under way stays as it is."""
    ended = tx.execute(
        "UPDATE documents SET status = ?, code = ?, reason = ?, next_step = ? WHERE document_id = ? AND status = 'running'",
        (status, *why, identity),
    )
    if ended.rowcount:
        tx.execute("UPDATE jobs SET ended_at = ? WHERE document_id = ? AND ended_at IS NULL", (now, identity))


def _new_job(tx: sqlite3.Connection, identity: DocumentId, now: float) -> str:
    job_id = secrets.token_hex(8)
    tx.execute("INSERT INTO jobs (job_id, document_id, created_at) VALUES (?, ?, ?)", (job_id, identity, now))
    return job_id


def _view(row: sqlite3.Row) -> dict[str, Any]:
    return dict(row) | {"labels": json.loads(row["labels"])}
