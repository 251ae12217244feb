"""Vectors by kind and key: float32 blobs, each with its checksum and the hash of the text that was embedded."""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias
from zlib import crc32

import numpy as np

from edge_node.database.schema import Database
from shared.errors import ModelReplyError
from shared.ports import Embedder, FloatArray, embed_questions
from shared.sqlite import crc

log = logging.getLogger("dgrag.edge.store")
GraphKind: TypeAlias = Literal["entity", "relation"]
VectorKind: TypeAlias = Literal["chunk"] | GraphKind

embed_log = logging.getLogger("dgrag.edge.embed")
Embed: TypeAlias = Callable[[Sequence[str]], Awaitable[FloatArray]]
BATCH = 32  # a question waits for one batch at most, at the speed of larger ones


@dataclass(frozen=True, slots=True)
class VectorRows:
    """Vectors of one kind: row i of ``vectors`` (n, d) belongs to ``keys[i]``."""

    keys: tuple[str, ...]
    text_hashes: tuple[str, ...]
    vectors: FloatArray


class VectorStore:
    """Table vectors."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._retired = False

    def retire(self) -> None:
        """Read no vectors any more, as the store gets those of another model."""
        self._retired = True

    def load(self, kind: VectorKind, dimensions: int) -> VectorRows:
        """All vectors of a kind, each checked; one that is damaged or of another dimension is left out, and made again by a settle."""
        count = self._database.row("SELECT count(*) AS n FROM vectors WHERE kind = ?", (kind,))
        matrix = np.empty((count["n"] if count else 0, dimensions), dtype="<f4")
        keys: list[str] = []
        hashes: list[str] = []
        size, filled, damaged = 4 * dimensions, 0, 0
        for key, text_hash, blob, checksum in self._database.stream(
            "SELECT key, text_hash, vector, crc FROM vectors WHERE kind = ?", (kind,)
        ):
            if len(blob) != size or crc32(blob, crc32(f"{key}\x1f".encode("utf-8", "surrogatepass"))) != checksum or filled == len(matrix):
                damaged += 1
                continue
            matrix[filled] = np.frombuffer(blob, dtype="<f4")
            filled += 1
            keys.append(key)
            hashes.append(text_hash)
        if damaged:
            log.error("%d damaged %s vectors are left out", damaged, kind)
        return VectorRows(tuple(keys), tuple(hashes), matrix[:filled].astype(np.float32, copy=False))

    def some(self, kind: VectorKind, keys: Collection[str], dimensions: int) -> VectorRows:
        """Those of the keys that have an undamaged vector of these dimensions, by key."""
        query = "SELECT key, text_hash, vector, crc FROM vectors WHERE kind = ? AND key IN (SELECT value FROM json_each(?)) ORDER BY key"
        rows = [
            row
            for row in self._database.rows(query, (kind, json.dumps(list(keys))))
            if crc(row["key"], row["vector"]) == row["crc"] and len(row["vector"]) == 4 * dimensions
        ]
        rows = [] if self._retired else rows
        blob = b"".join(row["vector"] for row in rows)
        vectors = np.frombuffer(blob, dtype="<f4").reshape(len(rows), dimensions).astype(np.float32)
        return VectorRows(tuple(row["key"] for row in rows), tuple(row["text_hash"] for row in rows), vectors)

    def all_hashes(self, kind: VectorKind) -> dict[str, str]:
        """The text hash of every key of a kind."""
        return {row["key"]: row["text_hash"] for row in self._database.stream("SELECT key, text_hash FROM vectors WHERE kind = ?", (kind,))}

    def hashes(self, kind: VectorKind, keys: Collection[str]) -> dict[str, str]:
        """The text hash of each of the keys that has a vector."""
        query = "SELECT key, text_hash FROM vectors WHERE kind = ? AND key IN (SELECT value FROM json_each(?))"
        return {row["key"]: row["text_hash"] for row in self._database.rows(query, (kind, json.dumps(list(keys))))}

    def clear(self, kind: VectorKind) -> None:
        """Delete all vectors of a kind, which nobody reads."""
        if self._database.row("SELECT 1 FROM vectors WHERE kind = ? LIMIT 1", (kind,)) is not None:
            with self._database.write() as tx:
                tx.execute("DELETE FROM vectors WHERE kind = ?", (kind,))

    def save(self, kind: VectorKind, rows: VectorRows, *, drop: Sequence[str] = ()) -> None:
        """Insert or replace some, and delete others; unknown keys are ignored."""
        with self._database.write() as tx:
            if self._retired:
                return
            tx.execute("DELETE FROM vectors WHERE kind = ? AND key IN (SELECT value FROM json_each(?))", (kind, json.dumps(list(drop))))
            insert_vectors(tx, kind, rows)


def insert_vectors(tx: sqlite3.Connection, kind: VectorKind, rows: VectorRows) -> None:
    """Insert or replace, part of the caller's transaction."""
    tx.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)", _values(kind, rows))


def _values(kind: VectorKind, rows: VectorRows) -> Iterable[tuple[str, str, str, bytes, int]]:
    for key, text_hash, vector in zip(rows.keys, rows.text_hashes, rows.vectors, strict=True):
        blob = vector.astype("<f4").tobytes()
        yield kind, key, text_hash, blob, crc(key, blob)


def text_hash(text: str) -> str:
    """Identity of an embedded text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


async def embed_texts(
    embedder: Embedder,
    texts: Mapping[str, str],
    on_batch: Callable[[int], None] | None = None,
    *,
    batch: int = BATCH,
    questions: bool = False,
) -> tuple[list[str], FloatArray]:
    """Return (keys, (n, d) unit rows) of those of ``texts`` (key -> text) that the model can embed; the others are counted in the log.

    ``on_batch`` is told how many are done; ``batch``: texts that are embedded at a time; ``questions``: they are.
    Raises ModelTimeout and ModelUnavailable.
    """
    embed = partial(embed_questions, embedder) if questions else embedder.embed
    waiting = list(texts)
    keys: list[str] = []
    rows = [np.empty((0, embedder.dimensions), dtype=np.float32)]
    for start in range(0, len(waiting), batch):
        if on_batch is not None:
            on_batch(start)
        for group, vectors in await _embedded(embed, texts, waiting[start : start + batch]):
            keys += group
            rows.append(vectors)
    if len(keys) < len(waiting):
        embed_log.error("%d of %d texts have no vector: the embedding model cannot embed them", len(waiting) - len(keys), len(waiting))
    return keys, np.concatenate(rows)


async def _embedded(embed: Embed, texts: Mapping[str, str], keys: Sequence[str]) -> list[tuple[Sequence[str], FloatArray]]:
    """All at once; where that fails, by halves, until what cannot be embedded stands alone and is left out."""
    try:
        return [(keys, await embed([texts[key] for key in keys]))]
    except ModelReplyError:
        if len(keys) == 1:
            return []
    half = len(keys) // 2
    return [*await _embedded(embed, texts, keys[:half]), *await _embedded(embed, texts, keys[half:])]
