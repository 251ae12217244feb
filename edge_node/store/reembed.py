"""Another embedding model for a store: all vectors are made again, a batch a commit, and a kill costs one batch (R12)."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable

from edge_node.store.database import Database
from edge_node.store.incidence import drop_incidence
from edge_node.store.memories import drop_vectors
from edge_node.store.mend import resettle
from edge_node.store.passages import text_hash
from edge_node.store.vectors import VectorRows, insert_vectors
from shared.errors import StoreError
from shared.ports import Embedder

BATCH = 256
UNDER_WAY, LAST = "reembedding", "reembedded_to"  # keys in meta: the model it goes to, and the last chunk that is done
COMMAND = "dgrag edge reembed"


def check_fingerprint(database: Database, fingerprint: str) -> None:
    """One store, one embedding space: remember it at first; raise StoreError for another later, or while it is being changed."""
    known, target = database.meta("embedder"), database.meta(UNDER_WAY)
    if target:
        raise StoreError("a change of the embedding model is half done", next_step=f"finish it with `{COMMAND}`, with the model {target}")
    if known and known != fingerprint:
        raise StoreError(
            f"this store was made with the embedding model {known}, not with {fingerprint}",
            next_step=f"start with the former model, or make all vectors again with `{COMMAND}`",
        )
    if not known:
        database.set_meta("embedder", fingerprint)


async def reembed(database: Database, embedder: Embedder, progress: Callable[[int, int], None]) -> int:
    """Make the vectors of all chunks with ``embedder``; those of the graph follow at the next settle. Returns how many were made now."""
    target = embedder.fingerprint
    if database.meta("embedder") == target and not database.meta(UNDER_WAY):
        return 0
    if database.meta(UNDER_WAY) != target:
        await asyncio.to_thread(_begin, database, target)
    made, total = 0, _count(database, "SELECT count(*) FROM chunks")
    while rows := await asyncio.to_thread(_next, database):
        progress(total - _count(database, "SELECT count(*) FROM chunks WHERE chunk_id > ?", database.meta(LAST)), total)
        keys, texts = tuple(row["chunk_id"] for row in rows), [row["text"] for row in rows]
        vectors = VectorRows(keys, tuple(map(text_hash, texts)), await embedder.embed(texts))
        await asyncio.to_thread(_save, database, vectors)
        made += len(rows)
    await asyncio.to_thread(_finish, database, target)
    progress(total, total)
    return made


def _begin(database: Database, target: str) -> None:
    with database.write() as tx:
        for table in ("vectors", "chunk_parts", "tree_planes", "tree_nodes"):
            tx.execute(f"DELETE FROM {table}")
        drop_vectors(tx)
        drop_incidence(tx)
        tx.execute("DELETE FROM aliases")  # whether two names mean one thing was judged by vectors too
        resettle(tx)
        tx.execute("INSERT OR REPLACE INTO meta VALUES (?, ?), (?, '')", (UNDER_WAY, target, LAST))


def _next(database: Database) -> list[sqlite3.Row]:
    query = "SELECT chunk_id, text FROM chunks WHERE chunk_id > ? ORDER BY chunk_id LIMIT ?"
    return database.rows(query, (database.meta(LAST), BATCH))


def _save(database: Database, rows: VectorRows) -> None:
    with database.write() as tx:
        insert_vectors(tx, "chunk", rows)
        tx.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (LAST, rows.keys[-1]))


def _finish(database: Database, target: str) -> None:
    with database.write() as tx:
        tx.execute("INSERT OR REPLACE INTO meta VALUES ('embedder', ?)", (target,))
        tx.execute("DELETE FROM meta WHERE key IN (?, ?)", (UNDER_WAY, LAST))


def _count(database: Database, query: str, *arguments: str) -> int:
    row = database.row(query, arguments)
    return int(row[0]) if row else 0
