"""A hypergraph at one moment: the units of an edge's chunks, and the hyperedges that each is in (FD-RAG §4.1, eq. 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

import numpy as np

from edge_node.memory.simplex import IntArray, Rows
from shared.ports import FloatArray
from shared.sentences import sentences

Span = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class ChunkUnits:
    """The units of one chunk: characters [start, end) of its text each, and their vectors (n, d) of norm 1.

    ``rows`` (n, c): which hyperedges they are in; None: none yet. ``later``: they joined hyperedges that were trained without them.
    """

    chunk_id: str
    text_hash: str
    spans: tuple[Span, ...]
    units: FloatArray
    rows: Rows | None = None
    later: bool = False

    def names(self) -> list[str]:
        """A name of each unit that says what it is, wherever and whenever it was added."""
        return [f"{self.text_hash} {self.chunk_id} {number}" for number in range(len(self.spans))]


@dataclass(frozen=True, slots=True, eq=False)
class Hypergraph:
    """Units (n, d) with their chunks, spans and keys, and H as ``rows`` (n, c); the first row of each chunk is in ``first``, by its id."""

    chunk_ids: tuple[str, ...]
    spans: tuple[Span, ...]
    keys: tuple[str, ...]
    units: FloatArray
    rows: Rows
    first: Mapping[str, int]

    @classmethod
    def of(cls, parts: Sequence[ChunkUnits], dimensions: int) -> Hypergraph:
        """Of those of the parts, in the order of their chunks, that are in hyperedges."""
        placed = sorted((part for part in parts if part.rows is not None), key=lambda part: part.chunk_id)
        chunk_ids = [part.chunk_id for part in placed for _ in part.spans]
        units = np.concatenate([np.empty((0, dimensions), np.float32), *(part.units for part in placed)])
        starts = np.cumsum([0, *(len(part.spans) for part in placed)]).tolist()
        return cls(
            tuple(chunk_ids),
            tuple(span for part in placed for span in part.spans),
            tuple(key for part in placed for key in part.names()),
            units,
            together([part.rows for part in placed if part.rows is not None]),
            dict(zip((part.chunk_id for part in placed), starts, strict=False)),
        )

    def __len__(self) -> int:
        return len(self.chunk_ids)

    @property
    def hyperedges(self) -> int:
        """How many have a member."""
        return len(np.unique(self.rows.columns[self.rows.values > 0]))

    def row_of(self, chunk_id: str, start: int, end: int) -> int | None:
        """The unit of a chunk that holds most of the characters [start, end), the first of equals; None where none holds any."""
        rows = range(self.first.get(chunk_id, len(self)), len(self))
        held = dict[int, int]()
        for row in rows:
            if self.chunk_ids[row] != chunk_id:
                break
            held[row] = min(end, self.spans[row][1]) - max(start, self.spans[row][0])
        best = max(held, key=lambda row: held[row], default=None)
        return best if best is not None and held[best] > 0 else None

    def members(self) -> Iterator[tuple[int, IntArray]]:
        """Each hyperedge with its units: the largest shares first, ties by key."""
        row, slot = np.nonzero(self.rows.values)
        columns, shares = self.rows.columns[row, slot], self.rows.values[row, slot]
        ranks = np.empty(len(self), np.int64)
        ranks[sorted(range(len(self)), key=self.keys.__getitem__)] = np.arange(len(self))
        order = np.lexsort((ranks[row], -shares, columns))
        bounds = np.flatnonzero(np.diff(columns[order], prepend=-1, append=-1))
        for start, end in pairwise(bounds.tolist()):
            yield int(columns[order[start]]), row[order[start:end]]

    def name_of(self, units: IntArray) -> str:
        """A name of a set of units: which sentences they are, not what their hyperedge is numbered."""
        return blake2b("\n".join(sorted(self.keys[row] for row in units)).encode(), digest_size=8).hexdigest()


def together(parts: Sequence[Rows]) -> Rows:
    """Rows of several matrices below each other, each padded to the widest.

    >>> one, two = (Rows(np.zeros((1, c), np.int64), np.ones((1, c), np.float32)) for c in (1, 2))
    >>> together([one, two]).values.tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    width = max((part.values.shape[1] for part in parts), default=0)

    columns = [np.pad(part.columns, ((0, 0), (0, width - part.columns.shape[1]))) for part in parts]
    values = [np.pad(part.values, ((0, 0), (0, width - part.values.shape[1]))) for part in parts]
    return Rows(np.concatenate([np.empty((0, width), np.int64), *columns]), np.concatenate([np.empty((0, width), np.float32), *values]))


def some_rows(rows: Rows, wanted: IntArray | slice) -> Rows:
    """Some rows of a sparse matrix."""
    return Rows(rows.columns[wanted], rows.values[wanted])


def cut_spans(text: str) -> list[Span]:
    """Where the sentences of a chunk are whose vectors are kept: those with anything but blanks.

    >>> cut_spans("One pump. Two!")
    [(0, 10), (10, 14)]
    """
    return [(start, end) for start, end in sentences(text) if text[start:end].strip()]


def tells(text: str) -> bool:
    """Whether a sentence is a unit: one without a letter says nothing.

    >>> tells("12. "), tells("Two!")
    (False, True)
    """
    return any(letter.isalpha() for letter in text)
