"""What searches may find of a tree: the nodes of which everything below is there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from edge_node.store.tree import TreeNode
from edge_node.strategies.erarag.nodes import PASSAGES, chunk_of


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
