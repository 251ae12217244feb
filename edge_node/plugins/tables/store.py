"""Tables of documents, in the edge's store.

They are written before the chunks of their document, and seen with them: an upload that is still
being read answers no question. A site of an earlier release gets the tables of its documents when
these are read again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

from edge_node.database.schema import Database
from edge_node.documents.store import HAS_CHUNKS
from edge_node.records import Cell, Table
from shared.records import ChunkId, DocumentId, Mark, document_of, is_chunk
from shared.sqlite import crc

TABLE_CRC = (
    "crc(document_id, ordinal, document_tables.name, headings, first_row) = document_tables.crc"
)
ROW_CRC = "crc(document_id, ordinal, row, cells) = crc"


@dataclass(frozen=True, slots=True)
class TableKey:
    """Which table of which document; ``version`` is another one where its content may be."""

    document_id: DocumentId
    ordinal: int
    version: int


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table with the name and title of its document."""

    key: TableKey
    document: str
    title: str
    table: Table
    siblings: tuple[str, ...] = ()  # names of the other tables of its document


@dataclass(frozen=True, slots=True)
class Passage:
    """Where a row's sentence stands in the text of its document."""

    chunk_id: ChunkId
    span: tuple[int, int]


class TableStore:
    """Tables ``document_tables`` and ``table_rows``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, document: DocumentId, tables: Sequence[Table]) -> None:
        """Write a document's tables in place of those it had.

        Nothing happens where the document was removed meanwhile.
        """
        had = self._database.row(
            "SELECT 1 FROM document_tables WHERE document_id = ? LIMIT 1", (document,)
        )
        if had is None and not tables:
            return
        with self._database.write() as tx:
            for name in ("document_tables", "table_rows"):
                tx.execute(f"DELETE FROM {name} WHERE document_id = ?", (document,))
            if (
                tx.execute("SELECT 1 FROM documents WHERE document_id = ?", (document,)).fetchone()
                is None
            ):
                return
            for ordinal, table in enumerate(tables):
                fields = (
                    document,
                    ordinal,
                    table.name,
                    json.dumps(table.headings, ensure_ascii=False),
                    table.first_row,
                )
                tx.execute(
                    "INSERT INTO document_tables VALUES (?, ?, ?, ?, ?, ?)", (*fields, crc(*fields))
                )
                rows = [
                    (document, ordinal, table.first_row + at, _text(cells))
                    for at, cells in enumerate(table.rows)
                    if cells
                ]
                tx.executemany(
                    "INSERT INTO table_rows VALUES (?, ?, ?, ?, ?)",
                    [(*row, crc(*row)) for row in rows],
                )

    def keys(self, withheld: Collection[str]) -> list[TableKey]:
        """The tables of documents that are served.

        Those of a document that is withheld, or of which a chunk is, are left out.
        """
        hidden = {
            document_of(identity) if is_chunk(identity) else identity for identity in withheld
        }
        query = (
            "SELECT document_id, ordinal, document_tables.crc AS crc, documents.row_crc AS version"
            " FROM document_tables JOIN documents USING (document_id)"
            f" WHERE {HAS_CHUNKS.format('document_tables')}"
            " AND document_id NOT IN (SELECT value FROM json_each(?))"
        )
        rows = self._database.rows(query, (json.dumps(sorted(hidden)),))
        return [
            TableKey(
                DocumentId(row["document_id"]), row["ordinal"], crc(row["crc"], row["version"])
            )
            for row in rows
        ]

    def load(self, key: TableKey) -> StoredTable | None:
        """A table with its rows; None where it is gone, or damaged on disk."""
        query = (
            "SELECT documents.name AS document, title, document_tables.name AS name, headings,"
            " first_row FROM document_tables JOIN documents USING (document_id)"
            f" WHERE document_id = ? AND ordinal = ? AND {TABLE_CRC}"
        )
        head = self._database.row(query, (key.document_id, key.ordinal))
        if head is None:
            return None
        query = (
            "SELECT row, cells FROM table_rows"
            f" WHERE document_id = ? AND ordinal = ? AND {ROW_CRC} ORDER BY row"
        )
        rows = list[tuple[Cell, ...]]()
        for row in self._database.rows(query, (key.document_id, key.ordinal)):
            rows += [()] * (row["row"] - head["first_row"] - len(rows))
            rows.append(tuple(json.loads(row["cells"])))
        table = Table(
            head["name"], tuple(json.loads(head["headings"])), tuple(rows), head["first_row"]
        )
        query = "SELECT name FROM document_tables WHERE document_id = ? AND ordinal != ?"
        others = self._database.rows(query, (key.document_id, key.ordinal))
        siblings = tuple(str(row["name"]) for row in others)
        return StoredTable(key, head["document"], head["title"], table, siblings)

    def passages(self, document: DocumentId, places: Collection[str]) -> dict[str, Passage]:
        """For each of these places of a document the passage that says it, where a chunk does."""
        query = (
            "SELECT chunk_id, start, end, places FROM chunks"
            " WHERE document_id = ? AND places != '' ORDER BY ordinal"
        )
        marks, chunks = dict[int, str](), list[tuple[ChunkId, int, int]]()
        for row in self._database.rows(query, (document,)):
            chunks.append((ChunkId(row["chunk_id"]), row["start"], row["end"]))
            marks.update(_marks(row["places"]))
        starts, found = sorted(marks), dict[str, Passage]()
        for at, following in pairwise([*starts, 2**53]):
            after = following - 1
            around = [chunk for chunk in chunks if chunk[1] <= at < chunk[2]]
            if around and marks[at] in places and marks[at] not in found:
                chunk_id, _, end = max(around, key=itemgetter(2))
                found[marks[at]] = Passage(chunk_id, (at, min(after, end)))
        return found

    def saying(self, document: DocumentId, sentence: str) -> Passage | None:
        """The passage where a document says this: a row of a Word file or a PDF has no place."""
        query = (
            "SELECT chunk_id, start + instr(text, ?) - 1 AS at FROM chunks"
            " WHERE document_id = ? AND instr(text, ?) > 0 ORDER BY ordinal LIMIT 1"
        )
        row = self._database.row(query, (sentence, document, sentence))
        if row is None or not sentence:
            return None
        return Passage(ChunkId(row["chunk_id"]), (row["at"], row["at"] + len(sentence)))

    def first_chunk(self, document: DocumentId) -> ChunkId:
        """The chunk that is cited where none has a row's place."""
        row = self._database.row(
            "SELECT chunk_id FROM chunks WHERE document_id = ? ORDER BY ordinal LIMIT 1",
            (document,),
        )
        return ChunkId(row["chunk_id"] if row else f"{document}:0")


def _text(cells: Sequence[Cell]) -> str:
    return json.dumps(cells, ensure_ascii=False)


def _marks(stored: str) -> list[Mark]:
    """The marks of a chunk; none where they are damaged."""
    try:
        return [(int(at), str(label)) for at, label in json.loads(stored)]
    except (ValueError, TypeError):
        return []
