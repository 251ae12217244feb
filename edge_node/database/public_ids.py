"""The ids by which other sites know documents, reports and memories: the store's own are made of texts, which a guesser could try."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from edge_node.database.schema import Database
from shared.records import ChunkId, DocumentId

MADE_WITH = "outside_ids"  # key in meta: a secret; only this store and its backups have it
ID_CHARS = 24


class PublicIds:
    """HMAC-SHA-256 under a secret of the store: the same id each time, which says nothing to whoever has not got the secret.

    It cannot be undone. Whoever has the things themselves looks for the one that has the id: documents here, reports in ``Supervisor``.
    """

    def __init__(self, database: Database) -> None:
        if not database.meta(MADE_WITH):
            database.set_meta(MADE_WITH, secrets.token_hex(32))
        self._database = database
        self._secret = database.meta(MADE_WITH).encode()

    def of(self, identity: DocumentId) -> DocumentId:
        """The id of a document outside."""
        return DocumentId(hmac.digest(self._secret, identity.encode(), hashlib.sha256).hex()[:ID_CHARS])

    def of_chunk(self, chunk_id: ChunkId) -> ChunkId:
        """The id of a chunk outside: its document's, and the same number."""
        identity, _, number = chunk_id.rpartition(":")
        return ChunkId(f"{self.of(DocumentId(identity))}:{number}")

    def of_report(self, community_id: str) -> str:
        """The id of a report outside; empty: of none."""
        told = hmac.digest(self._secret, b"report:" + community_id.encode(), hashlib.sha256).hex()[:ID_CHARS]
        return told if community_id else ""

    def of_memory(self, memory_id: str) -> str:
        """The id of a memory outside."""
        return hmac.digest(self._secret, b"memory:" + memory_id.encode(), hashlib.sha256).hex()[:ID_CHARS]

    def opened(self, outside: str) -> DocumentId | None:
        """The document of an id from outside; None: of no document that is here. Reads the ids of all documents."""
        rows = self._database.stream("SELECT document_id FROM documents")
        return next((DocumentId(row["document_id"]) for row in rows if self.of(row["document_id"]) == outside), None)
