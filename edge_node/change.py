"""Another embedding model takes over while the former one's index goes on answering.

All that has vectors is made twice: first in a copy of the store, which only fills the file of prepared vectors, in as many rounds as
documents come meanwhile; then in the store itself, where each text is known by then. A stop anywhere goes on from the prepared vectors.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np

from edge_node.database.backup import FILE, back_up, require_room
from edge_node.database.prepared import FOLDER, PreparedEmbedder, PreparedVectors, drop_prepared
from edge_node.database.schema import Database
from edge_node.database.vectors import VectorRows, embed_texts, insert_vectors
from edge_node.maintenance import EMBEDDER, MADE_BY, check_fingerprint, former_embedder, resettle
from edge_node.memory.store import drop_incidence, drop_vectors
from edge_node.records import Progress
from shared.errors import DgragError, ModelUnavailable
from shared.models.build import is_same_model
from shared.models.embedders import CheckedEmbedder
from shared.ports import Embedder, FloatArray

ROUNDS = 3  # in the copy; documents that come faster get the rest of their vectors when the model takes over
TOGETHER = 256  # passages that are read at once
COPIES = 2  # of the store, for which a rehearsal needs room: one, and the log of the vectors that become others in it


log = logging.getLogger("dgrag.edge.store")
Former = Callable[[str, str], Embedder]  # by its fingerprint, and how it was loaded; raises DgragError


class Whole(Protocol):
    """An index over the copy."""

    async def open(self) -> None:
        """As ``Index.open``."""

    async def whole(self, progress: Progress) -> None:
        """As ``Index.whole``."""


class BlindEmbedder:
    """Stands for a former model that cannot be reached: a question is near to nothing, so that words and graph alone find passages."""

    def __init__(self, fingerprint: str, dimensions: int) -> None:
        self.fingerprint = fingerprint
        self.dimensions = dimensions

    async def embed(self, texts: Sequence[str]) -> FloatArray:
        """Raises ModelUnavailable."""
        del texts
        raise ModelUnavailable(
            f"the former embedding model {self.fingerprint} cannot be reached",
            next_step="wait until the new one has taken over: GET /v1/status tells how far it is",
        )

    async def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        """Zeros (n, d)."""
        return np.zeros((len(texts), self.dimensions), dtype=np.float32)


@dataclass(slots=True)
class ChangeView:
    """How far a change is. ``words_only``: the former model cannot be reached; ``error``: why it waits, to be tried again."""

    former: str
    to: str
    words_only: bool
    step: str = "passages"
    done: int = 0
    total: int = 0
    error: str = ""


class EmbedderChange:
    """The way from the ``former`` model to ``embedder``. ``made_by``: how to load that one again, for its own change later."""

    def __init__(
        self,
        database: Database,
        embedder: PreparedEmbedder,
        view: ChangeView,
        index_of: Callable[[Database, Embedder], Whole],
        *,
        made_by: str = "",
        min_free_bytes: int = 0,
    ) -> None:
        self.embedder = embedder
        self.view = view
        self._database = database
        self._prepared = embedder.prepared
        self._index_of = index_of
        self._made_by = made_by
        self._min_free_bytes = min_free_bytes

    async def prepare(self) -> None:
        """Make all vectors that the store will need. Raises ModelError, StoreError; DiskFull before the disk is."""
        for _ in range(ROUNDS):
            before = await asyncio.to_thread(_state, self._database)
            await self.embed_passages()
            await self._rehearse()
            if await asyncio.to_thread(_state, self._database) == before:
                return

    async def embed_passages(self) -> None:
        """Make the vectors of the passages that have none yet. Raises ModelError, StoreError."""
        last, done = "", 0
        total = await asyncio.to_thread(_count, self._database)
        query = "SELECT chunk_id, text FROM chunks WHERE chunk_id > ? ORDER BY chunk_id LIMIT ?"
        while rows := await asyncio.to_thread(self._database.rows, query, (last, TOGETHER)):
            texts = {row["chunk_id"]: row["text"] for row in rows}
            await embed_texts(self.embedder, texts, partial(self._told, done, total))
            last, done = rows[-1]["chunk_id"], done + len(rows)
        self.progress("passages", total, total)

    def _told(self, before: int, total: int, now: int) -> None:
        self.progress("passages", before + now, total)

    async def _rehearse(self) -> None:
        folder = self._prepared.folder / "copy"
        await asyncio.to_thread(drop_prepared, folder)
        await asyncio.to_thread(require_room, self._database.path.parent, floor=self._min_free_bytes, copies=COPIES)
        folder.mkdir(parents=True)
        try:
            await asyncio.to_thread(back_up, self._database.path.parent, folder / FILE)
            copy = await asyncio.to_thread(Database, folder / FILE)
            try:
                await asyncio.to_thread(self.take_over, copy)
                index = self._index_of(copy, self.embedder)
                await index.open()
                await index.whole(self.progress)
            finally:
                await asyncio.to_thread(copy.close)
        finally:
            await asyncio.to_thread(drop_prepared, folder)

    def take_over(self, database: Database) -> None:
        """Put the prepared vectors of passages, entities and relations in the place of the former ones; the rest follows with a settle.

        One transaction: before it the store is the former model's, after it the new one's. Repeating it changes nothing.
        """
        with database.write() as tx:
            [(known,)] = tx.execute("SELECT value FROM meta WHERE key = ?", (EMBEDDER,)).fetchall() or [("",)]
            if known == self.embedder.fingerprint:
                return
            rows = tx.execute("SELECT kind, key, text_hash FROM vectors ORDER BY kind, key").fetchall()
            for table in ("vectors", "chunk_parts", "tree_planes", "tree_nodes"):
                tx.execute(f"DELETE FROM {table}")
            for start in range(0, len(rows), TOGETHER):
                found = self._prepared.some({row["text_hash"] for row in rows[start : start + TOGETHER]})
                for row in rows[start : start + TOGETHER]:
                    if (vector := found.get(row["text_hash"])) is not None:
                        insert_vectors(tx, row["kind"], VectorRows((row["key"],), (row["text_hash"],), vector[None]))
            drop_vectors(tx)
            drop_incidence(tx)
            resettle(tx)
            values = {EMBEDDER: self.embedder.fingerprint, MADE_BY: self._made_by}
            tx.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())

    def progress(self, step: str, done: int, total: int) -> None:
        """Note how far it is; a ``Progress``."""
        self.view.step, self.view.done, self.view.total, self.view.error = step, done, total, ""


@dataclass(frozen=True, slots=True)
class Embedders:
    """Which models an edge begins with. ``serving`` answers, ``judging`` compares answers; ``coming`` takes over, or has just done so."""

    serving: Embedder
    judging: Embedder
    coming: PreparedEmbedder | None = None
    view: ChangeView | None = None  # of a change that is not done


def embedders_of(state_dir: Path, database: Database, wanted: Embedder, former: Former | None, made_by: str) -> Embedders:
    """What the store's fingerprint says to the ``wanted`` model. Raises StoreError as ``check_fingerprint`` where ``former`` is None."""
    folder, stored = state_dir / FOLDER, database.meta(EMBEDDER)
    if stored and stored != wanted.fingerprint and is_same_model(database.meta(MADE_BY), made_by):
        wanted = CheckedEmbedder(wanted, stored)
    known = former_embedder(database, wanted.fingerprint)
    if not known:
        if database.meta(MADE_BY) != made_by:
            database.set_meta(MADE_BY, made_by)
        if not PreparedVectors.are_of(folder, wanted.fingerprint):
            drop_prepared(folder)
            return Embedders(wanted, wanted)
        coming = PreparedEmbedder(wanted, PreparedVectors(folder, wanted.fingerprint, wanted.dimensions))
        return Embedders(coming, coming, coming)
    if former is None:
        check_fingerprint(database, wanted.fingerprint)
    coming = PreparedEmbedder(wanted, PreparedVectors(folder, wanted.fingerprint, wanted.dimensions))
    serving = _former(former, known, database.meta(MADE_BY)) if former else None
    view = ChangeView(known, wanted.fingerprint, words_only=serving is None)
    log.warning("the embedding model %s takes over from %s%s", view.to, known, "" if serving else ", which cannot be reached")
    blind = BlindEmbedder(known, int(known.split("/")[-2])) if known.count("/") > 1 else BlindEmbedder(known, wanted.dimensions)
    return Embedders(serving or blind, serving or wanted, coming, view)


def _former(former: Former, known: str, made_by: str) -> Embedder | None:
    """The model that has made the store's vectors; None where it cannot be had any more."""
    try:
        found = CheckedEmbedder(former(known, made_by))
    except DgragError as error:
        log.warning("the former embedding model cannot be loaded: %s – %s", error.message, error.next_step)
        return None
    return found if found.fingerprint == known else None


def _state(database: Database) -> tuple[int, ...]:
    """Different after any change of the passages."""
    row = database.row("SELECT count(*), total(crc), max(rowid) FROM chunks")
    return tuple(row) if row else ()


def _count(database: Database) -> int:
    row = database.row("SELECT count(*) FROM chunks")
    return int(row[0]) if row else 0
