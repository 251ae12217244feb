"""The rows under all generations of a ``RecallIndex``: added to in place, and otherwise never changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from edge_node.memory.anchors import openings_of
from edge_node.memory.records import Memory
from edge_node.memory.simplex import IntArray
from shared.ports import FloatArray
from shared.records import document_of
from shared.sentences import WORD, content_words

K = TypeVar("K", bound=str)
A = TypeVar("A", FloatArray, IntArray)
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

    def __len__(self) -> int:
        return len(self.memories)

    def add(self, new: Sequence[Memory], vectors: FloatArray) -> None:
        """Append memories with their vectors (m, d). The rows are taken first: what fails half way leaves rows that nobody sees."""
        start = len(self.memories)
        at = list(enumerate(new, start=start))
        self.memories.extend(new)
        self._vectors = _filled(self._vectors, start, vectors, 0)
        self._sizes = _filled(self._sizes, start, np.array([len(memory.anchors) for memory in new], np.int64), 0)
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

    def first(self, n: int) -> tuple[FloatArray, IntArray]:
        """The vectors (n, d) and the numbers of anchors (n,) of the first n rows; they stay as they are."""
        return self._vectors[:n], self._sizes[:n]


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
