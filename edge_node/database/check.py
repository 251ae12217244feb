"""Finds what is damaged in a store: SQLite's own structure, and every row whose checksum does not match (R10)."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from edge_node.database.schema import FUNCTIONS
from shared.errors import StoreDamaged
from shared.sqlite import connect, migrate, migrations_of

Remedy = Literal["park", "index again", "settle again", "forget", "rebuild", "none"]
LINES = {  # what SQLite says of single rows, by the kind of damage; anything else it says is of the structure
    "indexes": re.compile(r"^(row \d+ missing from index|wrong # of entries in index|non-unique entry in index)"),
    "order": re.compile(r"^row not in PRIMARY KEY order for "),
    "constraints": re.compile(r"^(NULL value in|NUMERIC value in|TEXT value in|CHECK constraint failed in) "),
}
NO_TEXT = frozenset(  # columns of numbers and of bytes
    {
        "at", "bad", "barred", "by_model", "direct", "doubtful", "end", "epsilon", "first_row", "good", "hyperedges", "later", "level",
        "negated", "ordinal", "planes", "rating", "raw", "row", "shares", "sources", "splits", "start", "strength", "units", "vector",
        "vectors",
    }
)  # fmt: skip
REPORT = ("community_id", "level", "content", "facts", "title", "summary", "rating", "reason", "findings", "by_model", "sources")
CHUNK = ("chunk_id", "document_id", "ordinal", "start", "end", "text")  # and its places, where it has some
CLAIM = ("chunk_id", "subject", "object", "type", "status", "description", "start", "end", "since", "until")
FACT = ("subject", "subject_type", "verb", "lemma", "preposition", "object", "object_type", "negated")
MEMORY = ("memory_id", "kind", "question", "answer", "anchors", "model", "doubtful", "vector", "sources")


@dataclass(frozen=True, slots=True)
class Damage:
    """One damaged row, and what is done about it; ``document_id`` None: not known, or of no single document."""

    table: str
    key: str
    document_id: str | None
    remedy: Remedy


@dataclass(frozen=True, slots=True)
class Check:
    """How the rows of a table are checked: SQL for what names a row, what is wrong with it, and its document."""

    table: str
    remedy: Remedy
    key: str
    wrong: str
    document: str = "NULL"


def _mismatch(*columns: str, checksum: str = "crc") -> str:
    """SQL: the columns do not match their checksum. Texts are taken as bytes, for a damaged one may be no text any more."""
    texts = [column for column in columns if column not in NO_TEXT]
    fields = ", ".join(f"CAST({column} AS BLOB)" if column in texts else column for column in columns)
    return " OR ".join([f"crc({fields}) IS NOT {checksum}", *(f"typeof({column}) <> 'text'" for column in texts)])


def _unreadable(*columns: str) -> str:
    """SQL: one of the columns, whose rows have no checksum, is no text any more."""
    return " OR ".join(f"typeof({column}) <> 'text' OR NOT is_text(CAST({column} AS BLOB))" for column in columns)


_OF_TABLE = "(SELECT document_id FROM documents WHERE documents.document_id = {}.document_id)"
_OF_CHUNK = "(SELECT document_id FROM chunks WHERE chunks.chunk_id = {})"
CHECKS = (  # a mended table may bring the rows of the next ones with it, so the order counts
    Check(
        "documents",
        "park",
        "document_id",
        f"{_mismatch('document_id', 'name', 'title', 'labels', 'reader', checksum='row_crc')}"
        f" OR {_mismatch('raw', checksum='raw_crc')} OR status NOT IN ('queued', 'running', 'indexed', 'parked')",
        "document_id",
    ),
    Check("chunks", "forget", "chunk_id", "document_id NOT IN (SELECT +document_id FROM documents NOT INDEXED)"),
    Check(
        "chunks",
        "index again",
        "chunk_id",
        f"CASE WHEN places = '' THEN {_mismatch(*CHUNK)} ELSE {_mismatch(*CHUNK, 'places')} END",
        "(SELECT document_id FROM documents WHERE documents.document_id = chunks.document_id)",
    ),
    Check(
        "entity_mentions",
        "index again",
        "chunk_id",
        _mismatch("chunk_id", "key", "name", "type", "description"),
        _OF_CHUNK.format("entity_mentions.chunk_id"),
    ),
    Check(
        "relation_mentions",
        "index again",
        "chunk_id",
        _mismatch("chunk_id", "source", "target", "description", "keywords", "strength"),
        _OF_CHUNK.format("relation_mentions.chunk_id"),
    ),
    Check("definitions", "index again", "chunk_id", _mismatch("chunk_id", "long", "short"), _OF_CHUNK.format("definitions.chunk_id")),
    Check("changes", "settle again", "seq", _unreadable("source", "target")),
    Check("jobs", "forget", "job_id", f"{_unreadable('job_id')} OR document_id NOT IN (SELECT +document_id FROM documents NOT INDEXED)"),
    Check("receipts", "forget", "receipt_id", _unreadable("receipt_id", "document_id")),
    Check("vectors", "index again", "key", f"kind = 'chunk' AND ({_mismatch('key', 'vector')})", _OF_CHUNK.format("vectors.key")),
    Check("vectors", "settle again", "key", f"kind <> 'chunk' AND ({_mismatch('key', 'vector')} OR kind NOT IN ('entity', 'relation'))"),
    Check("aliases", "settle again", "key", _mismatch("key", "canonical")),
    Check("subgraphs", "settle again", "subgraph_id", _mismatch("subgraph_id", "entities")),
    Check(
        "summaries",
        "settle again",
        "summary_id",
        f"NOT (removed = 1 AND text = '' AND crc = 0) AND (removed <> 0 OR {_mismatch('summary_id', 'text')})",
    ),
    Check("descriptions", "settle again", "key", _mismatch("key", "input_hash", "text")),
    Check("chunk_parts", "forget", "chunk_id", _mismatch("chunk_id", "text_hash", "splits", "vectors")),
    Check("core_readings", "forget", "chunk_id", _unreadable("chunk_id", "model")),
    Check("tree_planes", "forget", "one", _mismatch("planes")),
    Check("tree_nodes", "forget", "node_id", _mismatch("node_id", "level", "members", "made_of", "by_model", "text", "vector")),
    Check("report_uppers", "forget", "subgraph_id", _mismatch("subgraph_id", "root", "middle")),
    Check(
        "report_chunks",
        "forget",
        "rowid",
        "chunk_id NOT IN (SELECT +chunk_id FROM chunks NOT INDEXED) OR community_id NOT IN (SELECT +community_id FROM reports NOT INDEXED)",
    ),
    Check(  # one that has lost a row of its sources would outlive their deletion
        "reports",
        "forget",
        "community_id",
        f"{_mismatch(*REPORT)} OR sources <> (SELECT count(*) FROM report_chunks WHERE report_chunks.community_id = reports.community_id)",
    ),
    Check("claims", "forget", "chunk_id", _mismatch(*CLAIM)),
    Check("claim_readings", "forget", "chunk_id", _unreadable("chunk_id", "model")),
    Check("facts", "index again", "chunk_id", _mismatch("chunk_id", "ordinal", "start", "end", *FACT), _OF_CHUNK.format("facts.chunk_id")),
    Check(
        "document_tables",
        "index again",
        "document_id",
        _mismatch("document_id", "ordinal", "name", "headings", "first_row"),
        _OF_TABLE.format("document_tables"),
    ),
    Check("table_rows", "index again", "document_id", _mismatch("document_id", "ordinal", "row", "cells"), _OF_TABLE.format("table_rows")),
    Check("chunk_readers", "forget", "chunk_id", _mismatch("chunk_id", "language", "pack")),
    Check("memory_readings", "forget", "chunk_id", f"{_unreadable('chunk_id')} OR typeof(templates) <> 'integer'"),
    Check(
        "memory_chunks",
        "forget",
        "rowid",
        f"{_mismatch('memory_id', 'chunk_id', 'start', 'end')} OR chunk_id NOT IN (SELECT +chunk_id FROM chunks NOT INDEXED)"
        " OR memory_id NOT IN (SELECT +memory_id FROM memories NOT INDEXED)",
    ),
    Check(  # as of reports
        "memories",
        "forget",
        "memory_id",
        f"{_mismatch(*MEMORY)} OR sources <> (SELECT count(*) FROM memory_chunks WHERE memory_chunks.memory_id = memories.memory_id)",
    ),
    Check("ratings", "forget", "said_key", _mismatch("said_key", "good", "bad", "barred")),
    Check("incidence", "forget", "chunk_id", _mismatch("chunk_id", "grain", "text_hash", "units", "later", "hyperedges", "shares")),
    Check(
        "shared_memories",
        "forget",
        "shared_id",
        "NOT (removed = 1 AND memory_id = '' AND question = '' AND answer = '' AND crc = 0)"
        f" AND (removed <> 0 OR {_mismatch('shared_id', 'memory_id', 'question', 'answer', 'direct')})",
    ),
    Check("released_names", "forget", "name_key", _mismatch("name_key", "kind", "surrogate", "epsilon", "at")),
    Check("llm_results", "forget", "input_hash", _mismatch("input_hash", "model", "reply")),
)


def examine(connection: sqlite3.Connection) -> tuple[Damage, ...]:
    """All damage that can be mended, tables in the order of CHECKS. Raises StoreDamaged for what cannot: a broken structure or schema."""
    if _schema(connection) != _expected_schema():
        raise StoreDamaged("the store's schema is not the one of this release")
    lines = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(1000)")]
    structure = tuple(_line_damage(line) for line in lines if line != "ok")
    return (*structure, *(damage for check in CHECKS for damage in _rows(connection, check)))


def by_table(damages: Iterable[Damage]) -> dict[str, int]:
    """Number of damaged rows by table.

    >>> by_table([Damage("chunks", "c1", None, "forget"), Damage("chunks", "c2", None, "forget")])
    {'chunks': 2}
    """
    counts: dict[str, int] = {}
    for damage in damages:
        counts[damage.table] = counts.get(damage.table, 0) + 1
    return counts


def _line_damage(line: str) -> Damage:
    for kind, pattern in LINES.items():
        if pattern.match(line):
            return Damage(line.rpartition(" ")[2] if kind == "order" else kind, line, None, "rebuild")
    raise StoreDamaged(f"the store's structure is damaged: {line.splitlines()[0]}")


def _rows(connection: sqlite3.Connection, check: Check) -> Iterator[Damage]:
    query = f"SELECT CAST({check.key} AS BLOB), CAST({check.document} AS BLOB) FROM {check.table} WHERE {check.wrong}"
    for key, document in connection.execute(query):
        yield Damage(check.table, _text(key) or "", _text(document), check.remedy)


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode("utf-8", "backslashreplace")


def _schema(connection: sqlite3.Connection) -> frozenset[tuple[str, str, str]]:
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
    return frozenset((row[0], row[1], " ".join(str(row[2]).split())) for row in rows)


@cache
def _expected_schema() -> frozenset[tuple[str, str, str]]:
    with closing(connect(Path(":memory:"))) as connection:
        migrate(connection, Path(":memory:"), migrations_of("edge_node.database"), FUNCTIONS)
        return _schema(connection)
