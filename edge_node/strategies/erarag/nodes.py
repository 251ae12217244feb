"""Nodes by what they stand for: the passages below them, their place in a layer, and when a model's text still holds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b

from edge_node.store.tree import TreeNode
from edge_node.strategies.erarag.layer import Item
from edge_node.strategies.erarag.planes import hash_codes, positions_of
from shared.ports import FloatArray
from shared.records import ChunkId

PASSAGES = 1  # the level whose members are passages
BEFORE_HASH = "@"


def leaf_key(chunk_id: str, text_hash: str) -> str:
    """Name a passage with its text: another text is another passage.

    >>> chunk_of(leaf_key("d:0", "f00d"))
    'd:0'
    """
    return f"{chunk_id}{BEFORE_HASH}{text_hash}"


def is_leaf(key: str) -> bool:
    """Whether a key is a passage's; a node's is hexadecimal.

    >>> is_leaf(leaf_key("d:0", "f00d")), is_leaf("f00d")
    (True, False)
    """
    return BEFORE_HASH in key


def chunk_of(key: str) -> ChunkId:
    """Inverse of ``leaf_key``."""
    return ChunkId(key.rpartition(BEFORE_HASH)[0])


def number_of(key: str) -> int:
    """A passage as 64 bits: what a text was made of is remembered by them."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), signed=True)


def leaves_under(members: Iterable[str], nodes: Mapping[str, TreeNode]) -> Iterator[str]:
    """The passages that are, or lie below, some members, in the tree's order; nothing below what is not there."""
    waiting = [*members][::-1]
    while waiting:
        member = waiting.pop()
        if is_leaf(member):
            yield member
        elif (node := nodes.get(member)) is not None:
            waiting += reversed(node.members)


def placed(keys: Sequence[str], vectors: FloatArray, planes: FloatArray) -> list[Item]:
    """Items with their places; keys (n,), vectors (n, d), planes (b, d)."""
    positions = positions_of(keys, hash_codes(vectors, planes), bits=len(planes))
    return [Item(key, int(position)) for key, position in zip(keys, positions, strict=True)]


def inherited(former: Iterable[TreeNode], passages: Collection[int], *, staleness: float) -> TreeNode | None:
    """The node whose text can stand for these passages: made of some of them, of nothing else, and of all but a share < ``staleness``.

    Beyond the paper, whose Alg. 3 l. 12 writes every touched segment again. The one made of most of them; ties by id.
    """
    fit = [node for node in former if passages and set(node.made_of) <= set(passages) and 1 - len(node.made_of) / len(passages) < staleness]
    return min(fit, key=lambda node: (-len(node.made_of), node.node_id), default=None)
