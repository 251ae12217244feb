"""EraRAG's hyperplanes and summary nodes, on disk."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from edge_node.database.schema import Database
from shared.ports import FloatArray
from shared.sqlite import crc

log = logging.getLogger("dgrag.edge.store")


@dataclass(frozen=True, slots=True, eq=False)
class TreeNode:
    """A summary of ``members``, passages or nodes of the level below. ``vector`` (d,), of the text.

    ``made_of``: a number for each passage that a model's text was made of; a plain text is always of the members as they are.
    """

    node_id: str
    level: int
    members: tuple[str, ...]
    made_of: tuple[int, ...]
    by_model: bool
    text: str
    vector: FloatArray


class TreeStore:
    """Tables tree_planes and tree_nodes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def planes(self, *, bits: int, dimensions: int) -> FloatArray | None:
        """The hyperplanes (bits, dimensions); None where there are none of that shape, or they are damaged."""
        row = self._database.row("SELECT * FROM tree_planes WHERE bits = ?", (bits,))
        if row is None or crc(row["planes"]) != row["crc"] or len(row["planes"]) != 4 * bits * dimensions:
            return None
        return np.frombuffer(row["planes"], dtype="<f4").reshape(bits, dimensions).astype(np.float32)

    def begin(self, planes: FloatArray) -> None:
        """Put hyperplanes (bits, dimensions) in the place of all that there was: nodes hang on them."""
        blob = planes.astype("<f4").tobytes()
        with self._database.write() as tx:
            tx.execute("DELETE FROM tree_nodes")
            tx.execute("INSERT OR REPLACE INTO tree_planes VALUES (1, ?, ?, ?)", (len(planes), blob, crc(blob)))

    def nodes(self, *, dimensions: int) -> list[TreeNode]:
        """All nodes. Damaged ones are left out, and made again by the next settle."""
        found = []
        for row in self._database.stream("SELECT node_id, level, members, made_of, by_model, text, vector, crc FROM tree_nodes"):
            *fields, checksum = row
            if crc(*fields) != checksum or len(fields[-1]) != 4 * dimensions:
                log.error("a damaged node of the tree is left out")
                continue
            node_id, level, members, made_of, by_model, text, blob = fields
            vector = np.frombuffer(blob, dtype="<f4").astype(np.float32)
            found.append(TreeNode(node_id, level, tuple(json.loads(members)), tuple(json.loads(made_of)), bool(by_model), text, vector))
        return found

    def clear(self) -> None:
        """Delete all nodes, which say sentences of passages. The hyperplanes stay, so that the same passages give the same tree again."""
        if self._database.row("SELECT 1 FROM tree_nodes LIMIT 1") is not None:
            with self._database.write() as tx:
                tx.execute("DELETE FROM tree_nodes")

    def commit(self, nodes: Sequence[TreeNode], gone: Collection[str]) -> None:
        """Write new nodes, and delete those that are no more, at once."""
        if nodes or gone:
            with self._database.write() as tx:
                tx.execute("DELETE FROM tree_nodes WHERE node_id IN (SELECT value FROM json_each(?))", (json.dumps(list(gone)),))
                tx.executemany("INSERT OR REPLACE INTO tree_nodes VALUES (?, ?, ?, ?, ?, ?, ?, ?)", map(_values, nodes))


def _values(node: TreeNode) -> tuple[str | int | bytes, ...]:
    blob = node.vector.astype("<f4").tobytes()
    fields = (node.node_id, node.level, json.dumps(node.members), json.dumps(node.made_of), int(node.by_model), node.text, blob)
    return (*fields, crc(*fields))
