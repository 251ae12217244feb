"""Facts and memories on disk. A chunk that is deleted takes its facts with it, and every memory that rests on one of its sentences."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from edge_node.database.schema import Database, said_key
from edge_node.extraction.facts import Fact
from edge_node.graph.mentions import KEYS
from edge_node.memory.hypergraph import Rows
from edge_node.memory.records import Memory, Rating, Support
from shared.sqlite import crc

NO_VECTOR = np.empty(0, dtype=np.int16)

KEYED_WITH = "ratings_secret"  # key in meta: a secret, made by migration 8; only this store and its backups have it
UNRATED = Rating()
# of bytes, for a damaged key may be no text any more
SOUND = "SELECT said_key, good, bad, barred FROM ratings WHERE crc(CAST(said_key AS BLOB), good, bad, barred) = crc"

log = logging.getLogger("dgrag.edge.store")
Grain = Literal["paragraph", "sentence"]  # of a unit: a chunk, or one of its sentences
TRAINED = "hyperedges_"  # and the grain: key in meta, of the last training's units and residual


class Ratings:
    """Table ratings: of a question with its answer, whichever memory says so; it is there after the memory."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._secret = database.meta(KEYED_WITH).encode()

    def key_of(self, memory: Memory) -> str:
        """The key of what a memory asks and answers."""
        return said_key(self._secret, memory.question, memory.answer)

    def all(self) -> dict[str, Rating]:
        """All of them, by key. Damaged ones are left out."""
        return {row["said_key"]: _rating(row) for row in self._database.stream(SOUND)}

    def rate(self, memories: Iterable[Memory], *, right: bool) -> None:
        """Note that somebody found what these ask and answer right, or wrong; once where several say the same."""
        self._change(memories, lambda known: replace(known, good=known.good + right, bad=known.bad + (not right)))

    def bar(self, memories: Iterable[Memory]) -> None:
        """Let what these ask and answer be answered no more, for good."""
        self._change(memories, lambda known: replace(known, barred=True))

    def _change(self, memories: Iterable[Memory], changed: Callable[[Rating], Rating]) -> None:
        with self._database.write() as tx:
            for key in sorted(set(map(self.key_of, memories))):
                known = {row["said_key"]: _rating(row) for row in tx.execute(f"{SOUND} AND said_key = ?", (key,))}
                rating = changed(known.get(key, UNRATED))
                fields = (key, rating.good, rating.bad, int(rating.barred))
                tx.execute("INSERT OR REPLACE INTO ratings VALUES (?, ?, ?, ?, ?)", (*fields, crc(*fields)))


def _rating(row: sqlite3.Row) -> Rating:
    return Rating(row["good"], row["bad"], bool(row["barred"]))


@dataclass(frozen=True, slots=True, eq=False)
class ChunkRows:
    """The rows (n, c) of a chunk's units of one grain. The prototypes are their means, so none outlives the texts that it was made of.

    ``later``: they joined hyperedges that were trained without them.
    """

    chunk_id: str
    grain: Grain
    text_hash: str
    rows: Rows
    later: bool


@dataclass(frozen=True, slots=True)
class Training:
    """How many units the hyperedges of a grain were trained on, and the squared distance beyond which a later one opens a new one."""

    units: int
    residual: float


class IncidenceStore:
    """Table incidence, and what is known of the last training."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self, grain: Grain) -> tuple[ChunkRows, ...]:
        """The rows of every chunk that has any, by chunk. What is damaged is left out, and placed again by who looks for it."""
        found = list[ChunkRows]()
        for row in self._database.stream("SELECT * FROM incidence WHERE grain = ? ORDER BY chunk_id", (grain,)):
            *fields, checksum = row
            if crc(*fields) == checksum:
                found.append(_chunk_rows(row))
            else:
                log.error("a damaged row of the incidence is left out")
        return tuple(found)

    def training(self, grain: Grain) -> Training | None:
        """What the hyperedges were trained on; None where they never were, or that is damaged."""
        try:
            units, residual = json.loads(self._database.meta(TRAINED + grain))
            return Training(int(units), float(residual))
        except (TypeError, ValueError):
            return None

    def replace(self, grain: Grain, rows: Iterable[ChunkRows], training: Training) -> None:
        """Put a training's rows in the place of all of this grain; those whose chunk was deleted meanwhile are left out."""
        with self._database.write() as tx:
            tx.execute("DELETE FROM incidence WHERE grain = ?", (grain,))
            _insert_training(tx, rows)
            said = json.dumps([training.units, training.residual])
            tx.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (TRAINED + grain, said))

    def add(self, rows: Iterable[ChunkRows]) -> None:
        """Insert or replace those of single chunks; those whose chunk was deleted meanwhile are left out."""
        with self._database.write() as tx:
            _insert_training(tx, rows)

    def clear(self) -> None:
        """Delete all of it."""
        if self._database.row("SELECT 1 FROM incidence LIMIT 1") is not None:
            with self._database.write() as tx:
                drop_incidence(tx)


def drop_incidence(tx: sqlite3.Connection) -> None:
    """Delete all of it, part of the caller's transaction: it is made anew from vectors."""
    tx.execute("DELETE FROM incidence")
    tx.executemany("DELETE FROM meta WHERE key = ?", [(TRAINED + grain,) for grain in get_args(Grain)])


def _insert_training(tx: sqlite3.Connection, rows: Iterable[ChunkRows]) -> None:
    by_place = {(one.chunk_id, one.grain): one for one in rows}
    listed = json.dumps(sorted({chunk_id for chunk_id, _ in by_place}))
    present = {row[0] for row in tx.execute(f"SELECT chunk_id FROM chunks WHERE chunk_id IN {KEYS}", (listed,))}
    values = [_training_values(one) for one in by_place.values() if one.chunk_id in present]
    tx.executemany("INSERT OR REPLACE INTO incidence VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)


def _training_values(one: ChunkRows) -> tuple[str | int | bytes, ...]:
    hyperedges, shares = one.rows.columns.astype("<i4").tobytes(), one.rows.values.astype("<f4").tobytes()
    fields = (one.chunk_id, one.grain, one.text_hash, len(one.rows.values), int(one.later), hyperedges, shares)
    return (*fields, crc(*fields))


def _chunk_rows(row: sqlite3.Row) -> ChunkRows:
    shape = (row["units"], -1) if row["units"] else (0, 0)
    columns = np.frombuffer(row["hyperedges"], dtype="<i4").astype(np.int64).reshape(shape)
    values = np.frombuffer(row["shares"], dtype="<f4").astype(np.float32).reshape(shape)
    return ChunkRows(row["chunk_id"], row["grain"], row["text_hash"], Rows(columns, values), bool(row["later"]))


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
