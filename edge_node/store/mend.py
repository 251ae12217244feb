"""Mends what can be made again: derived rows go, and their document is indexed again from its own bytes, or the graph is settled again."""

from __future__ import annotations

import logging
import secrets
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from edge_node.store.check import CHECKS, Damage, by_table, examine
from edge_node.store.database import Database
from edge_node.store.jobs import open_job
from shared.errors import StoreDamaged
from shared.ports import Clock
from shared.records import DocumentId

log = logging.getLogger("dgrag.edge.store")
UNORDERED = frozenset(  # trees by key, and nothing hangs on them
    {
        "vectors", "aliases", "subgraphs", "summaries", "descriptions", "chunk_parts", "core_readings", "tree_nodes", "llm_results",
        "receipts", "report_uppers", "claim_readings", "facts", "memory_readings", "ratings", "incidence", "shared_memories",
        "released_names",
    }
)  # fmt: skip
TOLD = frozenset({"subgraphs", "summaries", "shared_memories"})  # the cloud has copies of them


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
