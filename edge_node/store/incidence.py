"""The soft incidence of an edge's hypergraphs on disk: which hyperedges the units of each chunk are in (FD-RAG §4.1, eq. 4)."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from edge_node.memory.simplex import Rows
from edge_node.store.database import Database
from edge_node.store.mentions import KEYS
from shared.checksum import crc

log = logging.getLogger("dgrag.edge.store")
Grain = Literal["paragraph", "sentence"]  # of a unit: a chunk, or one of its sentences
TRAINED = "hyperedges_"  # and the grain: key in meta, of the last training's units and residual


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
            _insert(tx, rows)
            said = json.dumps([training.units, training.residual])
            tx.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (TRAINED + grain, said))

    def add(self, rows: Iterable[ChunkRows]) -> None:
        """Insert or replace those of single chunks; those whose chunk was deleted meanwhile are left out."""
        with self._database.write() as tx:
            _insert(tx, rows)

    def clear(self) -> None:
        """Delete all of it."""
        if self._database.row("SELECT 1 FROM incidence LIMIT 1") is not None:
            with self._database.write() as tx:
                drop_incidence(tx)


def drop_incidence(tx: sqlite3.Connection) -> None:
    """Delete all of it, part of the caller's transaction: it is made anew from vectors."""
    tx.execute("DELETE FROM incidence")
    tx.executemany("DELETE FROM meta WHERE key = ?", [(TRAINED + grain,) for grain in get_args(Grain)])


def _insert(tx: sqlite3.Connection, rows: Iterable[ChunkRows]) -> None:
    by_place = {(one.chunk_id, one.grain): one for one in rows}
    listed = json.dumps(sorted({chunk_id for chunk_id, _ in by_place}))
    present = {row[0] for row in tx.execute(f"SELECT chunk_id FROM chunks WHERE chunk_id IN {KEYS}", (listed,))}
    values = [_values(one) for one in by_place.values() if one.chunk_id in present]
    tx.executemany("INSERT OR REPLACE INTO incidence VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)


def _values(one: ChunkRows) -> tuple[str | int | bytes, ...]:
    hyperedges, shares = one.rows.columns.astype("<i4").tobytes(), one.rows.values.astype("<f4").tobytes()
    fields = (one.chunk_id, one.grain, one.text_hash, len(one.rows.values), int(one.later), hyperedges, shares)
    return (*fields, crc(*fields))


def _chunk_rows(row: sqlite3.Row) -> ChunkRows:
    shape = (row["units"], -1) if row["units"] else (0, 0)
    columns = np.frombuffer(row["hyperedges"], dtype="<i4").astype(np.int64).reshape(shape)
    values = np.frombuffer(row["shares"], dtype="<f4").astype(np.float32).reshape(shape)
    return ChunkRows(row["chunk_id"], row["grain"], row["text_hash"], Rows(columns, values), bool(row["later"]))
