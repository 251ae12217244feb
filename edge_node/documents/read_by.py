"""Which pack read which chunk, on disk: for the status and the filter of languages. ``languages.py`` has those that decide what leaves."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from edge_node.database.schema import Database
from edge_node.extraction.nlp import ReadBy
from edge_node.extraction.packs.table import INSTALL, MODEL_NAMES, PACKS, installed_pack, typed_by
from shared.records import ChunkId
from shared.sqlite import crc

SAMPLE = 2_000  # passages, in the order of their ids, which are hashes: all would be counted for each short document


@dataclass(frozen=True, slots=True)
class LanguageCount:
    """How many passages of a language one pack read; "": none did. ``next_step``: what would have their names found.

    ``typed``: as ``typed_by``, where a pack read them.
    """

    language: str
    pack: str
    passages: int
    next_step: str = ""
    typed: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReadByDraft:
    """Implements ChunkDraft: written with the chunks."""

    rows: Sequence[ReadBy]

    def write(self, tx: sqlite3.Connection) -> None:
        """Note who read them."""
        values = [(one.chunk_id, one.language, one.pack, crc(one.chunk_id, one.language, one.pack)) for one in self.rows]
        tx.executemany("INSERT OR REPLACE INTO chunk_readers VALUES (?, ?, ?, ?)", values)

    def show(self, replaced: Sequence[ChunkId]) -> None:
        """Nothing: no search reads it."""


def language_counts(database: Database) -> list[LanguageCount]:
    """The passages by language and pack, most first; those of an older release, which knew no packs, are left out."""
    query = "SELECT language, pack, count(*) AS n FROM chunk_readers GROUP BY 1, 2 ORDER BY n DESC, 1, 2"
    return [_counted(row) for row in database.rows(query)]


def usual_language(database: Database) -> str:
    """The language of more than half of the site's passages, so far as ``SAMPLE`` of them tell; "": there is none."""
    counts = Counter[str]()
    for row in database.rows(f"SELECT language, count(*) AS n FROM (SELECT language FROM chunk_readers LIMIT {SAMPLE}) GROUP BY 1"):
        counts[row["language"]] = row["n"]
    return next((language for language, number in counts.items() if number * 2 > counts.total()), "")


def with_languages(database: Database, views: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Views of documents, each with the ``languages`` of its passages as ``LanguageCount``, most first; none where it is not told."""
    query = (
        "SELECT document_id, language, pack, count(*) AS n FROM chunk_readers JOIN chunks USING (chunk_id)"
        " WHERE document_id IN (SELECT value FROM json_each(?)) GROUP BY 1, 2, 3 ORDER BY n DESC, 2, 3"
    )
    found = defaultdict[str, list[dict[str, Any]]](list)
    for row in database.rows(query, (json.dumps([view["document_id"] for view in views]),)):
        found[row["document_id"]].append(asdict(_counted(row)))
    return [view | {"languages": found[view["document_id"]]} for view in views]


def _counted(row: sqlite3.Row) -> LanguageCount:
    language, pack = row["language"], row["pack"]
    return LanguageCount(language, pack, row["n"], next_step(language, pack), typed_by(language) if pack else {})


def next_step(language: str, pack: str) -> str:
    """What would have the names of passages found that nobody has read.

    >>> next_step("de", "HanTa 1.2.1 r1"), next_step("tlh", "")
    ('', 'no pack knows this language: DGRAG_EDGE_EXTRACTION_SHARE=1 has the model find its names')
    """
    if pack:
        return ""
    if language not in PACKS:
        return f"no pack knows this language: {MODEL_NAMES}"
    return "retry these documents: the pack is installed now" if installed_pack(language) else f"{INSTALL}, restart, and retry them"
