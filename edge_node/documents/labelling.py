"""Other labels for a document that is here, without its content being sent again."""

from __future__ import annotations

import json
from collections.abc import Sequence

from edge_node.database.schema import Database
from edge_node.documents.store import WHOLE, labels_watched
from shared.errors import Conflict, NotFound
from shared.records import DocumentId
from shared.sqlite import crc


def relabel(database: Database, identity: DocumentId, labels: Sequence[str]) -> None:
    """Give a document other labels: counted as a change, so that summaries and memories are looked at anew.

    Another version of its name keeps its own, and the strictest of them counts. Raises NotFound, and Conflict where it is damaged on disk.
    """
    with database.write() as tx:
        row = tx.execute(f"SELECT name, title, reader, {WHOLE} AS whole FROM documents WHERE document_id = ?", (identity,)).fetchone()
        if row is None:
            raise NotFound("document", identity)
        if not row["whole"]:
            raise Conflict("this document is damaged on disk", next_step="send it again, with its labels")
        listed = json.dumps(tuple(labels))
        checksum = crc(identity, row["name"], row["title"], listed, row["reader"])
        with labels_watched(tx, row["name"]):
            tx.execute("UPDATE documents SET labels = ?, row_crc = ? WHERE document_id = ?", (listed, checksum, identity))
