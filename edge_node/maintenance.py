"""Mends what can be made again: derived rows go, and their document is indexed again from its own bytes, or the graph is settled again."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

from edge_node.database.backup import FILE, PARTS, disk_error, sync_to_disk
from edge_node.database.check import CHECKS, Damage, by_table, examine
from edge_node.database.schema import Database
from edge_node.database.vectors import VectorRows, insert_vectors, text_hash
from edge_node.documents.jobs import open_job
from edge_node.egress.ledger import renew_history
from edge_node.memory.store import drop_incidence, drop_vectors
from shared.errors import Conflict, NotFound, StoreDamaged, StoreError
from shared.ports import Clock, Embedder, SystemClock
from shared.records import DocumentId

log = logging.getLogger("dgrag.edge.store")
UNORDERED = frozenset(  # trees by key, and nothing hangs on them
    {
        "vectors", "aliases", "subgraphs", "summaries", "descriptions", "chunk_parts", "core_readings", "tree_nodes", "llm_results",
        "receipts", "report_uppers", "claim_readings", "facts", "memory_readings", "ratings", "incidence", "shared_memories",
        "chunk_readers", "released_names", "document_tables", "table_rows",
    }
)  # fmt: skip
TOLD = frozenset({"subgraphs", "summaries", "shared_memories"})  # the cloud has copies of them

BATCH = 256
UNDER_WAY, LAST = "reembedding", "reembedded_to"  # keys in meta: the model it goes to, and the last chunk that is done
EMBEDDER, MADE_BY = "embedder", "embedder_made_by"  # keys in meta: which model made the vectors, and how it is loaded
COMMAND = "dgrag edge reembed"


def restore(backup: Path, folder: Path) -> Path | None:
    """Make ``folder``, which nobody uses, the store of ``backup``; returns where the former store now is, if there was one.

    The store's epoch is new, so that the cloud takes all of its summaries anew. Killed half-way, the folder holds the former store,
    or one that says at start that commits are missing; restoring again is then the way out. Raises NotFound, StoreError, DiskFailed.
    """
    if not backup.is_file():
        raise NotFound("backup", str(backup))
    fresh = folder / "restore.part"
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        shutil.copyfile(backup, fresh / FILE)
        _check_backup(backup, fresh / FILE)
        sync_to_disk(fresh / FILE)
        aside = _set_aside(folder)
        (fresh / FILE).replace(folder / FILE)
        (folder / "edge.seq").unlink(missing_ok=True)
        sync_to_disk(folder)
        return aside
    except OSError as error:
        raise disk_error(folder, error) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def require_empty(folder: Path) -> None:
    """Raises Conflict where a store is already."""
    if (folder / FILE).exists():
        step = "give another folder, or --force, which moves that store aside"
        raise Conflict(f"there is a store in {folder}", next_step=step)


def accept_loss(folder: Path) -> None:
    """Go on with what is there of a store whose last commits are lost, as a store with a new history. Raises as ``Database``."""
    (folder / "edge.seq").unlink(missing_ok=True)
    _renew(folder / FILE)


def _check_backup(backup: Path, copy: Path) -> None:
    try:
        _renew(copy)
    except StoreDamaged as error:
        raise StoreDamaged(
            f"{backup} is no usable backup ({error.message})", next_step="give another one; the store is as it was"
        ) from error


def _renew(path: Path) -> None:
    """Check that a file is a store, bring it up to date, and start a new history of versions."""
    database = Database(path)
    try:
        with database.write() as tx:
            examine(tx)
            renew_history(tx, at=SystemClock().now())
    finally:
        database.close()


def _set_aside(folder: Path) -> Path | None:
    """Link the former file away and take its WAL from it, so that ``edge.db`` is there at any moment, and never with a foreign WAL."""
    if not (folder / FILE).exists():
        return None
    aside = folder / f"replaced-{secrets.token_hex(4)}"
    aside.mkdir()
    os.link(folder / FILE, aside / FILE)
    for name in PARTS[1:]:
        if (folder / name).exists():
            (folder / name).replace(aside / name)
    sync_to_disk(aside)
    sync_to_disk(folder)
    return aside


def open_store(path: Path, clock: Clock) -> Database:
    """Open a store, and mend what is damaged. Raises as ``Database``, and StoreDamaged for what cannot be mended."""
    database = Database(path)
    try:
        with database.write() as tx:
            damages = mend(tx, now=clock.now())
    except BaseException:
        database.close()
        raise
    if damages:
        log.error("damaged rows were found and mended: %s", by_table(damages))
    return database


def mend(tx: sqlite3.Connection, *, now: float) -> tuple[Damage, ...]:
    """Part of the caller's transaction; returns what was found. Raises StoreDamaged when something stays wrong.

    A document that is damaged itself is parked as ``damaged``; its good chunks go on being served.
    """
    found = examine(tx)
    if not found:
        return ()
    try:
        if any(damage.table == "indexes" for damage in found):
            tx.execute("REINDEX")
            found = (*found, *examine(tx))  # what was looked up in a damaged index may have been another row's
        for table in dict.fromkeys(check.table for check in CHECKS):
            if any(damage.table == table for damage in found):
                _remove(tx, table)
        _remove(tx, "changes")  # to which the triggers have written the key of each row removed
    except sqlite3.IntegrityError as error:
        raise StoreDamaged("rows of the store contradict each other") from error
    _park(tx, now=now)
    _index_again(tx, found, now=now)
    if any(damage.remedy in {"settle again", "index again"} or damage.table in UNORDERED for damage in found):
        resettle(tx)
    if any(damage.table in TOLD for damage in found):  # a tombstone may be lost: the cloud must compare all it has
        tx.execute("DELETE FROM summaries WHERE summary_id NOT IN (SELECT subgraph_id FROM subgraphs)")
        tx.execute("UPDATE meta SET value = ? WHERE key = 'epoch'", (secrets.token_hex(8),))
    left = [damage for damage in examine(tx) if damage.remedy != "park"]
    if left:
        raise StoreDamaged(f"damaged rows cannot be mended: {by_table(left)}")
    return found


def resettle(tx: sqlite3.Connection) -> None:
    """Let the next settle look at everything, also at what is mentioned no more; part of the caller's transaction."""
    tx.execute(
        "INSERT INTO changes (source, target, removed) SELECT key, '', 1 FROM"
        " (SELECT value AS key FROM subgraphs, json_each(entities) UNION SELECT key FROM aliases)"
        " WHERE key NOT IN (SELECT key FROM entity_mentions)"
    )
    tx.execute("INSERT INTO changes (source, target, removed) SELECT DISTINCT key, '', 0 FROM entity_mentions")
    tx.execute(
        "INSERT INTO changes (source, target, removed) SELECT DISTINCT min(source, target), max(source, target), 0 FROM relation_mentions"
    )


def _remove(tx: sqlite3.Connection, table: str) -> None:
    """Delete damaged rows. A tree by key is written anew: a damaged key stands where no search finds it."""
    wrong = " OR ".join(f"({check.wrong})" for check in CHECKS if check.table == table)
    if table == "documents":
        return
    if table not in UNORDERED:
        tx.execute(f"DELETE FROM {table} WHERE {wrong}")
        return
    tx.execute(f"CREATE TEMP TABLE kept AS SELECT * FROM {table} WHERE NOT ({wrong})")
    tx.execute(f"DELETE FROM {table}")
    tx.execute(f"INSERT OR REPLACE INTO {table} SELECT * FROM kept")
    tx.execute("DROP TABLE kept")


def _park(tx: sqlite3.Connection, *, now: float) -> None:
    [wrong] = [check.wrong for check in CHECKS if check.table == "documents"]
    reason, step = "its bytes or its name are damaged on disk", "send it again; its undamaged passages are still served"
    tx.execute(
        f"UPDATE jobs SET ended_at = ? WHERE ended_at IS NULL AND document_id IN (SELECT document_id FROM documents WHERE {wrong})", (now,)
    )
    tx.execute(f"UPDATE documents SET status = 'parked', code = 'damaged', reason = ?, next_step = ? WHERE {wrong}", (reason, step))


def _index_again(tx: sqlite3.Connection, found: Iterable[Damage], *, now: float) -> None:
    """Queue the indexed documents that have lost something; all of them where it is not known whose it was."""
    lost = [damage for damage in found if damage.remedy == "index again"]
    tx.execute("DELETE FROM vectors WHERE kind = 'chunk' AND key NOT IN (SELECT chunk_id FROM chunks)")
    bare = "SELECT document_id FROM chunks WHERE chunk_id NOT IN (SELECT key FROM vectors WHERE kind = 'chunk')"
    again = {damage.document_id for damage in lost if damage.document_id} | {row[0] for row in tx.execute(bare)}
    if any(damage.document_id is None and damage.table != "vectors" for damage in lost):
        again = {row[0] for row in tx.execute("SELECT document_id FROM documents")}
    for document_id in sorted(again):
        tx.execute(
            "UPDATE jobs SET committed = 0 WHERE document_id = ? AND ended_at IS NULL", (document_id,)
        )  # it has lost what it committed
        if tx.execute("SELECT 1 FROM documents WHERE document_id = ? AND status = 'indexed'", (document_id,)).fetchone():
            open_job(tx, DocumentId(document_id), now)


def former_embedder(database: Database, fingerprint: str) -> str:
    """The fingerprint of another model that has made the store's vectors; "": this one has, or there are none yet, and it is noted.

    Raises StoreError while ``reembed`` is half done.
    """
    known, target = database.meta(EMBEDDER), database.meta(UNDER_WAY)
    if target:
        raise StoreError("a change of the embedding model is half done", next_step=f"finish it with `{COMMAND}`, with the model {target}")
    if not known:
        database.set_meta(EMBEDDER, fingerprint)
    return "" if known == fingerprint else known


def check_fingerprint(database: Database, fingerprint: str) -> None:
    """One store, one embedding space: raises StoreError for another model than the store's, and as ``former_embedder``."""
    if known := former_embedder(database, fingerprint):
        raise StoreError(
            f"this store was made with the embedding model {known}, not with {fingerprint}",
            next_step=f"start with the former model, or make all vectors again with `{COMMAND}`",
        )


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
        tx.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (EMBEDDER, target))
        tx.execute("DELETE FROM meta WHERE key IN (?, ?)", (UNDER_WAY, LAST))


def _count(database: Database, query: str, *arguments: str) -> int:
    row = database.row(query, arguments)
    return int(row[0]) if row else 0
