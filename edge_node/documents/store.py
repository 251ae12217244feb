"""Documents and their chunks. Two rows of one name: the version that is served, and the one that will replace it."""

from __future__ import annotations

import json
import logging
import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from edge_node.database.replies import delete_replies, usage
from edge_node.database.schema import Database
from edge_node.documents.archive import Original
from edge_node.documents.jobs import DAMAGED, can_retry, end_jobs, mark_committed, open_job
from edge_node.documents.read_by import with_languages
from edge_node.documents.receipts import mark_unerased, write_receipt
from edge_node.records import Offered, document_id
from shared.errors import Conflict, DiskFull, NotFound, ReaderUnavailable
from shared.ports import Clock
from shared.records import Chunk, ChunkId, DocumentId, Mark
from shared.sqlite import crc
from shared.text.document_names import document_name, visible

log = logging.getLogger("dgrag.edge.store")
MOST_CHARS = 20_000  # of a text that is read at once
Versions: TypeAlias = list[tuple[str, ...] | None]  # the labels of each version of a document
HAS_CHUNKS = "EXISTS (SELECT 1 FROM chunks WHERE chunks.document_id = {}.document_id)"
NEWEST_JOB = "FROM jobs WHERE jobs.document_id = this.document_id ORDER BY jobs.rowid DESC LIMIT 1"

AMONG_OTHERS = "NOT IN (SELECT value FROM json_each(?))"
LABELS_CHANGED = "labels_changed"  # key in meta: how often an indexed document got other labels
HAS_LABEL = "CASE WHEN json_valid(labels) THEN EXISTS (SELECT 1 FROM json_each(labels) WHERE value = ?) ELSE 0 END"
WHOLE = "crc(document_id, name, title, labels, reader) = row_crc"

VIEW = f"""
    SELECT document_id, name, title, labels, source, coalesce(dropped_bytes, length(raw)) AS bytes,
        dropped_bytes IS NULL AS has_original, parsers, status, code, reason, next_step, failed_chunk, shortfalls,
        created_at,
        (SELECT job_id {NEWEST_JOB}) AS job_id, (SELECT attempts {NEWEST_JOB}) AS attempts,
        (SELECT old.document_id FROM documents old WHERE old.name = this.name AND old.rowid < this.rowid
            AND {HAS_CHUNKS.format("old")}) AS replaces,
        {HAS_CHUNKS.format("this")} AS served,
        {WHOLE} AS whole
    FROM documents this"""


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


def require_space(folder: Path, *, floor: int) -> None:
    """Raises DiskFull when fewer than ``floor`` bytes are free: what is under way can then still be finished."""
    if shutil.disk_usage(folder).free < floor:
        raise DiskFull(folder)


def require_own(tx: sqlite3.Connection, source: str | None, *, name: str = "", identity: str = "") -> None:
    """Raises Conflict where the newest version of a name, or of this document's name, is none of this sync's. None: it may be anyone's."""
    named = "SELECT name FROM documents WHERE document_id = ?"
    query = f"SELECT source FROM documents WHERE name = ? OR name = ({named}) ORDER BY rowid DESC LIMIT 1"
    if source is not None and (row := tx.execute(query, (name, identity)).fetchone()) and row["source"] != source:
        raise Conflict("a document of this name came another way, and stays as it is", next_step="delete it, or sync with --adopt")


INSERT = (
    "INSERT INTO documents (document_id, name, title, labels, source, raw, raw_crc, reader, row_crc, status, created_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'queued', ?)"
)
RENEW = (
    "UPDATE documents SET name = ?, title = ?, labels = ?, raw = ?, raw_crc = ?, dropped_bytes = NULL, reader = ?, row_crc = ?"
    " WHERE document_id = ?"
)


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the client learns when its document is committed. ``ended_jobs``: what this one made needless."""

    document_id: DocumentId
    job_id: str
    duplicate: bool
    labels: tuple[str, ...] = ()
    ended_jobs: tuple[str, ...] = ()
    replaces: bool = False  # other content of the same name, once this is indexed


@dataclass(frozen=True, slots=True)
class Removed:
    """What was deleted with a document."""

    receipt_id: str
    chunks: tuple[ChunkId, ...]
    ended_jobs: tuple[str, ...]


class DocumentStore:
    """Tables documents and chunks."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self.database = database
        self.clock = clock

    def accept(
        self,
        name: str,
        raw: bytes,
        *,
        reader: str,
        title: str = "",
        labels: Sequence[str] | None = None,
        created_at: float | None = None,
        source: str | None = None,
        adopt: bool = True,
    ) -> Accepted:
        """Commit a document and its job; what this name has served till now is served until the new content is indexed.

        The same content again is a no-op, but other labels are taken over at once; with another title or reader, or where it was
        parked or is damaged on disk, it is queued again. A version of this name that was never indexed gives way.
        Without ``labels`` a document keeps those that it has, or a new version those of the newest one; a new document has none.
        The name is taken as ``document_name`` makes it.
        ``created_at``: when a new one came to the site where it was before; None: now. Without ``source`` the same content stays with
        the sync that put it here, and new content belongs to none. ``adopt``: also where the name is another's. Raises Conflict where it
        may not, or where the labels are damaged, and InputError for a name of which nothing can be seen.
        """
        name, reader = document_name(name), document_name(reader)
        identity = document_id(name, raw)
        offered = Offered(identity, name, raw, reader, title, None if labels is None else tuple(labels), created_at, source)
        with self.database.write() as tx:
            require_own(tx, None if adopt else source or "", name=name)
            return accept(tx, offered, self.clock.now())

    def remove(self, identity: DocumentId, *, source: str | None = None) -> Removed:
        """Delete a document with all that came from it, and note that in a receipt. Raises NotFound, and as ``require_own``."""
        with self.database.write() as tx:
            require_own(tx, source, identity=identity)
            return remove(tx, identity, self.clock.now())

    def list(
        self,
        *,
        limit: int,
        after: str = "",
        status: str = "",
        name: str = "",
        part: str = "",
        label: str = "",
        withheld: Collection[str] = (),
    ) -> list[dict[str, Any]]:
        """A page of documents by name, after the name ``after``; one more than ``limit`` where that keeps two versions together.

        ``part``: of the name, its ASCII letters in either case; ``label``: one of those that it has. ``withheld``: left out, by id.
        """
        narrowed = {
            "status = ?": status,
            "name IN (SELECT value FROM json_each(?))": json.dumps(sorted({name, visible(name).strip()})) if name else "",
            "instr(lower(name), lower(?)) > 0": visible(part),
            HAS_LABEL: label,
            f"document_id {AMONG_OTHERS}": json.dumps(list(withheld)) if withheld else "",
        }
        where = ["name > ?", *(condition for condition, value in narrowed.items() if value)]
        arguments = [after, *filter(None, narrowed.values()), limit + 1]
        rows = self.database.rows(f"{VIEW} WHERE {' AND '.join(where)} ORDER BY name, this.rowid LIMIT ?", arguments)
        together = len(rows) > limit and rows[limit]["name"] == rows[limit - 1]["name"]
        return with_languages(self.database, [_view(row) for row in rows[: limit + together]])

    def get(self, identity: str) -> dict[str, Any]:
        """One document's view with its counts. Raises NotFound."""
        row = self.database.row(f"{VIEW} WHERE document_id = ?", (identity,))
        if row is None:
            raise NotFound("document", identity)
        counts = self.database.row(
            "SELECT count(*) AS chunks, coalesce(sum(tokens), 0) AS tokens FROM chunks WHERE document_id = ?", (identity,)
        )
        return with_languages(self.database, [_view(row) | dict(counts or {})])[0]

    def known(self, identities: Collection[DocumentId]) -> frozenset[DocumentId]:
        """Those of these documents that are here and not parked: sending them again costs nothing."""
        marks = ", ".join("?" * len(identities))
        rows = self.database.rows(f"SELECT document_id FROM documents WHERE status != 'parked' AND document_id IN ({marks})", [*identities])
        return frozenset(DocumentId(row["document_id"]) for row in rows)

    def counts(self, withheld: Collection[str] = ()) -> dict[str, int]:
        """Documents by status, without those that are ``withheld``."""
        query = f"SELECT status, count(*) AS n FROM documents WHERE document_id {AMONG_OTHERS} GROUP BY status"
        found = {row["status"]: row["n"] for row in self.database.rows(query, (json.dumps(list(withheld)),))}
        return {status: found.get(status, 0) for status in ("queued", "running", "indexed", "parked")}

    def waiting_for_reader(self) -> int:
        """Documents that wait until what reads them works again."""
        query = "SELECT count(*) AS n FROM documents WHERE status = 'queued' AND code = ?"
        row = self.database.row(query, (ReaderUnavailable.code,))
        return int(row["n"]) if row else 0

    def totals(self) -> dict[str, int]:
        """Chunks and corpus tokens of all documents, and all that the write path has used of the model, settling included."""
        chunks = self.database.row("SELECT count(*) AS chunks, coalesce(sum(tokens), 0) AS tokens FROM chunks")
        return dict(chunks or {}) | usage(self.database)

    def chunks(self, chunk_ids: Sequence[str]) -> dict[str, tuple[Chunk, str, str]]:
        """Chunks by id with name and title of their document; unknown ids are left out, and so is what is damaged on disk."""
        marks = ", ".join("?" * len(chunk_ids))
        rows = self.database.rows(
            f"SELECT chunks.*, name, title, {WHOLE} AS whole FROM chunks JOIN documents USING (document_id) WHERE chunk_id IN ({marks})",
            list(chunk_ids),
        )
        found = {}
        for row in rows:
            chunk = chunk_of(row)
            if row["whole"] and chunk_crc(chunk) == row["crc"]:
                found[row["chunk_id"]] = (chunk, str(row["name"]), str(row["title"]))
            else:
                log.error("chunk %s is damaged on disk and left out", row["chunk_id"])
        return found

    def texts(self, chunk_ids: Sequence[str] | None = None) -> Iterator[tuple[str, str]]:
        """(chunk id, title of its document and its text) of some chunks, or all: what their words are."""
        query = "SELECT chunk_id, title || char(10) || text FROM chunks JOIN documents USING (document_id)"
        if chunk_ids is None:
            rows = self.database.stream(query)
        else:
            rows = self.database.stream(f"{query} WHERE chunk_id IN (SELECT value FROM json_each(?))", (json.dumps(list(chunk_ids)),))
        return ((chunk_id, text) for chunk_id, text in rows)

    def titles(self, identities: Collection[DocumentId]) -> Sequence[str]:
        """The different titles of those of these documents that are there and undamaged, in no order; without empty ones."""
        query = f"SELECT DISTINCT title FROM documents WHERE title != '' AND document_id IN (SELECT value FROM json_each(?)) AND {WHOLE}"
        return [row["title"] for row in self.database.rows(query, (json.dumps(list(identities)),))]

    def titles_but(self, withheld: Collection[str]) -> Sequence[str]:
        """As ``titles``, of all documents that questions may find but the withheld ones: what is parked or waits shares nothing."""
        query = (
            f"SELECT DISTINCT title FROM documents WHERE title != '' AND document_id {AMONG_OTHERS} AND {WHOLE}"
            " AND EXISTS (SELECT 1 FROM chunks WHERE chunks.document_id = documents.document_id)"
        )
        return [row["title"] for row in self.database.rows(query, (json.dumps(list(withheld)),))]

    def chunk_states(self) -> dict[str, tuple[int, str]]:
        """The checksum of each chunk, and the title of its document: another one, another text."""
        rows = self.database.stream("SELECT chunk_id, chunks.crc, title FROM chunks JOIN documents USING (document_id)")
        return {row["chunk_id"]: (row["crc"], row["title"]) for row in rows}

    def all_chunks(self) -> Iterator[Chunk]:
        """Every chunk, as it is read; without those that are damaged."""
        for row in self.database.stream("SELECT * FROM chunks"):
            if chunk_crc(chunk := chunk_of(row)) == row["crc"]:
                yield chunk

    def texts_of(self, chunk_ids: Collection[str]) -> dict[str, str]:
        """The texts of some chunks; without those that are gone or damaged."""
        query = "SELECT * FROM chunks WHERE chunk_id IN (SELECT value FROM json_each(?))"
        chunks = {row["chunk_id"]: (chunk_of(row), row["crc"]) for row in self.database.rows(query, (json.dumps(list(chunk_ids)),))}
        return {chunk_id: chunk.text for chunk_id, (chunk, checksum) in chunks.items() if chunk_crc(chunk) == checksum}

    def tokens_of(self, chunk_ids: Collection[str]) -> dict[str, int]:
        """The tokens of some chunks; without those that are gone."""
        query = "SELECT chunk_id, tokens FROM chunks WHERE chunk_id IN (SELECT value FROM json_each(?))"
        return {row["chunk_id"]: row["tokens"] for row in self.database.rows(query, (json.dumps(list(chunk_ids)),))}

    # ------------------------------------------------------------ what an archive holds

    def originals(self) -> Iterator[Original]:
        """Each document as it came: of two versions of a name the newer one, unless it is parked. One at a time is read."""
        newest = (
            "SELECT one FROM (SELECT rowid AS one, row_number() OVER (PARTITION BY name ORDER BY status = 'parked', rowid DESC) AS n"
            " FROM documents) WHERE n = 1 ORDER BY one"
        )
        columns = "name, title, labels, reader, created_at, source, raw"
        query = f"SELECT {columns}, {WHOLE} AND crc(raw) = raw_crc AND dropped_bytes IS NULL AS whole FROM documents WHERE rowid = ?"
        for number in [row["one"] for row in self.database.rows(newest)]:
            if (row := self.database.row(query, (number,))) is None:
                continue  # deleted meanwhile
            raw = row["raw"] if row["whole"] else None
            labels = tuple(_listed(row["labels"]))
            yield Original(row["name"], row["title"], labels, row["reader"], row["created_at"], raw, row["source"])

    # ------------------------------------------------------------ what the sharing policy asks

    def label_sets(self) -> set[tuple[str, ...] | None]:
        """The lists of labels that documents have; None stands for damaged ones."""
        return {read_labels(row["labels"]) for row in self.database.rows("SELECT DISTINCT CAST(labels AS BLOB) AS labels FROM documents")}

    def beyond(self, labels: frozenset[str]) -> frozenset[str]:
        """The documents that have, in one of their versions, a label that is none of these, or labels that are damaged."""
        return self.not_labelled([one for one in self.label_sets() if one is not None and labels.issuperset(one)])

    def served(self, identities: Collection[str]) -> bool:
        """Whether questions may find one of these."""
        query = "SELECT 1 FROM chunks WHERE document_id IN (SELECT value FROM json_each(?)) LIMIT 1"
        return self.database.row(query, (json.dumps(list(identities)),)) is not None

    def serves_others(self, withheld: Collection[str]) -> bool:
        """Whether questions may find a document that is none of these."""
        query = f"SELECT 1 FROM chunks WHERE document_id {AMONG_OTHERS} LIMIT 1"
        return self.database.row(query, (json.dumps(list(withheld)),)) is not None

    def not_labelled(self, label_sets: Collection[tuple[str, ...]]) -> frozenset[DocumentId]:
        """The documents one of whose versions, the served one or the one that waits, has a list of labels that is none of these."""
        query = (
            "SELECT document_id FROM documents WHERE name IN"
            " (SELECT name FROM documents WHERE labels NOT IN (SELECT value FROM json_each(?)))"
        )
        rows = self.database.rows(query, (json.dumps([json.dumps(list(labels)) for labels in label_sets]),))
        return frozenset(DocumentId(row["document_id"]) for row in rows)

    def labels_of(self, identities: Collection[DocumentId]) -> dict[DocumentId, Versions]:
        """The labels of each version of those of these documents that are there; None where they are damaged."""
        query = (
            "SELECT this.document_id AS asked, CAST(version.labels AS BLOB) AS labels,"
            " crc(version.document_id, version.name, version.title, version.labels, version.reader) = version.row_crc AS whole"
            " FROM documents this JOIN documents version USING (name) WHERE this.document_id IN (SELECT value FROM json_each(?))"
        )
        found = defaultdict[DocumentId, Versions](list)
        for row in self.database.rows(query, (json.dumps(list(identities)),)):
            found[row["asked"]].append(read_labels(row["labels"]) if row["whole"] else None)
        return dict(found)

    def text(self, identity: DocumentId, *, start: int, end: int) -> tuple[str, int]:
        """Characters [start, end) of what was read of a document, and how many there are in all; the document is one that is served.

        Its chunks hold every character but the white space between some of them, of which only the length is known: there stand line
        ends. They also stand for a chunk that is damaged on disk.
        """
        told = self.database.row("SELECT max(end) AS length FROM chunks WHERE document_id = ?", (identity,))
        query = "SELECT * FROM chunks WHERE document_id = ? AND end > ? AND start < ? ORDER BY start"
        rows, text = self.database.rows(query, (identity, start, end)), ""
        for row in rows:
            chunk = chunk_of(row)
            if chunk_crc(chunk) != row["crc"]:
                log.error("chunk %s is damaged on disk and left out", chunk.chunk_id)
                continue
            text = text.ljust(chunk.start - start, "\n")
            text += chunk.text[len(text) - (chunk.start - start) :]
        length = int(told["length"] or 0) if told else 0
        return text.ljust(min(end, length) - start, "\n")[: end - start], length

    def around(self, identity: DocumentId, start: int, end: int) -> tuple[str, int]:
        """A document's text from the chunks that meet characters [start, end), blanks where none has it; and the place of its first one."""
        query = "SELECT start, text FROM chunks WHERE document_id = ? AND end > ? AND start < ? ORDER BY start"
        rows = self.database.rows(query, (identity, start, end))
        begins, text = (rows[0]["start"] if rows else start), ""
        for row in rows:
            text = text.ljust(row["start"] - begins)
            text += row["text"][len(text) - (row["start"] - begins) :]
        return text, begins


def accept(tx: sqlite3.Connection, offered: Offered, now: float) -> Accepted:
    """As ``DocumentStore.accept``, part of the caller's transaction."""
    identity, name, raw, title, reader = offered.document_id, offered.name, offered.raw, offered.title, offered.reader
    with labels_watched(tx, name):
        is_other = tx.execute("SELECT 1 FROM documents WHERE name = ? AND document_id <> ?", (name, identity)).fetchone() is not None
        worn = labels_kept(tx, name, identity) if offered.labels is None else offered.labels
        listed = json.dumps(worn)
        checksum = crc(identity, name, title, listed, reader)
        ended = _drop_waiting(tx, name, identity, now)
        known = tx.execute(
            f"SELECT status, title, labels, reader, dropped_bytes, {WHOLE} AND crc(raw) = raw_crc AS whole"
            " FROM documents WHERE document_id = ?",
            (identity,),
        ).fetchone()
        if known is None:
            came_at = now if offered.created_at is None else offered.created_at
            tx.execute(INSERT, (identity, name, title, listed, offered.source or "", raw, crc(raw), reader, checksum, came_at))
            return Accepted(identity, open_job(tx, identity, now), duplicate=False, labels=worn, ended_jobs=ended, replaces=is_other)
        if offered.source is not None:
            tx.execute("UPDATE documents SET source = ? WHERE document_id = ?", (offered.source, identity))
        if known["status"] == "parked" or not known["whole"] or (known["title"], known["reader"]) != (title, reader):
            tx.execute(RENEW, (name, title, listed, raw, crc(raw), reader, checksum, identity))
            ended += end_jobs(tx, identity, now)
            return Accepted(identity, open_job(tx, identity, now), duplicate=True, labels=worn, ended_jobs=ended)
        if known["dropped_bytes"] is not None:
            tx.execute("UPDATE documents SET raw = ?, raw_crc = ?, dropped_bytes = NULL WHERE document_id = ?", (raw, crc(raw), identity))
        if known["labels"] != listed:
            tx.execute("UPDATE documents SET labels = ?, row_crc = ? WHERE document_id = ?", (listed, checksum, identity))
        job = tx.execute(f"SELECT job_id {NEWEST_JOB.replace('this.document_id', '?')}", (identity,)).fetchone()
    return Accepted(identity, str(job["job_id"]), duplicate=True, labels=worn, ended_jobs=ended)


def remove(tx: sqlite3.Connection, identity: DocumentId, now: float) -> Removed:
    """As ``DocumentStore.remove``, part of the caller's transaction."""
    row = tx.execute("SELECT CAST(name AS BLOB) AS name FROM documents WHERE document_id = ?", (identity,)).fetchone()
    with labels_watched(tx, row["name"].decode(errors="replace") if row else ""):
        ended = end_jobs(tx, identity, now)
        chunks = _purge(tx, identity)
        return Removed(write_receipt(tx, identity, chunks=len(chunks), now=now), chunks, ended)


def insert_chunks(tx: sqlite3.Connection, chunks: Sequence[Chunk]) -> None:
    """Write chunks, part of the caller's transaction."""
    tx.executemany(
        "INSERT OR REPLACE INTO chunks (chunk_id, document_id, ordinal, text, crc, start, end, tokens, places)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(c.chunk_id, c.document_id, c.ordinal, c.text, chunk_crc(c), c.start, c.end, c.tokens, _places_text(c.places)) for c in chunks],
    )


def chunk_crc(chunk: Chunk) -> int:
    """Checksum of a chunk's row."""
    places = _places_text(chunk.places)
    return crc(chunk.chunk_id, chunk.document_id, chunk.ordinal, chunk.start, chunk.end, chunk.text, *([places] if places else []))


def _places_text(places: Sequence[Mark]) -> str:
    return json.dumps(places, ensure_ascii=False, separators=(",", ":")) if places else ""


def _places(stored: str) -> tuple[Mark, ...]:
    """The marks of a row; none where they are damaged, which its checksum tells."""
    try:
        return tuple((int(at), str(label)) for at, label in json.loads(stored)) if stored else ()
    except (ValueError, TypeError):
        return ()


def delete_chunks(tx: sqlite3.Connection, identity: DocumentId) -> None:
    """Delete a document's chunks with their vectors, part of the caller's transaction; their mentions follow by cascade."""
    tx.execute("DELETE FROM vectors WHERE kind = 'chunk' AND key IN (SELECT chunk_id FROM chunks WHERE document_id = ?)", (identity,))
    tx.execute("DELETE FROM chunks WHERE document_id = ?", (identity,))


def chunk_of(row: sqlite3.Row) -> Chunk:
    """The record of a row."""
    return Chunk(
        ChunkId(row["chunk_id"]),
        DocumentId(row["document_id"]),
        row["ordinal"],
        row["text"],
        row["start"],
        row["end"],
        row["tokens"],
        _places(row["places"]),
    )


def purge_others(tx: sqlite3.Connection, identity: DocumentId) -> tuple[ChunkId, ...]:
    """Let this document be the served version of its name, part of the transaction that writes its chunks.

    Its older versions are deleted; returns their chunks. Raises Conflict for a document that was parked meanwhile: its job was
    cancelled, and nothing of it may be written.
    """
    this = tx.execute("SELECT name, rowid, status, code FROM documents WHERE document_id = ?", (identity,)).fetchone()
    if this["status"] == "parked":
        raise Conflict("the document was set aside meanwhile", next_step="retry its job")
    mark_committed(tx, identity)
    older = tx.execute("SELECT document_id FROM documents WHERE name = ? AND rowid < ?", (this["name"], this["rowid"])).fetchall()
    return tuple(chunk_id for row in older for chunk_id in _purge(tx, DocumentId(row["document_id"])))


def _drop_waiting(tx: sqlite3.Connection, name: str, identity: DocumentId, now: float) -> tuple[str, ...]:
    """Delete the other version of a name that was never indexed; returns the jobs that end with it."""
    others = f"SELECT document_id FROM documents WHERE name = ? AND document_id != ? AND NOT {HAS_CHUNKS.format('documents')}"
    ended: tuple[str, ...] = ()
    for row in tx.execute(others, (name, identity)).fetchall():
        ended += end_jobs(tx, DocumentId(row["document_id"]), now)
        _purge(tx, DocumentId(row["document_id"]))
    return ended


def _purge(tx: sqlite3.Connection, identity: DocumentId) -> tuple[ChunkId, ...]:
    removed = tuple(ChunkId(row["chunk_id"]) for row in tx.execute("SELECT chunk_id FROM chunks WHERE document_id = ?", (identity,)))
    delete_chunks(tx, identity)
    delete_replies(tx, identity)
    if tx.execute("DELETE FROM documents WHERE document_id = ?", (identity,)).rowcount == 0:  # its jobs follow by cascade
        raise NotFound("document", identity)
    mark_unerased(tx)
    return removed


def _view(row: sqlite3.Row) -> dict[str, Any]:
    shortfalls = _listed(row["shortfalls"])
    has_original = bool(row["has_original"])
    view = dict(row) | {
        "served": bool(row["served"]),
        "labels": _listed(row["labels"]),
        "shortfalls": shortfalls,
        "can_retry": has_original and can_retry(row["status"], shortfalls),
        "has_original": has_original,
        "parsers": [tag for tag in row["parsers"].split(", ") if tag],
    }
    whole = view.pop("whole")
    return view if whole else view | asdict(DAMAGED)


def _listed(text: str) -> list[Any]:
    """A JSON list out of the store; empty if it is damaged."""
    try:
        return list(json.loads(text))
    except (ValueError, TypeError):
        return []
