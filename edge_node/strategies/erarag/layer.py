"""One layer of the tree: its items in order, cut into segments; and what an insertion or a removal changes there (EraRAG Alg. 3 l. 2-8)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edge_node.strategies.erarag.planes import IntArray, Positions
from edge_node.strategies.erarag.segments import Bounds, segments

Segment = tuple[str, ...]  # the keys of its items, in the layer's order


@dataclass(frozen=True, slots=True)
class Item:
    """A passage or a summary as its layer sees it; ``position`` as ``positions_of`` gives it. Another text or vector has another key."""

    key: str
    position: int


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """Items in ascending order of (position, key): ``keys`` (n,), ``positions`` (n,); segment i begins at row ``starts[i]``, (m,)."""

    keys: NDArray[np.object_]
    positions: Positions
    starts: IntArray

    def segment(self, number: int) -> Segment:
        """The keys of a segment's items."""
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.keys)
        return tuple(self.keys[self.starts[number] : end].tolist())


EMPTY = Layer(np.zeros(0, dtype=np.object_), np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Changed:
    """A layer as it has become. ``before`` (m,): the number that each segment, item for item, had in the layer as it was; -1: a new one."""

    layer: Layer
    before: IntArray
    gone: IntArray  # numbers of the segments of the layer as it was that are no more

    @property
    def new(self) -> list[Segment]:
        """The segments that were not there."""
        return [self.layer.segment(int(number)) for number in np.flatnonzero(self.before < 0)]


def changed(layer: Layer, added: Iterable[Item], removed: Collection[str], *, bounds: Bounds) -> Changed:
    """Take items out and put items in; what is both added and removed, or added again, stays.

    Few segments differ, and they are told without looking at the others: 100,000 items take some milliseconds.
    An item that is there must not be added again with another position.
    """
    added = sorted(set(added), key=lambda item: (item.position, item.key))
    stay = _staying(layer, set(removed).difference(item.key for item in added))
    keys, positions = layer.keys[stay], layer.positions[stay]
    fresh, rows = _missing(keys, positions, added)
    grown = np.insert(positions, rows, np.array([item.position for item in fresh], dtype=np.uint64))
    result = Layer(np.insert(keys, rows, np.array([item.key for item in fresh], dtype=np.object_)), grown, segments(grown, bounds))
    return _compared(layer, result, np.insert(np.flatnonzero(stay), rows, -1))


def _staying(layer: Layer, removed: Collection[str]) -> NDArray[np.bool_]:
    if not removed:
        return np.ones(len(layer.keys), dtype=np.bool_)
    return np.fromiter((key not in removed for key in layer.keys), dtype=np.bool_, count=len(layer.keys))


def _missing(keys: NDArray[np.object_], positions: Positions, added: list[Item]) -> tuple[list[Item], IntArray]:
    """Those of the sorted items that are not there yet, each with the row before which it belongs."""
    fresh, rows = [], []
    first = np.searchsorted(positions, np.array([item.position for item in added], dtype=np.uint64))
    for item, row in zip(added, first.tolist(), strict=True):
        while row < len(keys) and (positions[row], keys[row]) < (item.position, item.key):
            row += 1
        if row == len(keys) or keys[row] != item.key:
            fresh.append(item)
            rows.append(row)
    return fresh, np.array(rows, dtype=np.int64)


def _compared(old: Layer, new: Layer, origin: IntArray) -> Changed:
    """``origin`` (n,): the old row of each new row, -1 for an item that was not there."""
    sizes = np.append(np.diff(old.starts, append=len(old.keys)), 0)  # the last one, of number -1, equals no size
    of_row = np.append(np.repeat(np.arange(len(old.starts)), sizes[:-1]), -1)[origin]
    least, most = np.minimum.reduceat(of_row, new.starts), np.maximum.reduceat(of_row, new.starts)
    same = (least == most) & (sizes[least] == np.diff(new.starts, append=len(new.keys)))
    before = np.where(same, least, -1)
    return Changed(new, before, np.setdiff1d(np.arange(len(old.starts)), before))
