"""The layers above the passages: a summary node for every segment, made anew where a segment changed (EraRAG Alg. 1 l. 12-19, Alg. 3)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from edge_node.strategies.erarag.segments import Bounds, IntArray, Positions, segments

KEY_BYTES = 16

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


class Make(Protocol):
    """Writes the nodes of one level: text, vector, code."""

    async def __call__(self, level: int, segments: Sequence[Segment], gone: Sequence[str]) -> Sequence[Item]:
        """Return a node for each segment; level 1 summarises passages, level 2 the nodes of level 1. ``gone``: keys of the nodes replaced.

        ``segments`` is empty where nodes only go.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A value: an update returns another one, and where it fails midway this one still holds.

    ``layers[0]`` holds the passages, ``layers[k]`` the nodes of level k; ``nodes[k][i]``, of level k + 1, is of segment i of ``layers[k]``.
    The nodes of a level get a layer of their own, and so a level above, if they are more than s_max and less than ``most_levels`` high.
    """

    bounds: Bounds
    most_levels: int  # L of the paper
    layers: tuple[Layer, ...] = ()
    nodes: tuple[tuple[Item, ...], ...] = ()

    def keys(self) -> set[str]:
        """Of all nodes."""
        return {node.key for level in self.nodes for node in level}


def node_key(level: int, members: Segment, text: str) -> str:
    """Name a node by all that it is made of: another member, or another text of one, makes another node (Alg. 3 l. 12).

    Adding something and removing it again so gives back the same nodes.

    >>> node_key(1, ("a", "b"), "Pumps.") == node_key(1, ("a", "b"), "Pumps."), len(node_key(1, ("a",), "b"))
    (True, 32)
    """
    return blake2b(json.dumps([level, members, text]).encode(), digest_size=KEY_BYTES).hexdigest()


async def updated(tree: Tree, added: Iterable[Item], removed: Collection[str], make: Make) -> Tree:
    """Put passages in and take passages out, and make anew, level by level, the nodes of the segments that changed (Alg. 3).

    On an empty tree this is the static build (Alg. 1), and opening a saved tree is a build whose ``make`` finds the nodes it has saved.
    Raises what ``make`` raises.
    """
    return await _climb(tree, 0, added, removed, make)


async def rewritten(tree: Tree, level: int, texts: Mapping[str, Item], make: Make) -> Tree:
    """Replace nodes of a level by others that have new texts, given by the old keys, and make anew what lies above them (Alg. 3 l. 12).

    Keys that are not there are passed over: their nodes are gone since. Raises what ``make`` raises.
    """
    there = {node.key: texts.get(node.key, node) for node in tree.nodes[level - 1]}
    base = replace(tree, nodes=(*tree.nodes[: level - 1], tuple(there.values()), *tree.nodes[level:]))
    new = {key: item for key, item in there.items() if item.key != key}
    if level == len(tree.layers):
        return base
    return await _climb(base, level, new.values(), new, make)


async def _climb(tree: Tree, level: int, added: Iterable[Item], removed: Collection[str], make: Make) -> Tree:
    layers, nodes = [*tree.layers[:level]], [*tree.nodes[:level]]
    while True:
        known = level < len(tree.layers)
        layer = tree.layers[level] if known else EMPTY
        change = await asyncio.to_thread(changed, layer, added, removed, bounds=tree.bounds)
        old = tree.nodes[level] if known else ()
        removed = [old[number].key for number in change.gone.tolist()]
        added = await make(level + 1, change.new, removed)
        layers.append(change.layer)
        nodes.append(_filled(change, old, added))
        level += 1
        if level == tree.most_levels or len(nodes[-1]) <= tree.bounds.s_max:
            break
        if level >= len(tree.layers):  # a new layer takes in all nodes below it, not only the new ones
            added, removed = nodes[-1], ()
    return replace(tree, layers=tuple(layers), nodes=tuple(nodes))


def _filled(change: Changed, old: Sequence[Item], made: Iterable[Item]) -> tuple[Item, ...]:
    """A node for each segment: the one it had, or the one just made for it."""
    fresh = dict(zip(np.flatnonzero(change.before < 0).tolist(), made, strict=True))
    return tuple(fresh[place] if number < 0 else old[number] for place, number in enumerate(change.before.tolist()))
