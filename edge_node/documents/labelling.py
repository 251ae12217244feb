"""Other labels for a document that is here, without its content being sent again."""

from __future__ import annotations

import json
from collections.abc import Sequence

from edge_node.database.schema import Database
from edge_node.documents.store import WHOLE, labels_watched
from shared.errors import Conflict, NotFound
from shared.records import DocumentId


def relabel(database: Database, identity: DocumentId, labels: Sequence[str]) -> None:
    """Give a document other labels: counted as a change, so that summaries and memories are looked at anew.

    They are those of its name: of the version that is served, and of one that waits, which would undo them else. Another version that is
    damaged on disk keeps what it has. Raises NotFound, and Conflict where the document itself is damaged.
    """
    listed = json.dumps(tuple(labels))
    with database.write() as tx:
        row = tx.execute(f"SELECT name, {WHOLE} AS whole FROM documents WHERE document_id = ?", (identity,)).fetchone()
        if row is None:
            raise NotFound("document", identity)
        if not row["whole"]:
            raise Conflict("this document is damaged on disk", next_step="send it again, with its labels")
        with labels_watched(tx, row["name"]):
            tx.execute(
                f"UPDATE documents SET labels = ?1, row_crc = crc(document_id, name, title, ?1, reader) WHERE name = ?2 AND {WHOLE}",
                (listed, row["name"]),
            )
