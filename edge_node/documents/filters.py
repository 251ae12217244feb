"""Which documents a question is about: those with some labels, languages, dates or names, instead of all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from edge_node.database.schema import Database
from edge_node.documents.store import read_labels
from shared.records import DocumentId

NOTHING_MATCHES = "No document that you may read here matches these filters, or none of them is indexed yet."

ROWS = """
    SELECT document_id, name, CAST(labels AS BLOB) AS labels,
        rowid IN (SELECT rowid FROM documents WHERE created_at >= ? AND created_at < ?) AS is_then
    FROM documents"""


@dataclass(frozen=True, slots=True)
class Filters:
    """All that is given must hold; of several labels, languages or paths one must.

    ``languages``: that of the most of the document. ``paths``: as ``is_under``. ``since``, ``until``: the document came to this site in
    [since, until), in seconds since the epoch.
    """

    labels: frozenset[str] = frozenset()
    languages: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()
    since: float = -math.inf
    until: float = math.inf


def is_under(name: str, path: str) -> bool:
    """Whether a document's name is a path, with ``*`` for any characters and ``?`` for one, or is in the folder of that name.

    >>> [is_under("wards/icu/pumps.md", path) for path in ("wards/*", "wards", "wards/icu/", "*.md", "icu", "ward")]
    [True, True, True, True, False, False]
    """
    return fnmatchcase(name, path) or name.startswith(path.rstrip("/") + "/")


def outside(database: Database, filters: Filters, languages: Mapping[DocumentId, str]) -> frozenset[DocumentId]:
    """The documents that do not match; ``languages``: that of each document, where it is known. What is damaged does not match."""
    found = list[DocumentId]()
    for row in database.rows(ROWS, (filters.since, filters.until)):
        is_meant = (
            row["is_then"]
            and (not filters.labels or not filters.labels.isdisjoint(read_labels(row["labels"]) or ()))
            and (not filters.languages or languages.get(row["document_id"]) in filters.languages)
            and (not filters.paths or any(is_under(row["name"], path) for path in filters.paths))
        )
        if not is_meant:
            found.append(row["document_id"])
    return frozenset(found)
