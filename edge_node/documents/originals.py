"""The file of each document as it came: for how long it stays, and documents that are read from it again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import quote

from edge_node.database.schema import Database
from edge_node.documents.jobs import CANCELLED, CRASHED, DAMAGED, NO_ORIGINAL, open_job
from edge_node.documents.receipts import mark_unerased
from edge_node.documents.store import WHOLE, chunk_crc
from edge_node.documents.text import suffix
from edge_node.records import Shortfall
from shared.errors import Conflict, NotFound, OriginalDropped
from shared.records import Chunk, DocumentId

DAY_S = 86_400.0
SHOWN_IMAGES = frozenset({"image/jpeg", "image/png"})
SHOWN_TEXTS = frozenset({"text/csv", "text/markdown", "text/plain"})
UNKNOWN = "application/octet-stream"
SET_ASIDE = json.dumps([CANCELLED.code, CRASHED.code, DAMAGED.code, NO_ORIGINAL.code])
IDLE = (
    "(status = 'indexed' OR (status = 'parked' AND NOT EXISTS (SELECT 1 FROM jobs"
    " WHERE jobs.document_id = documents.document_id AND ended_at IS NULL)))"
)
READABLE = (
    f"dropped_bytes IS NULL AND (status = 'indexed' OR (status = 'parked' AND code NOT IN (SELECT value FROM json_each('{SET_ASIDE}'))))"
)


@dataclass(frozen=True, slots=True)
class OriginalFile:
    """A file as it came. ``reader``: the name whose suffix tells of what type it is."""

    name: str
    reader: str
    raw: bytes
    type: str = UNKNOWN

    @property
    def media_type(self) -> str:
        """With the charset of a text in UTF-8: a browser is not to guess.

        >>> OriginalFile("a.txt", "a.txt", "Größe".encode(), "text/plain").media_type
        'text/plain; charset=utf-8'
        """
        return f"{self.type}; charset=utf-8" if self._is_utf8_text else self.type

    @property
    def _is_utf8_text(self) -> bool:
        if not self.type.startswith("text/"):
            return False
        try:
            self.raw.decode("utf-8")
        except UnicodeDecodeError:
            return False
        return True

    @property
    def disposition(self) -> str:
        """Shown where nothing in such a file can act and its letters are known, else saved (RFC 6266).

        >>> OriginalFile("wards/Über.html", "wards/Über.html", b"", "text/html").disposition
        "attachment; filename*=UTF-8''%C3%9Cber.html"
        """
        name = quote(PurePosixPath(self.name).name or "document", safe="")
        is_shown = (self.type in SHOWN_TEXTS and self._is_utf8_text) or self.type in SHOWN_IMAGES
        return f"{'inline' if is_shown else 'attachment'}; filename*=UTF-8''{name}"


@dataclass(frozen=True, slots=True)
class Retention:
    """For how long originals stay: ``days`` after they came (None: as long as their documents), up to ``max_bytes`` each."""

    days: float | None = None
    max_bytes: int | None = None

    @property
    def is_limited(self) -> bool:
        """Whether any may have to go."""
        return self.days is not None or self.max_bytes is not None


@dataclass(frozen=True, slots=True)
class Rereading:
    """Which documents are read again: one by name or id, or a format by its suffix, or all, or those that are outdated."""

    document: str = ""
    format: str = ""
    all: bool = False


@dataclass(frozen=True, slots=True)
class Reread:
    """How many documents wait to be read again, and how many cannot be as their originals are gone."""

    documents: int
    without_original: int


def original_of(database: Database, identity: DocumentId, media_types: Mapping[str, str] | None = None) -> OriginalFile:
    """The file of a document; ``media_types``: by suffix.

    Raises NotFound, OriginalDropped, and Conflict where it is damaged on disk.
    """
    query = f"SELECT name, reader, raw, dropped_bytes, {WHOLE} AND crc(raw) = raw_crc AS whole FROM documents WHERE document_id = ?"
    row = database.row(query, (identity,))
    if row is None:
        raise NotFound("document", identity)
    if row["dropped_bytes"] is not None:
        raise OriginalDropped(row["name"])
    if not row["whole"]:
        raise Conflict("the file is damaged on disk", next_step="send the document again")
    media_type = (media_types or {}).get(suffix(row["reader"]), UNKNOWN)
    return OriginalFile(row["name"], row["reader"], row["raw"], media_type)


def drop_originals(database: Database, retention: Retention, *, now: float) -> int:
    """Drop the files that are kept no longer, of documents that nothing is to be done for.

    Their bytes are overwritten with the next settle. A document that is queued keeps its file; one
    that was parked says from then on that it cannot be tried again.
    """
    oldest = None if retention.days is None else now - retention.days * DAY_S
    with database.write() as tx:
        dropped = tx.execute(
            "UPDATE documents SET dropped_bytes = length(raw), raw = x'', raw_crc = crc(x'')"
            f" WHERE {IDLE} AND dropped_bytes IS NULL AND (created_at <= ? OR length(raw) > ?)",
            (oldest, retention.max_bytes),
        ).rowcount
        if dropped:
            tx.execute(
                "UPDATE documents SET code = ?, reason = ?, next_step = ? WHERE status = 'parked' AND dropped_bytes IS NOT NULL",
                (NO_ORIGINAL.code, NO_ORIGINAL.reason, NO_ORIGINAL.next_step),
            )
            mark_unerased(tx)
    return dropped


def queue_rereading(database: Database, chosen: Rereading, versions: Collection[str], *, now: float) -> Reread:
    """Queue documents to be read from their originals. Raises NotFound, and OriginalDropped for one whose file is gone.

    ``versions``: the version tags of the present parsers.
    """
    with database.write() as tx:
        rows = tx.execute(
            f"SELECT document_id, name, reader, parsers, dropped_bytes, {READABLE} AS readable FROM documents"
            " WHERE (?1 = '' OR name = ?1 OR document_id = ?1) ORDER BY rowid",
            (chosen.document,),
        ).fetchall()
        rows = [row for row in rows if _is_chosen(row, chosen, versions)]
        ready = [row for row in rows if row["readable"]]
        dropped = [row for row in rows if row["dropped_bytes"] is not None]
        if chosen.document and not rows:
            raise NotFound("document", chosen.document)
        if chosen.document and dropped and not ready:
            raise OriginalDropped(dropped[0]["name"])
        for row in ready:
            job_id = open_job(tx, DocumentId(row["document_id"]), now)
            tx.execute("UPDATE jobs SET reread = 1 WHERE job_id = ?", (job_id,))
    return Reread(len(ready), len(dropped))


def _is_chosen(row: sqlite3.Row, chosen: Rereading, versions: Collection[str]) -> bool:
    if chosen.document or chosen.all:
        return True
    if chosen.format:
        return str(row["reader"]).lower().endswith(f".{chosen.format.lower().removeprefix('.')}")
    return is_outdated(row["parsers"], versions)


def is_outdated(parsers: str, versions: Collection[str]) -> bool:
    """Whether other versions of parsers than the present ones have read a document.

    >>> is_outdated("text 1, zip 1", {"text 1", "zip 2"}), is_outdated("text 1", {"text 1", "zip 2"}), is_outdated("", {"text 1"})
    (True, False, True)
    """
    return not set(parsers.split(", ")) <= set(versions)


def outdated_count(database: Database, versions: Collection[str]) -> int:
    """How many documents newer parsers would read anew; 0 while no versions are known."""
    query = f"SELECT parsers, count(*) AS n FROM documents WHERE {READABLE} AND status = 'indexed' GROUP BY parsers"
    return sum(row["n"] for row in database.rows(query) if versions and is_outdated(row["parsers"], versions))


def shortfall_counts(database: Database, withheld: Collection[str] = ()) -> dict[str, int]:
    """Documents by the code of what was not done as well as asked."""
    query = (
        "SELECT value ->> 'code' AS code, count(DISTINCT document_id) AS n FROM documents, json_each(shortfalls)"
        " WHERE json_valid(shortfalls) AND document_id NOT IN (SELECT value FROM json_each(?)) GROUP BY 1 ORDER BY 1"
    )
    rows = database.rows(query, (json.dumps(list(withheld)),))
    return {str(row["code"]): row["n"] for row in rows}


def is_as_read(database: Database, chunks: Sequence[Chunk]) -> bool:
    """Whether these are exactly the chunks that a document has."""
    query = "SELECT chunk_id, crc FROM chunks WHERE document_id = ? ORDER BY ordinal"
    rows = database.rows(query, (chunks[0].document_id,))
    return [(row["chunk_id"], row["crc"]) for row in rows] == [(chunk.chunk_id, chunk_crc(chunk)) for chunk in chunks]


def shortfalls_of_chunks(database: Database, identity: DocumentId) -> tuple[Shortfall, ...]:
    """Those of a document that its reading did not cause: of single chunks, by the model."""
    row = database.row("SELECT shortfalls FROM documents WHERE document_id = ?", (identity,))
    found = json.loads(row["shortfalls"]) if row else []
    return tuple(Shortfall(**each) for each in found if each["chunk_id"])
