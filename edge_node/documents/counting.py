"""How many documents there are, for what a sharing policy says of them: those that questions may find, and beside them the parked ones."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection

from edge_node.database.schema import Database
from edge_node.documents.store import read_labels

UNSERVED = """SELECT name FROM documents AS this WHERE status IN ('queued', 'running', 'parked')
    AND NOT EXISTS (SELECT 1 FROM documents JOIN chunks USING (document_id) WHERE documents.name = this.name)"""  # in no version


def label_counts(database: Database) -> dict[tuple[str, ...] | None, int]:
    """How many documents that questions may find have each list of labels, in any version; None stands for damaged ones."""
    query = f"SELECT CAST(labels AS BLOB) AS labels, count(DISTINCT name) AS n FROM documents WHERE name NOT IN ({UNSERVED}) GROUP BY 1"
    found = Counter[tuple[str, ...] | None]()
    for row in database.rows(query):
        found[read_labels(row["labels"])] += row["n"]
    return dict(found)


def served_count(database: Database, among: Collection[str] | None = None) -> int:
    """How many documents questions may find, of these or of all."""
    query, arguments = "SELECT count(DISTINCT document_id) AS n FROM chunks", list[str]()
    if among is not None:
        query, arguments = f"{query} WHERE document_id IN (SELECT value FROM json_each(?))", [json.dumps(sorted(among))]
    return sum(row["n"] for row in database.rows(query, arguments))


def parked_count(database: Database) -> int:
    """How many documents are parked, and have nothing that questions may find."""
    query = f"SELECT count(DISTINCT name) AS n FROM documents WHERE status = 'parked' AND name IN ({UNSERVED})"
    return sum(row["n"] for row in database.rows(query))
