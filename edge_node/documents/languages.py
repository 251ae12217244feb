"""The language of each chunk on disk; what is not told here, or damaged, is unknown."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from edge_node.database.schema import Database
from shared.records import ChunkId, DocumentId, whole_of
from shared.sqlite import crc
from shared.text.language import READ

TOLD = "languages_told"  # key in meta: how often some were written
SOUND = "SELECT chunk_id FROM chunk_languages WHERE crc(CAST(chunk_id AS BLOB), CAST(language AS BLOB)) = crc"
TELLING = SOUND.replace("chunk_id FROM", "chunk_id, language FROM")
READ_IN = "SELECT chunk_id, language FROM chunk_readers WHERE crc(CAST(chunk_id AS BLOB), CAST(language AS BLOB), CAST(pack AS BLOB)) = crc"
IS_READ = (  # both who decides what leaves and who has found the names took it for English
    f"{SOUND} AND language = '{READ}' AND chunk_id NOT IN (SELECT chunk_id FROM chunk_readers WHERE language <> '{READ}')"
)
UNREAD = f"SELECT chunk_id, document_id FROM chunks WHERE chunk_id NOT IN ({IS_READ})"
State = tuple[int, ...]


class Languages:
    """Table chunk_languages."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def untold(self) -> list[DocumentId]:
        """The documents some of whose chunks have a language that is not known."""
        return [
            row["document_id"] for row in self._database.rows(f"SELECT DISTINCT document_id FROM chunks WHERE chunk_id NOT IN ({SOUND})")
        ]

    def texts(self, document: DocumentId) -> tuple[str, dict[ChunkId, str]]:
        """The title of a document, and the texts of its chunks in their order."""
        query = (
            "SELECT chunk_id, title, text FROM chunks JOIN documents USING (document_id) WHERE document_id = ? ORDER BY ordinal, chunk_id"
        )
        rows = self._database.rows(query, (document,))
        return (rows[0]["title"] if rows else ""), {ChunkId(row["chunk_id"]): row["text"] for row in rows}

    def save(self, languages: Mapping[ChunkId, str]) -> None:
        """Note the languages of chunks; those that are gone meanwhile are left out."""
        rows = [(chunk_id, language, crc(chunk_id, language), chunk_id) for chunk_id, language in languages.items()]
        with self._database.write() as tx:
            tx.executemany(
                "INSERT OR REPLACE INTO chunk_languages SELECT ?, ?, ? WHERE EXISTS (SELECT 1 FROM chunks WHERE chunk_id = ?)", rows
            )
            tx.execute("UPDATE meta SET value = value + 1 WHERE key = ?", (TOLD,))

    def of_documents(self) -> dict[DocumentId, str]:
        """The language that the most of each document is in; without documents of which none is known.

        A chunk is in the language that it was read in; where that is not told, in the one that decides what leaves.
        """
        query = (
            f"SELECT document_id, coalesce(readers.language, told.language) AS spoken, sum(tokens) AS n FROM chunks"
            f" LEFT JOIN ({READ_IN}) AS readers USING (chunk_id) LEFT JOIN ({TELLING}) AS told USING (chunk_id)"
            " WHERE spoken IS NOT NULL GROUP BY document_id, spoken ORDER BY n, spoken DESC"
        )
        return {row["document_id"]: row["spoken"] for row in self._database.rows(query)}

    def unread(self) -> frozenset[str]:
        """What no detector of names reads: documents none of whose chunks is read, by id, and of others the single chunks."""
        found: dict[DocumentId, list[str]] = {}
        for row in self._database.stream(UNREAD):
            found.setdefault(row["document_id"], []).append(row["chunk_id"])
        sizes = self._sizes(found)
        whole = {document for document, chunks in found.items() if len(chunks) >= sizes.get(document, 0)}
        return frozenset(whole | {chunk for document, chunks in found.items() if document not in whole for chunk in chunks})

    def are_read(self, chunk_ids: Collection[str]) -> bool:
        """Whether the chunks of all these passages are in a language that the detector reads."""
        query = f"SELECT count(*) AS n FROM ({IS_READ} AND chunk_id IN (SELECT value FROM json_each(?)))"
        whole = set(map(whole_of, chunk_ids))
        row = self._database.row(query, (json.dumps(sorted(whole)),))
        return row is not None and row["n"] == len(whole)

    def counts(self) -> dict[str, int]:
        """Chunks that are not read, by language; "": not known yet."""
        query = (
            f"SELECT CASE told.language WHEN '{READ}' THEN coalesce(readers.language, '{READ}')"
            " ELSE coalesce(told.language, '') END AS spoken, count(*) AS n FROM chunks LEFT JOIN chunk_languages AS told USING (chunk_id)"
            " LEFT JOIN chunk_readers AS readers USING (chunk_id)"
            f" GROUP BY spoken HAVING spoken != '{READ}' ORDER BY n DESC, spoken"
        )
        return {row["spoken"]: row["n"] for row in self._database.rows(query)}

    def state(self) -> State:
        """Numbers that are others after any change of chunks or their languages."""
        row = self._database.row(
            "SELECT count(*) AS chunks, coalesce(max(rowid), 0) AS last, (SELECT count(*) FROM chunk_languages) AS told FROM chunks"
        )
        return (*(tuple(row) if row else ()), int(self._database.meta(TOLD, "0")))

    def _sizes(self, documents: Collection[DocumentId]) -> dict[DocumentId, int]:
        query = "SELECT document_id, count(*) AS n FROM chunks WHERE document_id IN (SELECT value FROM json_each(?)) GROUP BY document_id"
        return {row["document_id"]: row["n"] for row in self._database.rows(query, (json.dumps(sorted(documents)),))}
