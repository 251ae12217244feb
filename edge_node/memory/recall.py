"""Which memories are nearest a question, by meaning and by anchors (FD-RAG §4.2, eq. 11 and 12)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from edge_node.memory.anchors import Openings, anchors_among, openings_of
from edge_node.memory.records import Memory
from edge_node.memory.simplex import IntArray
from shared.ports import FloatArray
from shared.records import DocumentId, document_of
from shared.sentences import WORD, content_words
from shared.vectors import checked

if TYPE_CHECKING:
    from edge_node.memory.guards import Backing  # which tells of what is found here

K = TypeVar("K", bound=str)
Shares = NDArray[np.float64]
SLACK = 1e-4  # a float32 product of unit rows is nearer to the true cosine than half of this
MOST_GAPS = 0.25  # of the rows
FEW = 0.25  # of the rows: fewer are gathered before they are multiplied
AT_FIRST, FURTHER = 4, 4  # rows looked at for each answer that is wanted, and how many times as many then
NOTHING_WITHHELD = frozenset[DocumentId]()


@dataclass(frozen=True, slots=True)
class Scored:
    """A memory with S = α cosine + (1 - α) dice (FD-RAG eq. 11), and the other memories that ask and answer the same."""

    memory: Memory
    score: float
    cosine: float
    dice: float
    same: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory that was found, and what stands for and against it in the store at this moment."""

    scored: Scored
    backing: Backing


@dataclass(frozen=True, slots=True)
class _Row:
    row: int
    score: float
    cosine: float


@dataclass(frozen=True, slots=True, eq=False)
class RecallIndex:
    """Memories in rows, found by their vectors (n, d) of norm 1 and their anchors. It never changes: ``changed`` makes another one.

    A memory that is gone leaves a gap until a quarter of the rows are gaps. What is found is a function of the memories that are there,
    not of the order in which they came and went.
    """

    memories: tuple[Memory, ...]
    vectors: FloatArray
    is_there: NDArray[np.bool_]  # (n,); False: a gap
    sizes: IntArray  # (n,): anchors of each
    rows: Mapping[str, int]  # by the id of a memory that is there
    holding: Mapping[str, IntArray]  # rows by anchor
    resting: Mapping[DocumentId, IntArray]  # rows by a document that they rest on
    saying: Mapping[str, IntArray]  # rows by what is asked and answered
    openings: Openings

    @classmethod
    def of(cls, memories: Sequence[Memory], vectors: FloatArray) -> RecallIndex:
        """Memories with distinct ids and the vectors (n, d) of their questions. Raises ValueError unless these are finite unit rows."""
        nothing = np.empty((0, vectors.shape[1]), np.float32), np.empty(0, np.bool_), np.empty(0, np.int64)
        return cls((), *nothing, rows={}, holding={}, resting={}, saying={}, openings={}).changed(memories, vectors, ())

    def __len__(self) -> int:
        return len(self.rows)

    def changed(self, new: Sequence[Memory], vectors: FloatArray, gone: Collection[str]) -> RecallIndex:
        """Return an index without the memories with the ids ``gone``, then with ``new``; one that is there already stays as it is.

        Unknown ids are ignored. Raises as ``of``.
        """
        vectors = checked(vectors, rows=len(new), dimensions=self.vectors.shape[1])
        left = {name: row for name, row in self.rows.items() if name not in gone}
        if len(left) < (1 - MOST_GAPS) * len(self.memories):
            kept = list(left.values())
            return RecallIndex.of([self.memories[row] for row in kept], self.vectors[kept]).changed(new, vectors, ())
        came = {memory.memory_id: n for n, memory in enumerate(new) if memory.memory_id not in left}
        return self._with([new[n] for n in came.values()], vectors[list(came.values())], left)

    def _with(self, new: Sequence[Memory], vectors: FloatArray, left: Mapping[str, int]) -> RecallIndex:
        memories = (*self.memories, *new)
        at = dict(enumerate(new, start=len(self.memories)))
        is_there = np.zeros(len(memories), np.bool_)
        is_there[[*left.values(), *at]] = True
        openings = dict(self.openings)
        for word, lengths in openings_of({anchor for memory in new for anchor in memory.anchors} - self.holding.keys()).items():
            openings[word] = openings.get(word, frozenset()) | lengths
        return RecallIndex(
            memories,
            np.concatenate([self.vectors, vectors]),
            is_there,
            np.concatenate([self.sizes, np.array([len(memory.anchors) for memory in new], np.int64)]),
            {**left, **{memory.memory_id: row for row, memory in at.items()}},
            _extended(self.holding, ((anchor, row) for row, memory in at.items() for anchor in memory.anchors)),
            _extended(self.resting, ((document, row) for row, memory in at.items() for document in _documents(memory))),
            _extended(self.saying, ((_said(memory), row) for row, memory in at.items())),
            openings,
        )

    def alike(self, memory_id: str) -> tuple[Memory, ...]:
        """A memory that is there, and the others that ask and answer the same, by id; nothing for one that is not."""
        row = self.rows.get(memory_id)
        if row is None:
            return ()
        one = self.memories[row]
        return tuple(sorted((one, *self._others(_said(one), row, self.is_there)), key=lambda memory: memory.memory_id))

    def of_documents(self, documents: AbstractSet[DocumentId]) -> list[Memory]:
        """The memories that rest on one of these documents, in no order."""
        rows = {row for document in documents & self.resting.keys() for row in self.resting[document].tolist()}
        return [self.memories[row] for row in rows if self.is_there[row]]

    def anchors_of(self, question: str, withheld: AbstractSet[DocumentId] = NOTHING_WITHHELD) -> frozenset[str]:
        """The anchors of a question, with the names that memories are found by; those of ``withheld`` documents alone are none."""
        shown = self._shown(withheld)
        return anchors_among(question, self.openings, lambda name: name in self.holding and bool(shown[self.holding[name]].any()))

    def best(
        self,
        vector: FloatArray,
        anchors: AbstractSet[str],
        *,
        k: int,
        alpha: float,
        floor: float,
        withheld: AbstractSet[DocumentId] = NOTHING_WITHHELD,
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
                    firsts.setdefault(_said(self.memories[one.row]), one)
            if len(firsts) >= k or looked_at >= len(rows) or ranked[-1].score < floor:
                return [
                    Scored(self.memories[one.row], one.score, one.cosine, float(dices[one.row]), self._others(said, one.row, shown))
                    for said, one in islice(firsts.items(), k)
                ]
            looked_at *= FURTHER

    def _shown(self, withheld: AbstractSet[DocumentId]) -> NDArray[np.bool_]:
        shown = self.is_there.copy()
        for document in withheld & self.resting.keys():
            shown[self.resting[document]] = False
        return shown

    def _dices(self, anchors: AbstractSet[str]) -> Shares:
        held = [self.holding[anchor] for anchor in anchors if anchor in self.holding]
        shared = np.bincount(np.concatenate(held), minlength=len(self.sizes)) if held else np.zeros(len(self.sizes))
        return np.asarray(2 * shared / np.maximum(self.sizes + len(anchors), 1))

    def _near(self, vector: FloatArray, rows: IntArray) -> FloatArray:
        if len(rows) < FEW * len(self.vectors):
            return np.asarray(np.minimum(self.vectors[rows] @ vector, 1))
        return np.asarray(np.minimum((self.vectors @ vector)[rows], 1))

    def _ranked(self, vector: FloatArray, rows: IntArray, dices: Shares, alpha: float) -> list[_Row]:
        """Rows with S and cosine, best first. A row's sum runs in one order whatever rows are beside it, so that no prune moves it."""
        cosines = np.minimum((self.vectors[rows].astype(np.float64) * vector).sum(axis=1), 1)
        scores = alpha * cosines + (1 - alpha) * dices[rows]
        found = map(_Row, rows.tolist(), scores.tolist(), cosines.tolist())
        return sorted(found, key=lambda one: (-one.score, self.memories[one.row].memory_id))

    def _others(self, said: str, row: int, shown: NDArray[np.bool_]) -> tuple[Memory, ...]:
        others = (self.memories[other] for other in self.saying[said] if shown[other] and other != row)
        return tuple(sorted(others, key=lambda memory: memory.memory_id))


def _leading(rows: IntArray, rough: Shares, n: int) -> IntArray:
    """Rows among which the n best are, though scores are off by up to half of ``SLACK``."""
    if n >= len(rows):
        return rows
    return np.asarray(rows[rough >= np.partition(rough, len(rough) - n)[len(rough) - n] - 2 * SLACK])


def _extended(index: Mapping[K, IntArray], entries: Iterable[tuple[K, int]]) -> dict[K, IntArray]:
    more = defaultdict[K, list[int]](list)
    for key, row in entries:
        more[key].append(row)
    return {**index, **{key: np.array([*index.get(key, ()), *rows], np.int64) for key, rows in more.items()}}


def _documents(memory: Memory) -> set[DocumentId]:
    return {document_of(support.chunk_id) for support in memory.supports}


def _said(memory: Memory) -> str:
    """What is asked, whatever its word order and stop words, and what is answered."""
    return f"{' '.join(sorted(content_words(memory.question)))}\n{' '.join(WORD.findall(memory.answer.casefold()))}"
