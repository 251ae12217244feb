"""Vectors of the sentences of each chunk, and of its pieces: what KET-RAG and FD-RAG keep beside the chunks, on disk."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edge_node.database.schema import Database
from shared.sqlite import crc

log = logging.getLogger("dgrag.edge.store")
SELECT = "SELECT chunk_id, text_hash, splits, vectors, crc FROM chunk_parts"


@dataclass(frozen=True, slots=True, eq=False)
class ChunkParts:
    """Rows of ``vectors`` (m, d), int16: the chunk's sentences, and behind them its 2^``splits`` pieces where ``splits`` > 0."""

    chunk_id: str
    text_hash: str
    splits: int
    vectors: NDArray[np.int16]


class ChunkPartStore:
    """Table chunk_parts."""

    def __init__(self, database: Database, dimensions: int) -> None:
        self._database = database
        self._dimensions = dimensions

    def all(self) -> Iterator[ChunkParts]:
        """Every chunk's. What is damaged, or of other dimensions, is left out, and made again by who looks for it."""
        yield from self._whole(self._database.stream(SELECT))

    def some(self, chunk_ids: Collection[str]) -> dict[str, ChunkParts]:
        """As ``all``, of some chunks, by their ids."""
        query = f"{SELECT} WHERE chunk_id IN (SELECT value FROM json_each(?))"
        return {parts.chunk_id: parts for parts in self._whole(self._database.rows(query, (json.dumps(list(chunk_ids)),)))}

    def _whole(self, rows: Iterable[sqlite3.Row]) -> Iterator[ChunkParts]:
        for chunk_id, text_hash, splits, blob, checksum in rows:
            if crc(chunk_id, text_hash, splits, blob) != checksum or len(blob) % (2 * self._dimensions):
                log.error("the sentence vectors of chunk %s are damaged and left out", chunk_id)
                continue
            yield ChunkParts(chunk_id, text_hash, splits, np.frombuffer(blob, dtype="<i2").reshape(-1, self._dimensions).astype(np.int16))

    def save(self, parts: Iterable[ChunkParts]) -> None:
        """Insert or replace; those whose chunk was deleted meanwhile are left out."""
        with self._database.write() as tx:
            rows = {part.chunk_id: part for part in parts}
            query = "SELECT chunk_id FROM chunks WHERE chunk_id IN (SELECT value FROM json_each(?))"
            insert_parts(tx, [rows[row[0]] for row in tx.execute(query, (json.dumps(list(rows)),)).fetchall()])


def insert_parts(tx: sqlite3.Connection, parts: Iterable[ChunkParts]) -> None:
    """Insert or replace, part of the caller's transaction."""
    tx.executemany("INSERT OR REPLACE INTO chunk_parts VALUES (?, ?, ?, ?, ?)", map(_values, parts))


def _values(part: ChunkParts) -> tuple[str | int | bytes, ...]:
    fields = (part.chunk_id, part.text_hash, part.splits, part.vectors.astype("<i2").tobytes())
    return (*fields, crc(*fields))
