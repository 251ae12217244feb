"""Hyperedges of an edge's passages and sentences, kept up with its chunks in idle time (FD-RAG §4.1, eq. 4 to 8)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from threading import Lock
from typing import get_args

import numpy as np

from edge_node.database.chunk_parts import ChunkParts, ChunkPartStore
from edge_node.database.vectors import embed_texts, text_hash
from edge_node.graph.passages import EMBED_BATCH
from edge_node.graph.tools import Tools
from edge_node.memory.hypergraph import ChunkUnits, Hypergraph, Rows, Shape, cut_spans, prototypes, residuals, some_rows, tells, together
from edge_node.memory.store import ChunkRows, Grain, IncidenceStore, Training
from edge_node.memory.training import grown, trained
from edge_node.records import Progress
from shared.ports import FloatArray
from shared.records import Chunk, ChunkId
from shared.vectors import from_ints, to_ints

GRAINS: tuple[Grain, ...] = get_args(Grain)
TOGETHER = 16  # chunks whose sentences are embedded in one turn: a second or two
LOADED = 256  # chunks that are read at once
SHAPE = Shape()
STALENESS = 0.2  # share of the trained units that were added or removed since, beyond which they are trained again
ROWS = 20_000  # units that are trained on; the others join
FAR = 0.9  # of the trained units are nearer to what they are in: beyond, a later one opens a hyperedge
Parts = Mapping[str, ChunkUnits]


class HypergraphBuilder:
    """Both hypergraphs in memory. A chunk is taken in, its sentences embedded, by ``turn``; one that is gone is gone at once.

    Right after a training the groups are a function of the chunks that are there; what joins later finds them as they are.
    """

    def __init__(self, tools: Tools, *, shape: Shape = SHAPE, staleness: float = STALENESS, rows: int = ROWS) -> None:
        self._documents = tools.documents
        self._vectors = tools.graph.vectors
        self._embedder = tools.embedder
        self._dimensions = tools.embedder.dimensions
        self._sentences = ChunkPartStore(tools.graph.database, self._dimensions)
        self._store = IncidenceStore(tools.graph.database)
        self._shape, self._staleness, self._rows = shape, staleness, rows
        self._lock = Lock()
        self._parts: dict[Grain, dict[str, ChunkUnits]] = {grain: {} for grain in GRAINS}
        self._training: dict[Grain, Training | None] = dict.fromkeys(GRAINS)
        self._waiting: dict[str, object] = {}  # chunks that are to be taken in; a new object each time that one came
        self._due: dict[Grain, bool] = {}  # where somebody has looked since the last change
        self._shown: dict[Grain, Hypergraph] = {}  # the same
        self.changes = 0  # so far

    # ------------------------------------------------------------ what is there

    def load(self) -> None:
        """Read what the store has; chunks whose sentences have no vectors wait for ``turn``."""
        placed = {grain: {one.chunk_id: one for one in self._store.all(grain)} for grain in GRAINS}
        waiting = list(self._vectors.all_hashes("chunk"))
        for start in range(0, len(waiting), LOADED):
            found, _ = self._read(waiting[start : start + LOADED])
            for grain, several in found.items():
                self._parts[grain] |= {chunk_id: _as_stored(one, placed[grain].get(chunk_id)) for chunk_id, one in several.items()}
        self._waiting = {chunk_id: object() for chunk_id in waiting if chunk_id not in self._parts["sentence"]}
        self._training = {grain: self._store.training(grain) for grain in GRAINS}

    def arrived(self, chunk_ids: Collection[str], replaced: Collection[str]) -> None:
        """Chunks were committed, in place of others."""
        with self._lock:
            self._drop((*replaced, *chunk_ids))
            self._waiting |= {chunk_id: object() for chunk_id in chunk_ids}

    def forget(self, chunk_ids: Collection[ChunkId]) -> None:
        """Leave out chunks that are gone from the store."""
        with self._lock:
            self._drop(chunk_ids)

    def _drop(self, chunk_ids: Collection[str]) -> None:
        for chunk_id in chunk_ids:
            self._waiting.pop(chunk_id, None)
            for parts in self._parts.values():
                parts.pop(chunk_id, None)
        self._changed()

    def _changed(self) -> None:
        self._due, self._shown, self.changes = {}, {}, self.changes + 1

    def hypergraph(self, grain: Grain) -> Hypergraph:
        """The units that are in hyperedges at this moment; "paragraph" or "sentence"."""
        with self._lock:
            if grain not in self._shown:
                self._shown[grain] = Hypergraph.of(list(self._parts[grain].values()), self._dimensions)
            return self._shown[grain]

    @property
    def stale(self) -> int:
        """How many turns, at most, there is work for."""
        return (1 + len(GRAINS)) * len(self._waiting) + len(self._due_grains())

    def _due_grains(self) -> list[Grain]:
        with self._lock:
            for grain in GRAINS:
                if grain not in self._due:
                    self._due[grain] = self._is_due(grain)
            return [grain for grain in GRAINS if self._due[grain]]

    def _is_due(self, grain: Grain) -> bool:
        parts = self._parts[grain].values()
        return any(one.rows is None for one in parts) or (any(one.spans for one in parts) and self._is_outdated(grain, self._parts[grain]))

    def _is_outdated(self, grain: Grain, parts: Parts) -> bool:
        """Whether more has come and gone since the last training than it stands for."""
        training = self._training[grain]
        kept = sum(len(one.spans) for one in parts.values() if one.rows is not None and not one.later)
        if training is None or not kept:  # there is nothing that could be joined
            return True
        others = sum(len(one.spans) for one in parts.values()) - kept
        return others + training.units - kept > self._staleness * training.units

    # ------------------------------------------------------------ in idle time

    async def turn(self, progress: Progress) -> bool:
        """Do a little of what is to be done: take in a few chunks, or place all that are in no hyperedge; False where nothing was.

        What ``progress`` raises ends a training. Raises ModelTimeout and ModelUnavailable.
        """
        if self._waiting:
            await self._take_in(progress)
            return True
        grain, steps = next(iter(self._due_grains()), None), self._shape.steps
        if grain is None:
            return False
        await asyncio.to_thread(self._place, grain, lambda step: progress(f"group by {grain}", step, steps))
        return True

    async def _take_in(self, progress: Progress) -> None:
        with self._lock:
            batch = dict(islice(self._waiting.items(), TOGETHER))
        found, lacking = await asyncio.to_thread(self._read, list(batch))
        texts = {
            f"{chunk.chunk_id} {number}": chunk.text[start:end]
            for chunk in lacking
            for number, (start, end) in enumerate(cut_spans(chunk.text))
        }
        keys, matrix = await embed_texts(
            self._embedder, texts, lambda done: progress("embed sentences", done, len(texts)), batch=EMBED_BATCH
        )
        await asyncio.to_thread(self._keep, lacking, dict(zip(keys, matrix, strict=True)))
        again, _ = await asyncio.to_thread(self._read, [chunk.chunk_id for chunk in lacking])
        with self._lock:
            for chunk_id, token in batch.items():
                if self._waiting.get(chunk_id) is token:
                    del self._waiting[chunk_id]
                    for grain in GRAINS:
                        if (one := found[grain].get(chunk_id) or again[grain].get(chunk_id)) is not None:
                            self._parts[grain][chunk_id] = one
            self._changed()

    def _keep(self, chunks: Sequence[Chunk], vectors: Mapping[str, FloatArray]) -> None:
        kept = list[ChunkParts]()
        for chunk in chunks:
            keys = [f"{chunk.chunk_id} {number}" for number in range(len(cut_spans(chunk.text)))]
            if vectors.keys() >= set(keys):
                rows = np.array([vectors[key] for key in keys], np.float32).reshape(-1, self._dimensions)
                kept.append(ChunkParts(chunk.chunk_id, text_hash(chunk.text), 0, to_ints(rows)))
        if kept:
            self._sentences.save(kept)

    def _read(self, chunk_ids: Sequence[str]) -> tuple[dict[Grain, dict[str, ChunkUnits]], list[Chunk]]:
        """The units of those of the chunks whose vectors the store has, and the chunks whose sentences it has none for.

        These wait, and where the model cannot embed a sentence they are in no group.
        """
        chunks = {key: chunk for key, (chunk, _, _) in self._documents.chunks(chunk_ids).items()} if chunk_ids else {}
        parts, rows = self._sentences.some(chunks), self._vectors.some("chunk", chunks, self._dimensions)
        whole = dict(zip(rows.keys, rows.vectors, strict=True))
        found: dict[Grain, dict[str, ChunkUnits]] = {grain: {} for grain in GRAINS}
        lacking = list[Chunk]()
        for chunk_id, chunk in chunks.items():
            spans, known, hashed = cut_spans(chunk.text), parts.get(chunk_id), text_hash(chunk.text)
            if known is None or known.text_hash != hashed or len(known.vectors) < len(spans):
                lacking.append(chunk)
                continue
            told = [number for number, (start, end) in enumerate(spans) if tells(chunk.text[start:end])]
            sentences = ChunkUnits(chunk_id, hashed, tuple(spans[number] for number in told), from_ints(known.vectors[told]))
            found["sentence"][chunk_id] = sentences
            if chunk_id in whole:
                found["paragraph"][chunk_id] = ChunkUnits(chunk_id, hashed, ((0, len(chunk.text)),), whole[chunk_id][None])
        return found, lacking

    # ------------------------------------------------------------ in the thread: groups

    def _place(self, grain: Grain, on_step: Callable[[int], None]) -> None:
        with self._lock:
            parts = dict(self._parts[grain])
        ordered = [parts[chunk_id] for chunk_id in sorted(parts)]
        training = self._training[grain]
        if training is None or self._is_outdated(grain, parts):
            placed, training = self._trained(ordered, on_step)
            self._store.replace(grain, _stored(grain, placed), training)
        else:
            placed = self._joined(ordered, training.residual)
            self._store.add(_stored(grain, placed))
        with self._lock:
            for one in placed:
                if self._parts[grain].get(one.chunk_id) is parts[one.chunk_id]:  # else it has gone, or come again
                    self._parts[grain][one.chunk_id] = one
            self._training[grain] = training
            self._changed()

    def _trained(self, parts: Sequence[ChunkUnits], on_step: Callable[[int], None]) -> tuple[list[ChunkUnits], Training]:
        units, keys = _units_of(parts, self._dimensions), [key for one in parts for key in one.names()]
        if not keys:
            return [replace(one, rows=_none(), later=False) for one in parts], Training(0, 0.0)
        order = sorted(range(len(keys)), key=keys.__getitem__)
        first, rest = order[: self._rows], order[self._rows :]
        found = trained(units[first], [keys[row] for row in first], self._shape, on_step)
        means, _ = prototypes(found.rows, units[first], len(found.weights))
        residual = float(np.quantile(residuals(found.rows, units[first], means), FAR))
        rows = found.rows
        if rest:
            rows = together([rows, grown(units[rest], means, self._shape, residual=residual)[0]])
        return list(_split(parts, some_rows(rows, np.argsort([*first, *rest])), later=False)), Training(len(keys), residual)

    def _joined(self, parts: Sequence[ChunkUnits], residual: float) -> list[ChunkUnits]:
        """Those of the parts that are in no hyperedge yet, in those of the others."""
        before, new = [one for one in parts if one.rows is not None], [one for one in parts if one.rows is None]
        rows = together([one.rows for one in before if one.rows is not None])
        m = int(rows.columns.max(initial=-1)) + 1
        means, weights = prototypes(rows, _units_of(before, self._dimensions), m)
        live = np.flatnonzero(weights > 0)  # one that has lost its members is nowhere near anything
        joining, seeds = grown(_units_of(new, self._dimensions), means[live], self._shape, residual=residual)
        numbers = np.concatenate([live, m + np.arange(len(seeds))])
        return list(_split(new, Rows(np.where(joining.values > 0, numbers[joining.columns], 0), joining.values), later=True))


def _units_of(parts: Sequence[ChunkUnits], dimensions: int) -> FloatArray:
    return np.concatenate([np.empty((0, dimensions), np.float32), *(one.units for one in parts)])


def _none() -> Rows:
    return Rows(np.empty((0, 0), np.int64), np.empty((0, 0), np.float32))


def _split(parts: Sequence[ChunkUnits], rows: Rows, *, later: bool) -> Iterator[ChunkUnits]:
    start = 0
    for one in parts:
        yield replace(one, rows=some_rows(rows, slice(start, start + len(one.spans))), later=later)
        start += len(one.spans)


def _stored(grain: Grain, parts: Sequence[ChunkUnits]) -> list[ChunkRows]:
    return [ChunkRows(one.chunk_id, grain, one.text_hash, one.rows, one.later) for one in parts if one.rows is not None]


def _as_stored(one: ChunkUnits, stored: ChunkRows | None) -> ChunkUnits:
    if stored is None or stored.text_hash != one.text_hash or len(stored.rows.values) != len(one.spans):
        return one
    return replace(one, rows=stored.rows, later=stored.later)
