"""Passages that have given words in them, as they stand: for a person who looks for a word, and needs no model for that."""

from __future__ import annotations

from edge_node.database.schema import Database
from shared.records import ChunkId

MOST_WORDS = 8


def chunks_with(database: Database, words: str, *, limit: int) -> list[ChunkId]:
    """The first passages with all of these words, or parts of words; ASCII letters in either case. Reads every passage."""
    wanted = words.split()[:MOST_WORDS]
    if not wanted:
        return []
    condition = " AND ".join(["instr(lower(text), lower(?)) > 0"] * len(wanted))
    rows = database.rows(f"SELECT chunk_id FROM chunks WHERE {condition} LIMIT ?", [*wanted, limit])
    return [ChunkId(row["chunk_id"]) for row in rows]
