"""Tables that the cloud keeps a replica of: each row has a version, and what is removed leaves a tombstone until the cloud has it."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from edge_node.database.schema import Database

Delta = TypeVar("Delta")


@dataclass(frozen=True, slots=True)
class Since:
    """What a delta starts from: rows above version ``base`` of ``epoch`` up to ``newest``; with base 0 it is a snapshot."""

    epoch: str
    base: int
    newest: int


class Outbox(ABC, Generic[Delta]):
    """One such table. Its columns ``version`` and ``removed`` belong to the outbox; what else a row says belongs to the subclass."""

    table: ClassVar[str]
    newest: ClassVar[str]  # key in meta: the newest version
    dropped: ClassVar[str]  # key in meta: the version up to which tombstones are gone

    def __init__(self, database: Database) -> None:
        self.database = database

    def version(self) -> int:
        """The newest version."""
        return int(self.database.meta(self.newest, "0"))

    def epoch(self) -> str:
        """The name of this store's history of versions, the same for all outboxes."""
        return self.database.meta("epoch")

    @abstractmethod
    def delta(self, *, epoch: str, version: int) -> Delta:
        """What a cloud that knows ``version`` of ``epoch`` must learn; a snapshot if nothing can follow that."""

    def since(self, tx: sqlite3.Connection, *, epoch: str, version: int) -> Since:
        """Where a delta starts for a cloud that knows ``version`` of ``epoch``: a snapshot if nothing can follow that."""
        meta = {row["key"]: row["value"] for row in tx.execute("SELECT key, value FROM meta")}
        newest = int(meta.get(self.newest, 0))
        follows = epoch == meta["epoch"] and int(meta.get(self.dropped, 0)) <= version <= newest
        return Since(meta["epoch"], version if follows else 0, newest)

    @classmethod
    def next_version(cls, tx: sqlite3.Connection) -> int:
        """Raise the newest version by one, part of the transaction that writes rows with it."""
        version = int(tx.execute("SELECT value FROM meta WHERE key = ?", (cls.newest,)).fetchone()["value"]) + 1
        tx.execute("UPDATE meta SET value = ? WHERE key = ?", (str(version), cls.newest))
        return version

    def drop_tombstones(self, *, version: int) -> None:
        """Forget what was removed up to ``version``, which the cloud has acknowledged; a cloud that knows less gets a snapshot."""
        if self.database.row(f"SELECT 1 FROM {self.table} WHERE removed = 1 AND version <= ?", (version,)) is not None:
            with self.database.write() as tx:
                tx.execute(f"DELETE FROM {self.table} WHERE removed = 1 AND version <= ?", (version,))
                tx.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (self.dropped, str(version)))
