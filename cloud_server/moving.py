"""A cloud outgrows its machine: all that its files hold goes into the store that several clouds share, once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from cloud_server.database import opening
from cloud_server.database.opening import SqliteDatabase
from cloud_server.database.port import SharedDatabase, Transaction
from cloud_server.registry.credentials import IDENTITY, KEY_FILE, NONCES
from cloud_server.registry.nonces import NonceStore
from shared.errors import Conflict, StoreError
from shared.http import keyring
from shared.http.keyring import KeyRing
from shared.identity import load_identity
from shared.sqlite import RAISED, store_error

BATCH = 1000  # rows that stand in memory
IN_ORDER = frozenset({"syncs", "decisions"})  # their rows are told in the order in which they came
TABLES = {  # of each file; an edge comes before what is its own
    opening.FILE: (
        *("meta", "edges", "expelled", "retired_epochs", "summaries", "memories", "invites"),
        *("edge_keys", "ledger_heads", "syncs", "reliability", "decisions", "changes"),
    ),
    NONCES: ("nonces", "forgotten"),
    keyring.FILE: ("keys",),
}


def move(state_dir: Path, database: SharedDatabase) -> dict[str, int]:
    """Copy the files of a cloud that does not run, in one transaction; returns how many rows of each table there are now.

    The files stay as they are. Raises Conflict where the store holds anything, StoreError for a file that is in use or damaged,
    FileNotFoundError where there is no cloud, and Unstorable.
    """
    identity = load_identity(state_dir / KEY_FILE)
    for made in (SqliteDatabase(state_dir / opening.FILE), NonceStore(state_dir / NONCES), KeyRing(state_dir)):
        made.close()  # it is of this release now
    moved: dict[str, int] = {}
    with database.write() as tx:
        _require_empty(tx)
        tx.execute("DELETE FROM forgotten")
        for file, tables in TABLES.items():
            with alone(state_dir / file) as source:
                moved |= {table: _copied(source, tx, table) for table in tables}
        tx.execute("INSERT INTO meta VALUES (?, ?)", (IDENTITY, identity.key_id))
    return moved


def _require_empty(tx: Transaction) -> None:
    tables = [table for tables in TABLES.values() for table in tables if table != "forgotten"]
    if taken := [table for table in tables if tx.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone()]:
        step = "move into a new database, or drop the schema dgrag of this one if nobody needs it"
        raise Conflict(f"the store in PostgreSQL is not empty: it has {', '.join(taken)}", next_step=step)


@contextmanager
def alone(path: Path) -> Iterator[sqlite3.Connection]:
    """A file that nobody else has open, nor can open meanwhile. Raises StoreError for one that is in use, and for a damaged one."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as connection:
        try:
            connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            yield connection
        except RAISED as error:
            if told := store_error(path, error):
                raise told from error
            raise


def _copied(source: sqlite3.Connection, tx: Transaction, table: str) -> int:
    """Rows of a table, which are as many afterwards as in the file. Raises StoreError where they are not."""
    found = source.execute(f"SELECT * FROM {table}{' ORDER BY rowid' if table in IN_ORDER else ''}")
    columns = [column[0] for column in found.description]
    insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    while rows := found.fetchmany(BATCH):
        tx.executemany(insert, rows)
    count = f"SELECT count(*) FROM {table}"
    (there,), (here,) = source.execute(count).fetchone(), tx.execute(count).fetchone()
    if there != here:
        raise StoreError(f"{here} of {there} rows of {table} have arrived, so nothing was moved", next_step="report it with the log")
    return int(here)
