"""Mentions, aliases, vectors, subgraphs and summaries: what the write path leaves behind."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from edge_node.store.database import Database, crc
from edge_node.store.documents import delete_chunks, insert_chunks
from shared.errors import NotFound, StoreError
from shared.ports import FloatArray
from shared.records import Chunk, ChunkId, EntityMention, RelationMention, Subgraph, Summary, SummaryDelta, SummaryId

VectorKind = Literal["chunk", "entity", "relation"]
DELTA_ROWS = 500  # summaries in one delta: the cloud embeds them within one request's deadline
DELTA_CHARS = 1_000_000  # at most 6 bytes each in JSON: under the cloud's 8 MiB a body
DROPPED = "tombstones_dropped"  # key in meta: the version up to which tombstones are gone


@dataclass(frozen=True, slots=True)
class VectorRows:
    """Vectors of one kind: row i of ``vectors`` (n, d) belongs to ``keys[i]``."""

    keys: tuple[str, ...]
    text_hashes: tuple[str, ...]
    vectors: FloatArray


class GraphStore:
    """The tables behind the knowledge graph."""

    def __init__(self, database: Database) -> None:
        self.database = database

    # ------------------------------------------------------------ chunks with their mentions

    def save_chunks(
        self, chunks: Sequence[Chunk], entities: Sequence[EntityMention], relations: Sequence[RelationMention], rows: VectorRows
    ) -> None:
        """Commit all chunks of their documents, their mentions and their vectors in one transaction, in place of any former ones.

        Repeating it changes nothing. Raises NotFound when their document was removed meanwhile.
        """
        with self.database.write() as tx:
            for document_id in sorted({chunk.document_id for chunk in chunks}):
                if tx.execute("SELECT 1 FROM documents WHERE document_id = ?", (document_id,)).fetchone() is None:
                    raise NotFound("document", document_id)
                delete_chunks(tx, document_id)
            insert_chunks(tx, chunks)
            tx.executemany(
                "INSERT INTO entity_mentions VALUES (?, ?, ?, ?, ?)", [(m.chunk_id, m.key, m.name, m.type, m.description) for m in entities]
            )
            tx.executemany(
                "INSERT INTO relation_mentions VALUES (?, ?, ?, ?, ?, ?)",
                [(m.chunk_id, m.source, m.target, m.description, json.dumps(m.keywords), m.strength) for m in relations],
            )
            tx.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)", _vector_values("chunk", rows))

    def entity_mentions(self) -> list[EntityMention]:
        """All of them, by chunk."""
        rows = self.database.stream("SELECT chunk_id, key, name, type, description FROM entity_mentions ORDER BY chunk_id, rowid")
        return [EntityMention(row["key"], row["name"], row["type"], row["description"], ChunkId(row["chunk_id"])) for row in rows]

    def relation_mentions(self) -> list[RelationMention]:
        """All of them, by chunk."""
        rows = self.database.stream("SELECT * FROM relation_mentions ORDER BY chunk_id, rowid")
        return [
            RelationMention(
                row["source"],
                row["target"],
                row["description"],
                tuple(json.loads(row["keywords"])),
                row["strength"],
                ChunkId(row["chunk_id"]),
            )
            for row in rows
        ]

    def chunk_documents(self) -> dict[str, str]:
        """Document id of every chunk."""
        return {row["chunk_id"]: row["document_id"] for row in self.database.stream("SELECT chunk_id, document_id FROM chunks")}

    def chunk_texts(self) -> Iterator[str]:
        """The text of every chunk, one by one."""
        for row in self.database.stream("SELECT text FROM chunks ORDER BY chunk_id"):
            yield row["text"]

    # ------------------------------------------------------------ vectors

    def vectors(self, kind: VectorKind, dimensions: int) -> VectorRows:
        """All vectors of a kind. Raises StoreError for a damaged one, or one of another dimension."""
        count = self.database.row("SELECT count(*) AS n FROM vectors WHERE kind = ?", (kind,))
        matrix = np.empty((count["n"] if count else 0, dimensions), dtype=np.float32)
        keys: list[str] = []
        hashes: list[str] = []
        for row in self.database.stream("SELECT key, text_hash, vector, crc FROM vectors WHERE kind = ? ORDER BY key", (kind,)):
            if crc(row["vector"]) != row["crc"] or len(row["vector"]) != 4 * dimensions:
                step = "restore a backup, or index the documents again into a new state folder"
                raise StoreError(f"the {kind} vector of {row['key']!r} is damaged or of another dimension", next_step=step)
            matrix[len(keys)] = np.frombuffer(row["vector"], dtype="<f4")
            keys.append(row["key"])
            hashes.append(row["text_hash"])
        return VectorRows(tuple(keys), tuple(hashes), matrix)

    def save_vectors(self, kind: VectorKind, rows: VectorRows, *, drop: Sequence[str]) -> None:
        """Insert or replace some, and drop others."""
        with self.database.write() as tx:
            tx.executemany("DELETE FROM vectors WHERE kind = ? AND key = ?", [(kind, key) for key in drop])
            tx.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)", _vector_values(kind, rows))

    # ------------------------------------------------------------ partition and summaries

    def subgraphs(self) -> dict[str, tuple[str, ...]]:
        """Members by subgraph id."""
        return {row["subgraph_id"]: tuple(json.loads(row["entities"])) for row in self.database.rows("SELECT * FROM subgraphs")}

    def summaries(self) -> list[Summary]:
        """The present summaries, by id. Raises StoreError for a damaged one."""
        rows = self.database.rows("SELECT * FROM summaries WHERE removed = 0 ORDER BY summary_id")
        for row in rows:
            if crc(row["text"]) != row["crc"]:
                raise StoreError(f"summary {row['summary_id']} is damaged on disk", next_step="restore a backup")
        return [Summary(SummaryId(row["summary_id"]), row["text"], row["entities"], row["relations"]) for row in rows]

    def summary_hashes(self) -> dict[str, str]:
        """What each present summary was made of."""
        return {
            row["summary_id"]: row["input_hash"]
            for row in self.database.rows("SELECT summary_id, input_hash FROM summaries WHERE removed = 0")
        }

    def save_partition(
        self,
        subgraphs: Sequence[Subgraph],
        changed: Sequence[Summary],
        hashes: Mapping[str, str],
        aliases: Sequence[tuple[str, str, str, float]],
    ) -> None:
        """Commit partition, aliases and changed summaries; what is in no subgraph any more becomes a tombstone.

        The version rises by one if, and only if, the cloud has something to learn.
        """
        present = {subgraph.subgraph_id for subgraph in subgraphs}
        with self.database.write() as tx:
            tx.execute("DELETE FROM subgraphs")
            tx.executemany("INSERT INTO subgraphs VALUES (?, ?)", [(s.subgraph_id, json.dumps(s.entities)) for s in subgraphs])
            tx.execute("DELETE FROM aliases")
            tx.executemany("INSERT INTO aliases VALUES (?, ?, ?, ?)", aliases)
            gone = [
                row["summary_id"]
                for row in tx.execute("SELECT summary_id FROM summaries WHERE removed = 0")
                if row["summary_id"] not in present
            ]
            if not changed and not gone:
                return
            version = int(tx.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()["value"]) + 1
            tx.execute("UPDATE meta SET value = ? WHERE key = 'version'", (str(version),))
            tx.executemany(
                "UPDATE summaries SET removed = 1, text = '', crc = 0, version = ? WHERE summary_id = ?",
                [(version, summary_id) for summary_id in gone],
            )
            tx.executemany(
                "INSERT OR REPLACE INTO summaries VALUES (?, ?, ?, ?, ?, ?, ?, 0)",
                [(s.summary_id, s.text, crc(s.text), hashes[s.summary_id], s.entities, s.relations, version) for s in changed],
            )

    def version(self) -> int:
        """The newest version of the summaries."""
        return int(self.database.meta("version", "0"))

    def epoch(self) -> str:
        """The name of this store's history of versions."""
        return self.database.meta("epoch")

    def renew_epoch(self) -> None:
        """Start a new history: the cloud knows a later version of this store, so this one was restored from a backup."""
        self.database.set_meta("epoch", secrets.token_hex(8))

    def delta(self, *, epoch: str, version: int) -> SummaryDelta:
        """What a cloud that knows ``version`` of ``epoch`` must learn, or the first page of it; a snapshot if nothing can follow that.

        When a page is full, the other rows get a version of their own, above the newest: a delta of the next page, like any
        later change. So every page is complete for its version, a cut between two pages needs no care, and a row that is
        stamped but not yet asked for is at worst sent twice.
        """
        with self.database.write() as tx:  # one view of versions and rows, and no change between reading and stamping
            meta = {row["key"]: row["value"] for row in tx.execute("SELECT key, value FROM meta")}
            mine, newest = meta["epoch"], int(meta["version"])
            follows = epoch == mine and int(meta.get(DROPPED, 0)) <= version <= newest
            base = version if follows else 0
            changed = "SELECT * FROM summaries WHERE version > ? AND (? OR NOT removed) ORDER BY version, summary_id"
            rows = tx.execute(changed, (base, base)).fetchall()
            page = rows[: _page_rows([len(row["text"]) for row in rows])]
            if rest := rows[len(page) :]:
                tx.executemany("UPDATE summaries SET version = ? WHERE summary_id = ?", [(newest + 1, row["summary_id"]) for row in rest])
                tx.execute("UPDATE meta SET value = ? WHERE key = 'version'", (str(newest + 1),))
        told = [row for row in page if not row["removed"] and row["text"].strip()]
        upserts = tuple(Summary(SummaryId(row["summary_id"]), row["text"], row["entities"], row["relations"]) for row in told)
        known = {row["summary_id"] for row in told}
        removals = tuple(SummaryId(row["summary_id"]) for row in page if row["summary_id"] not in known) if base else ()
        return SummaryDelta(mine, base, newest, upserts, removals)

    def drop_tombstones(self, *, version: int) -> None:
        """Forget what was removed up to ``version``, which the cloud has acknowledged; a cloud that knows less gets a snapshot."""
        if self.database.row("SELECT 1 FROM summaries WHERE removed = 1 AND version <= ?", (version,)) is None:
            return
        with self.database.write() as tx:
            tx.execute("DELETE FROM summaries WHERE removed = 1 AND version <= ?", (version,))
            tx.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (DROPPED, str(version)))


def _page_rows(chars: Sequence[int]) -> int:
    """How many rows with texts of so many characters fit into one delta; at least one."""
    total = 0
    for row, length in enumerate(chars):
        total += length
        if row and (row >= DELTA_ROWS or total > DELTA_CHARS):
            return row
    return len(chars)


def _vector_values(kind: VectorKind, rows: VectorRows) -> list[tuple[str, str, str, bytes, int]]:
    blobs = [vector.astype("<f4").tobytes() for vector in rows.vectors]
    return [(kind, key, text_hash, blob, crc(blob)) for key, text_hash, blob in zip(rows.keys, rows.text_hashes, blobs, strict=True)]
