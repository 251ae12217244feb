"""Which memories are nearest a question, by meaning and by anchors (FD-RAG §4.2, eq. 11 and 12)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from edge_node.memory.anchors import anchors_among, openings_of
from edge_node.memory.hypergraph import IntArray
from edge_node.memory.records import Memory, Scored
from shared.ports import FloatArray
from shared.records import document_of
from shared.text.sentences import WORD, content_words
from shared.vectors import checked

Shares = NDArray[np.float64]
Flags = NDArray[np.bool_]
SLACK = 1e-4  # a float32 product of unit rows is nearer to the true cosine than half of this
MOST_GAPS = 0.25  # of the rows
FEW = 0.25  # of the rows: fewer are gathered before they are multiplied
AT_FIRST, FURTHER = 4, 4  # rows looked at for each answer that is wanted, and how many times as many then
NOTHING_WITHHELD = frozenset[str]()

K = TypeVar("K", bound=str)
A = TypeVar("A", FloatArray, IntArray, Flags)
NO_ROW = np.iinfo(np.int64).max  # fills what is spare of a list of rows: it is beyond every generation


class RecallRows:
    """Memories in rows, with their vectors (n, d) and what finds them; a generation sees the first rows of it, as many as it knows of.

    Whoever adds does so one at a time. Readers need no lock: rows that were there stay where they are, each list of rows ascends, and
    what is behind a reader's own count is not looked at. What memories are gone is each generation's own affair.
    """

    def __init__(self, dimensions: int) -> None:
        self.memories = list[Memory]()
        self.said = list[str]()  # what is asked and answered in each row
        self.ids = dict[str, tuple[int, ...]]()  # rows by the id of a memory
        self.holding = dict[str, IntArray]()  # by anchor
        self.resting = dict[str, IntArray]()  # by a document or chunk that they rest on
        self.saying = dict[str, IntArray]()  # by what is asked and answered
        self.openings = dict[str, frozenset[int]]()  # as ``Openings``
        self._vectors: FloatArray = np.empty((0, dimensions), np.float32)
        self._sizes: IntArray = np.empty(0, np.int64)
        self._learned: Flags = np.empty(0, np.bool_)

    def __len__(self) -> int:
        return len(self.memories)

    def add(self, new: Sequence[Memory], vectors: FloatArray) -> None:
        """Append memories with their vectors (m, d). The rows are taken first: what fails half way leaves rows that nobody sees."""
        start = len(self.memories)
        at = list(enumerate(new, start=start))
        self.memories.extend(new)
        self._vectors = _filled(self._vectors, start, vectors, 0)
        self._sizes = _filled(self._sizes, start, np.array([len(memory.anchors) for memory in new], np.int64), 0)
        self._learned = _filled(self._learned, start, np.array([memory.kind == "learned" for memory in new], np.bool_), 0)
        said = [said_by(memory) for memory in new]
        self.said[start:] = said
        names = {anchor for memory in new for anchor in memory.anchors if anchor not in self.holding}
        for word, lengths in openings_of(names).items():
            self.openings[word] = self.openings.get(word, frozenset()) | lengths
        for row, memory in at:
            self.ids[memory.memory_id] = (*self.ids.get(memory.memory_id, ()), row)
        _extend(self.holding, ((anchor, row) for row, memory in at for anchor in memory.anchors))
        _extend(self.resting, ((document, row) for row, memory in at for document in _resting_on(memory)))
        _extend(self.saying, zip(said, range(start, start + len(new)), strict=True))

    def first(self, n: int) -> tuple[FloatArray, IntArray, Flags]:
        """The vectors (n, d), the numbers of anchors (n,) and which are learned (n,) of the first n rows; they stay as they are."""
        return self._vectors[:n], self._sizes[:n], self._learned[:n]


def listed(index: Mapping[K, IntArray], keys: Iterable[K], n: int) -> IntArray:
    """Those of the first n rows that are listed under one of the keys, once for each.

    >>> listed({"mill": np.array([0, 2, 5]), "ann": np.array([2])}, ["ann", "mill", "bo"], 5).tolist()
    [2, 0, 2]
    """
    found = [index[key] for key in keys if key in index]
    if not found:
        return np.empty(0, np.int64)
    rows = np.concatenate(found)
    return np.asarray(rows[rows < n])


def said_by(memory: Memory) -> str:
    """What is asked, whatever its word order and stop words, and what is answered."""
    return f"{' '.join(sorted(content_words(memory.question)))}\n{' '.join(WORD.findall(memory.answer.casefold()))}"


def _extend(index: dict[K, IntArray], entries: Iterable[tuple[K, int]]) -> None:
    """List rows, which ascend, under their keys."""
    more = defaultdict[K, list[int]](list)
    for key, row in entries:
        more[key].append(row)
    for key, rows in more.items():
        held = index.get(key)
        if held is None:
            index[key] = np.array(rows, np.int64)
        else:
            index[key] = _filled(held, int(np.searchsorted(held, rows[0])), np.array(rows, np.int64), NO_ROW)


def _filled(held: A, at: int, new: A, spare: int) -> A:
    """``held`` with ``new`` from row ``at`` on: in place where there is room, else in an array with room for half as much again."""
    end = at + len(new)
    if end > len(held):
        grown = np.zeros((end + end // 2, *held.shape[1:]), held.dtype)  # zeros that nobody touches take no memory
        grown[:at] = held[:at]
        if spare:
            grown[end:] = spare
        held = grown
    held[at:end] = new
    return held


def _resting_on(memory: Memory) -> set[str]:
    chunks = {str(support.chunk_id) for support in memory.supports}
    return chunks | set(map(document_of, chunks))


@dataclass(frozen=True, slots=True)
class _Row:
    row: int
    score: float
    cosine: float


@dataclass(frozen=True, slots=True, eq=False)
class RecallIndex:
    """Memories in rows, found by their vectors (n, d) of norm 1 and their anchors. It never changes: ``changed`` makes another one.

    Both share their rows, so a change takes the time of what comes and goes, and of one byte a row. A memory that is gone leaves a gap
    until a quarter of the rows are gaps. What is found is a function of the memories that are there, not of the order in which they came
    and went.
    """

    is_there: Flags  # (n,); False: a gap
    vectors: FloatArray
    _sizes: IntArray  # (n,): anchors of each
    _learned: Flags  # (n,): learned ones
    _rows: RecallRows  # n of them are of this index
    _count: int  # memories that are there

    @classmethod
    def of(cls, memories: Sequence[Memory], vectors: FloatArray) -> RecallIndex:
        """Memories with distinct ids and the vectors (n, d) of their questions. Raises ValueError unless these are finite unit rows."""
        rows = RecallRows(vectors.shape[1])
        return cls(np.empty(0, np.bool_), *rows.first(0), rows, 0).changed(memories, vectors, ())

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Memory]:
        return (self._rows.memories[row] for row in np.flatnonzero(self.is_there).tolist())

    def changed(self, new: Sequence[Memory], vectors: FloatArray, gone: Collection[str]) -> RecallIndex:
        """Return an index without the memories with the ids ``gone``, then with ``new``; one that is there already stays as it is.

        Unknown ids are ignored. Whoever changes an index and what came of it does so one at a time; readers need not wait. To add to one
        that was added to before makes a copy. Raises as ``of``.
        """
        vectors = checked(vectors, rows=len(new), dimensions=self.vectors.shape[1])
        rows, left = self._rows, self.is_there.copy()
        left[[row for row in map(self._row_of, gone) if row is not None]] = False
        count = int(np.count_nonzero(left))
        if count < (1 - MOST_GAPS) * len(left) or (new and len(rows) > len(left)):
            kept = np.flatnonzero(left)
            return RecallIndex.of([rows.memories[row] for row in kept.tolist()], self.vectors[kept]).changed(new, vectors, ())
        came = dict[str, int]()
        for n, memory in enumerate(new):
            row = self._row_of(memory.memory_id)
            if row is None or not left[row]:
                came[memory.memory_id] = n
        if came:
            rows.add([new[n] for n in came.values()], vectors[list(came.values())])
        is_there = np.concatenate([left, np.ones(len(came), np.bool_)])
        return RecallIndex(is_there, *rows.first(len(is_there)), rows, count + len(came))

    def _row_of(self, memory_id: str) -> int | None:
        """The row of a memory that is there."""
        rows = reversed(self._rows.ids.get(memory_id, ()))
        return next((row for row in rows if row < len(self.is_there) and self.is_there[row]), None)

    def some(self, memory_ids: Iterable[str]) -> tuple[list[Memory], FloatArray]:
        """Those of these memories that are there, in this order, with the vectors (n, d) of their questions."""
        rows = [row for row in map(self._row_of, memory_ids) if row is not None]
        return [self._rows.memories[row] for row in rows], self.vectors[rows]

    def alike(self, memory_id: str) -> tuple[Memory, ...]:
        """A memory that is there, and the others that ask and answer the same, by id; nothing for one that is not."""
        row = self._row_of(memory_id)
        if row is None:
            return ()
        return tuple(sorted((self._rows.memories[row], *self._others(row, self.is_there)), key=lambda memory: memory.memory_id))

    def of_documents(self, documents: AbstractSet[str]) -> list[Memory]:
        """The memories that rest on one of these documents, in no order."""
        rows = set(self._listed(self._rows.resting, documents).tolist())
        return [self._rows.memories[row] for row in rows if self.is_there[row]]

    def _listed(self, index: Mapping[K, IntArray], keys: Iterable[K]) -> IntArray:
        return listed(index, keys, len(self.is_there))

    def anchors_of(self, question: str, withheld: AbstractSet[str] = NOTHING_WITHHELD) -> frozenset[str]:
        """The anchors of a question, with the names that memories are found by; those of ``withheld`` documents alone are none."""
        shown, holding = self._shown(withheld), self._rows.holding
        return anchors_among(question, self._rows.openings, lambda name: bool(shown[self._listed(holding, [name])].any()))

    def nearest_learned(self, vector: FloatArray) -> float:
        """The greatest cosine of a learned memory's question with a vector (d,), to half of ``SLACK``; -1: none is learned."""
        rows = np.flatnonzero(self.is_there & self._learned)
        return float(np.vecdot(self.vectors[rows], vector).max()) if len(rows) else -1.0

    def best(
        self,
        vector: FloatArray,
        anchors: AbstractSet[str],
        *,
        k: int,
        alpha: float,
        floor: float,
        withheld: AbstractSet[str] = NOTHING_WITHHELD,
    ) -> list[Scored]:
        """The k best answers with S >= ``floor``, best first, ties by id; as if nothing rested on a ``withheld`` document.

        vector (d,), of norm 1. Memories that ask and answer the same count once. S is at most α + (1 - α) dice, and dice is known without
        the vectors, so with a floor above α only memories that share anchors are looked at: no other one can reach it.
        """
        shown, dices = self._shown(withheld), self._dices(anchors)
        rows = np.flatnonzero(shown & (alpha + (1 - alpha) * dices >= floor - SLACK))
        rough = alpha * self._near(vector, rows) + (1 - alpha) * dices[rows]
        looked_at = AT_FIRST * k
        while True:
            ranked = self._ranked(vector, _leading(rows, rough, looked_at), dices, alpha)[:looked_at]
            firsts = dict[str, _Row]()
            for one in ranked:
                if one.score >= floor:
                    firsts.setdefault(self._rows.said[one.row], one)
            if len(firsts) >= k or looked_at >= len(rows) or ranked[-1].score < floor:
                leading = list(islice(firsts.values(), k))
                return [
                    Scored(memory, one.score, one.cosine, float(dices[one.row]), self._others(one.row, shown))
                    for one, memory in ((one, self._rows.memories[one.row]) for one in leading)
                ]
            looked_at *= FURTHER

    def _shown(self, withheld: AbstractSet[str]) -> Flags:
        if not withheld:
            return self.is_there
        shown = self.is_there.copy()
        shown[self._listed(self._rows.resting, withheld)] = False
        return shown

    def _dices(self, anchors: AbstractSet[str]) -> Shares:
        shared = np.bincount(self._listed(self._rows.holding, anchors), minlength=len(self._sizes))
        return np.asarray(2 * shared / np.maximum(self._sizes + len(anchors), 1))

    def _near(self, vector: FloatArray, rows: IntArray) -> FloatArray:
        """Rough cosines of rows; row by row, which takes half the time of ``@``."""
        if len(rows) < FEW * len(self.vectors):
            return np.asarray(np.vecdot(self.vectors[rows], vector))
        near = np.asarray(np.vecdot(self.vectors, vector))
        return near if len(rows) == len(near) else near[rows]

    def _ranked(self, vector: FloatArray, rows: IntArray, dices: Shares, alpha: float) -> list[_Row]:
        """Rows with S and cosine, best first. A row's sum runs in one order whatever rows are beside it, so that no prune moves it."""
        cosines = np.minimum((self.vectors[rows].astype(np.float64) * vector).sum(axis=1), 1)
        scores = alpha * cosines + (1 - alpha) * dices[rows]
        found = map(_Row, rows.tolist(), scores.tolist(), cosines.tolist())
        return sorted(found, key=lambda one: (-one.score, self._rows.memories[one.row].memory_id))

    def _others(self, row: int, shown: NDArray[np.bool_]) -> tuple[Memory, ...]:
        """The others that are shown and ask and answer the same as a row."""
        same = self._listed(self._rows.saying, [self._rows.said[row]]).tolist()
        others = (self._rows.memories[other] for other in same if shown[other] and other != row)
        return tuple(sorted(others, key=lambda memory: memory.memory_id))


def _leading(rows: IntArray, rough: Shares, n: int) -> IntArray:
    """Rows among which the n best are, though scores are off by up to half of ``SLACK``."""
    if n >= len(rows):
        return rows
    return np.asarray(rows[rough >= np.partition(rough, len(rough) - n)[len(rough) - n] - 2 * SLACK])
