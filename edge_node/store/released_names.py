"""The ledger of epsilon on disk: what is told in the place of each name, for ever (FD-RAG Prop. 2; goal P3)."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterable

from edge_node.policy.surrogates import ReleasedName
from edge_node.store.database import Database
from shared.checksum import crc

DRAWN_WITH = "names_secret"  # key in meta: a secret, kept for ever; another one would draw every name again


class ReleasedNames:
    """Table released_names, which is only ever added to: another draw would tell more of a name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def secret(self) -> bytes:
        """What names are drawn with; made at its first use."""
        if not self._database.meta(DRAWN_WITH):
            with self._database.write() as tx:
                tx.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (DRAWN_WITH, secrets.token_hex(32)))
        return self._database.meta(DRAWN_WITH).encode()

    def all(self) -> dict[str, ReleasedName]:
        """All of them, by key. Damaged ones are left out: drawn again with the same epsilon they are the same."""
        rows = self._database.stream("SELECT name_key, kind, surrogate, epsilon, at, crc FROM released_names")
        return {row["name_key"]: ReleasedName(*row[:4]) for row in rows if crc(*row[:5]) == row["crc"]}


def insert_names(tx: sqlite3.Connection, names: Iterable[ReleasedName], *, at: float) -> None:
    """Note draws, part of the transaction that writes what they stand in; at: seconds since the epoch. What stands there stays."""
    fields = [(name.name_key, name.kind, name.surrogate, name.epsilon, at) for name in names]
    tx.executemany("INSERT OR IGNORE INTO released_names VALUES (?, ?, ?, ?, ?, ?)", [(*one, crc(*one)) for one in fields])
