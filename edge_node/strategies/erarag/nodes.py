"""Nodes by what they stand for: the passages below them, their place in a layer, and when a model's text still holds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from edge_node.strategies.erarag.segments import hash_codes, positions_of
from edge_node.strategies.erarag.store import TreeNode
from edge_node.strategies.erarag.tree import Item
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


@dataclass(frozen=True, slots=True, eq=False)
class TreeView:
    """A value: a node by its id; and in ``parents`` the node above each passage, by chunk id, and above each node, by node id."""

    nodes: Mapping[str, TreeNode] = field(default_factory=dict)
    parents: Mapping[str, str] = field(default_factory=dict)

    def above(self, chunk_ids: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Each node above some passages once, lowest first, with the first passage below it."""
        met = set[str]()
        for chunk_id in chunk_ids:
            node_id = self.parents.get(chunk_id)
            while node_id is not None and node_id not in met:
                met.add(node_id)
                yield node_id, chunk_id
                node_id = self.parents.get(node_id)

    def without(self, gone: Collection[str]) -> TreeView:
        """Without some nodes; none that stays may lie above one of them."""
        if not gone:
            return self
        nodes = {key: node for key, node in self.nodes.items() if key not in gone}
        return TreeView(nodes, {member: key for member, key in self.parents.items() if key not in gone})

    def grown(self, new: Iterable[TreeNode], passages: Collection[str]) -> TreeView:
        """With those new nodes that are whole: whose members are among ``passages``, by leaf key, or shown nodes themselves.

        What is shown already is replaced.
        """
        nodes, parents = {**self.nodes}, {**self.parents}
        for node in sorted(new, key=lambda node: node.level):
            if node.node_id in nodes or all(member in (passages if node.level == PASSAGES else nodes) for member in node.members):
                nodes[node.node_id] = node
                parents |= dict.fromkeys(map(chunk_of, node.members) if node.level == PASSAGES else node.members, node.node_id)
        return TreeView(nodes, parents)
