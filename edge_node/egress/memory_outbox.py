"""The memories that the cloud has been told, or is to be told, as they leave, and the sentences that they rest on."""

from __future__ import annotations

import asyncio
import json
import secrets
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from edge_node.database.outbox import Outbox
from edge_node.database.public_ids import PublicIds
from edge_node.database.schema import Database
from edge_node.documents.receipts import MEMORIES_VERSION
from edge_node.documents.store import DocumentStore
from edge_node.graph.mentions import KEYS
from edge_node.memory.records import Support
from edge_node.memory.release import SharedMemory
from edge_node.policy.surrogates import ReleasedName
from shared.records import EdgeId, Evidence, is_withheld
from shared.sqlite import crc
from shared.wire import MAX_MEMORIES, MemoryBody, MemoryDelta

OBEYS = "memories_obey"  # key in meta: of which policy and labels all present ones are

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


class SharedMemories(Outbox[MemoryDelta]):
    """Table shared_memories. A memory that is deleted takes its words with it at once, and leaves a tombstone for the cloud."""

    table, newest, dropped = "shared_memories", MEMORIES_VERSION, "memories_dropped"

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._outside_ids = PublicIds(database)

    def obeys(self) -> str:
        """What the present ones were made under; see ``commit``."""
        return self.database.meta(OBEYS)

    def is_empty(self) -> bool:
        """Nothing is told, or to be told."""
        return self.database.row("SELECT 1 FROM shared_memories WHERE removed = 0 LIMIT 1") is None

    def commit(self, leaving: Iterable[SharedMemory], drawn: Iterable[ReleasedName], *, obeys: str, at: float) -> None:
        """Let these be told, and no others, with the names that are ``drawn`` for them; at: seconds since the epoch.

        A memory that was deleted meanwhile is left out. The version rises by one if, and only if, the cloud has something to learn.
        """
        wanted = {self._outside_ids.of_memory(one.memory_id): one for one in leaving}
        with self.database.write() as tx:
            present = _present(tx, {one.memory_id for one in wanted.values()})
            new = {key: _values(key, one) for key, one in wanted.items() if one.memory_id in present}
            stored = {row["shared_id"]: tuple(row) for row in tx.execute(f"SELECT {_COLUMNS} FROM shared_memories WHERE removed = 0")}
            insert_names(tx, drawn, at=at)
            changed = [values for key, values in new.items() if stored.get(key) != values]
            gone = stored.keys() - new.keys()
            if changed or gone:
                _write(tx, changed, gone)
            tx.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (OBEYS, obeys))

    def delta(self, *, epoch: str, version: int) -> MemoryDelta:
        """What a cloud that knows ``version`` of ``epoch`` must learn; a snapshot if nothing can follow that, or too much is gone.

        Damaged ones are left out: when they are mended, the store gets another epoch.
        """
        with self.database.write() as tx:  # one view of versions and rows
            since = self.since(tx, epoch=epoch, version=version)
            base = since.base
            rows = tx.execute("SELECT * FROM shared_memories WHERE version > ? ORDER BY shared_id", (base,)).fetchall()
            if sum(row["removed"] for row in rows) > MAX_MEMORIES:
                base, rows = 0, tx.execute("SELECT * FROM shared_memories ORDER BY shared_id").fetchall()
        removals = tuple(row["shared_id"] for row in rows if row["removed"]) if base else ()
        return MemoryDelta(
            epoch=since.epoch,
            base_version=base,
            version=since.newest,
            upserts=tuple(_body(row) for row in rows if _is_whole(row)),
            removals=removals,
        )

    def supports(self, shared_ids: Collection[str]) -> tuple[Support, ...]:
        """The sentences that told memories rest on, each once; in the order of their ids, none for an id that is not told."""
        found = defaultdict[str, list[Support]](list)
        query = (
            "SELECT shared_id, chunk_id, start, end FROM shared_memories JOIN memory_chunks USING (memory_id)"
            f" WHERE removed = 0 AND shared_id IN {KEYS} AND memory_chunks.crc = crc(memory_id, chunk_id, start, end)"
        )
        for shared_id, *place in self.database.rows(query, (json.dumps(list(shared_ids)),)):
            found[shared_id].append(Support(*place))
        return tuple(dict.fromkeys(support for shared_id in shared_ids for support in sorted(found[shared_id])))


class Tells(Protocol):
    """What a request that names memories is answered from."""

    async def of(self, shared_ids: Sequence[str], withheld: frozenset[str]) -> list[Evidence]:
        """The sentences of these memories, as if the withheld documents were not there."""


class ToldPassages:
    """Implements Tells: an id that the cloud was not told, or not lately, is of nothing."""

    def __init__(self, edge: EdgeId, told: SharedMemories, documents: DocumentStore) -> None:
        self._edge = edge
        self._told = told
        self._documents = documents

    async def of(self, shared_ids: Sequence[str], withheld: frozenset[str]) -> list[Evidence]:
        """In the order of the ids: no question decides anything of it."""
        return await asyncio.to_thread(self._sentences, shared_ids, withheld) if shared_ids else []

    def _sentences(self, shared_ids: Sequence[str], withheld: frozenset[str]) -> list[Evidence]:
        supports = self._told.supports(shared_ids)
        chunks = self._documents.chunks(sorted({support.chunk_id for support in supports})) if supports else {}
        found = list[Evidence]()
        for support in supports:
            if support.chunk_id not in chunks:
                continue
            chunk, document, title = chunks[support.chunk_id]
            text = chunk.text[support.start : support.end]
            if is_withheld(chunk.chunk_id, withheld) or not text.strip():
                continue
            span = chunk.start + support.start, chunk.start + support.start + len(text)
            found.append(
                Evidence(self._edge, chunk.document_id, document, chunk.chunk_id, span, text, 0.0, title=title, places=chunk.places)
            )
        return found


_COLUMNS = "shared_id, memory_id, question, answer, direct, crc"


def _present(tx: sqlite3.Connection, memory_ids: Collection[str]) -> frozenset[str]:
    rows = tx.execute(f"SELECT memory_id FROM memories WHERE memory_id IN {KEYS}", (json.dumps(list(memory_ids)),))
    return frozenset(row["memory_id"] for row in rows)


def _values(shared_id: str, one: SharedMemory) -> tuple[str | int, ...]:
    fields = (shared_id, one.memory_id, one.question, one.answer, int(one.direct))
    return (*fields, crc(*fields))


def _write(tx: sqlite3.Connection, changed: Iterable[tuple[str | int, ...]], gone: Collection[str]) -> None:
    version = SharedMemories.next_version(tx)
    tx.execute(
        "UPDATE shared_memories SET memory_id = '', question = '', answer = '', removed = 1, crc = 0, version = ?"
        f" WHERE removed = 0 AND shared_id IN {KEYS}",
        (version, json.dumps(list(gone))),
    )
    tx.executemany(
        "INSERT OR REPLACE INTO shared_memories (shared_id, memory_id, question, answer, direct, version, crc)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(*values[:5], version, values[5]) for values in changed],
    )


def _is_whole(row: sqlite3.Row) -> bool:
    fields = (row["shared_id"], row["memory_id"], row["question"], row["answer"], row["direct"])
    return not row["removed"] and crc(*fields) == row["crc"]


def _body(row: sqlite3.Row) -> MemoryBody:
    return MemoryBody(memory_id=row["shared_id"], question=row["question"], answer=row["answer"], direct=bool(row["direct"]))
