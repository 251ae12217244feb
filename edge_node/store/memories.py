"""Facts and memories on disk. A chunk that is deleted takes its facts with it, and every memory that rests on one of its sentences."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edge_node.graph.facts import Fact
from edge_node.memory.records import Memory, Support
from edge_node.store.database import Database
from edge_node.store.mentions import KEYS
from shared.checksum import crc

log = logging.getLogger("dgrag.edge.store")
NO_VECTOR = np.empty(0, dtype=np.int16)


@dataclass(frozen=True, slots=True, eq=False)
class StoredMemory:
    """A memory, and what is kept beside it. ``vector`` (d,), int16, of the question; (0,): it is to be made again."""

    memory: Memory
    vector: NDArray[np.int16]
    model: str = ""  # that wrote it; "": none
    doubtful: bool = False  # a later chunk stands nearer to the question than its own


class MemoryStore:
    """Tables facts, memory_readings, memories and memory_chunks."""

    def __init__(self, database: Database, dimensions: int) -> None:
        self._database = database
        self._dimensions = dimensions

    # ------------------------------------------------------------ facts

    def facts_of(self, chunk_ids: Collection[str]) -> tuple[Fact, ...]:
        """The facts of some chunks, by chunk and in their order. Damaged ones are left out."""
        found = list[Fact]()
        query = f"SELECT * FROM facts WHERE chunk_id IN {KEYS} ORDER BY chunk_id, ordinal"
        for row in self._database.rows(query, (json.dumps(list(chunk_ids)),)):
            *fields, checksum = row
            if crc(*fields) == checksum:
                found.append(_fact(row))
            else:
                log.error("a damaged fact is left out")
        return tuple(found)

    def save_facts(self, chunk_ids: Collection[str], facts: Iterable[Fact]) -> None:
        """Commit all facts of some chunks, as ``insert_facts``; those of a chunk that is gone are left out."""
        with self._database.write() as tx:
            present = _present(tx, chunk_ids)
            insert_facts(tx, present, [fact for fact in facts if fact.chunk_id in present])

    def readings(self) -> dict[str, int]:
        """The chunks whose facts are known, each with the version of the templates that made memories of them; 0: none has."""
        return {row["chunk_id"]: row["templates"] for row in self._database.stream("SELECT chunk_id, templates FROM memory_readings")}

    # ------------------------------------------------------------ memories

    def all(self) -> tuple[StoredMemory, ...]:
        """Every memory, by id. Damaged ones are left out; a vector of other dimensions is to be made again."""
        supports = self._supports()
        found = list[StoredMemory]()
        for row in self._database.stream("SELECT * FROM memories ORDER BY memory_id"):
            *fields, checksum = row
            told = tuple(sorted(supports.get(row["memory_id"], ())))
            if crc(*fields) == checksum and len(told) == row["sources"]:
                found.append(_stored(row, told, self._dimensions))
            else:
                log.error("a damaged memory is left out")
        return tuple(found)

    def commit(
        self, new: Iterable[StoredMemory], gone: Collection[str] = (), *, read: Collection[str] = (), templates: int = 0
    ) -> frozenset[str]:
        """Write memories and delete those whose ids are ``gone``, at once; returns the ids of those that were written.

        One that is there already is written anew; one that rests on a chunk that is gone is left out.
        ``read``: chunks of whose facts this version of the ``templates`` has made all that it makes.
        """
        with self._database.write() as tx:
            tx.execute(f"DELETE FROM memories WHERE memory_id IN {KEYS}", (json.dumps(list(gone)),))
            written = _insert(tx, {one.memory.memory_id: one for one in new})
            tx.execute(f"UPDATE memory_readings SET templates = ? WHERE chunk_id IN {KEYS}", (templates, json.dumps(list(read))))
        return written

    def present(self, memory_ids: Collection[str]) -> frozenset[str]:
        """Those of the ids whose memories are there."""
        query = f"SELECT memory_id FROM memories WHERE memory_id IN {KEYS}"
        return frozenset(row["memory_id"] for row in self._database.rows(query, (json.dumps(list(memory_ids)),)))

    def doubt(self, memory_ids: Collection[str]) -> None:
        """Note that a later chunk stands nearer to the questions of some memories than their own; damaged ones stay damaged."""
        with self._database.write() as tx:
            tx.execute(
                "UPDATE memories SET doubtful = 1, crc = crc(memory_id, kind, question, answer, anchors, model, 1, vector, sources)"
                f" WHERE memory_id IN {KEYS} AND crc(memory_id, kind, question, answer, anchors, model, doubtful, vector, sources) = crc",
                (json.dumps(list(memory_ids)),),
            )

    def clear(self) -> None:
        """Delete all facts and memories, which say words of passages, and what people said of them."""
        tables = ("facts", "memory_readings", "memories", "ratings")
        if any(self._database.row(f"SELECT 1 FROM {table} LIMIT 1") is not None for table in tables):
            with self._database.write() as tx:
                for table in tables:
                    tx.execute(f"DELETE FROM {table}")

    def _supports(self) -> dict[str, set[Support]]:
        found: defaultdict[str, set[Support]] = defaultdict(set)
        for row in self._database.stream("SELECT * FROM memory_chunks"):
            memory_id, *place, checksum = row
            if crc(memory_id, *place) == checksum:
                found[memory_id].add(Support(*place))
        return found


def insert_facts(tx: sqlite3.Connection, chunk_ids: Collection[str], facts: Iterable[Fact]) -> None:
    """Write all that chunks say, part of the caller's transaction; memories are still to be made of it. A chunk may say nothing."""
    tx.execute(f"DELETE FROM facts WHERE chunk_id IN {KEYS}", (json.dumps(list(chunk_ids)),))
    tx.executemany("INSERT INTO facts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", _fact_values(facts))
    tx.executemany("INSERT OR REPLACE INTO memory_readings VALUES (?, 0)", [(chunk_id,) for chunk_id in chunk_ids])


def drop_vectors(tx: sqlite3.Connection) -> None:
    """Let the vectors of all memories be made again, part of the caller's transaction."""
    tx.execute(
        "UPDATE memories SET vector = x'', crc = crc(memory_id, kind, question, answer, anchors, model, doubtful, x'', sources)"
        " WHERE crc(memory_id, kind, question, answer, anchors, model, doubtful, vector, sources) = crc"
    )


def _present(tx: sqlite3.Connection, chunk_ids: Collection[str]) -> frozenset[str]:
    rows = tx.execute(f"SELECT chunk_id FROM chunks WHERE chunk_id IN {KEYS}", (json.dumps(list(chunk_ids)),))
    return frozenset(row[0] for row in rows)


def _insert(tx: sqlite3.Connection, new: dict[str, StoredMemory]) -> frozenset[str]:
    present = _present(tx, {support.chunk_id for one in new.values() for support in one.memory.supports})
    standing = {key: one for key, one in new.items() if all(support.chunk_id in present for support in one.memory.supports)}
    known = {row[0] for row in tx.execute(f"SELECT memory_id FROM memories WHERE memory_id IN {KEYS}", (json.dumps(list(standing)),))}
    tx.executemany(
        "INSERT INTO memories VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (memory_id) DO UPDATE SET"
        " (kind, question, answer, anchors, model, doubtful, vector, sources, crc) = (excluded.kind, excluded.question, excluded.answer,"
        " excluded.anchors, excluded.model, excluded.doubtful, excluded.vector, excluded.sources, excluded.crc)",
        [_values(one) for one in standing.values()],
    )
    places = [  # the id of a memory names its supports, so those of a known one are there
        (key, support.chunk_id, support.start, support.end)
        for key, one in standing.items()
        if key not in known
        for support in one.memory.supports
    ]
    tx.executemany("INSERT INTO memory_chunks VALUES (?, ?, ?, ?, ?)", [(*place, crc(*place)) for place in places])
    return frozenset(standing)


def _values(stored: StoredMemory) -> tuple[str | int | bytes, ...]:
    one, blob = stored.memory, stored.vector.astype("<i2").tobytes()
    said = (one.memory_id, one.kind, one.question, one.answer, json.dumps(sorted(one.anchors)))
    fields = (*said, stored.model, int(stored.doubtful), blob, len(one.supports))
    return (*fields, crc(*fields))


def _stored(row: sqlite3.Row, supports: tuple[Support, ...], dimensions: int) -> StoredMemory:
    said = (row["memory_id"], row["kind"], row["question"], row["answer"])
    vector = np.frombuffer(row["vector"], dtype="<i2").astype(np.int16) if len(row["vector"]) == 2 * dimensions else NO_VECTOR
    return StoredMemory(Memory(*said, supports, frozenset(json.loads(row["anchors"]))), vector, row["model"], bool(row["doubtful"]))


def _fact(row: sqlite3.Row) -> Fact:
    subject, said = (row["subject"], row["subject_type"]), (row["verb"], row["lemma"], row["preposition"])
    place = (row["chunk_id"], row["start"], row["end"])
    return Fact(*place, *subject, *said, row["object"], row["object_type"], bool(row["negated"]))


def _fact_values(facts: Iterable[Fact]) -> Iterable[tuple[str | int, ...]]:
    told = Counter[str]()
    for fact in facts:
        ordinal = told[fact.chunk_id]
        told[fact.chunk_id] += 1
        said = (fact.subject, fact.subject_type, fact.verb, fact.lemma, fact.preposition, fact.object, fact.object_type)
        fields = (fact.chunk_id, ordinal, fact.start, fact.end, *said, int(fact.negated))
        yield (*fields, crc(*fields))
