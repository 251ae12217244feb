"""The layers above the passages: a summary node for every segment, made anew where a segment changed (EraRAG Alg. 1 l. 12-19, Alg. 3)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Protocol

import numpy as np

from edge_node.strategies.erarag.layer import EMPTY, Changed, Item, Layer, Segment, changed
from edge_node.strategies.erarag.segments import Bounds

KEY_BYTES = 16


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
