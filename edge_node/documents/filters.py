"""Which documents a question is about: those with some labels, languages, dates or names, instead of all."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

from edge_node.database.schema import Database
from edge_node.documents.store import read_labels
from edge_node.records import Filters
from shared.records import DocumentId
from shared.text.document_names import visible

NOTHING_MATCHES = "No document that you may read here matches these filters, or none of them is indexed yet."

# each of these reads an index alone: the documents' bytes stand between their columns
LABELS = "SELECT rowid AS at, document_id, CAST(labels AS BLOB) AS labels FROM documents"
NAMES = "SELECT rowid AS at, name FROM documents"
DATES = "SELECT rowid AS at FROM documents WHERE created_at >= ? AND created_at < ?"

_BRACKET = re.compile(r"\[(?![*?]\])")  # one that begins no [*] or [?]
_LITERAL = re.compile(r"\[([*?])\]")


def literally(text: str) -> str:
    """A path that means this text alone, whatever is in it.

    >>> literally("a*[1]")
    'a[*][1]'
    """
    return re.sub(r"[*?]", r"[\g<0>]", text)


def is_under(name: str, path: str) -> bool:
    """Whether a document's name is a path, with ``*`` for any characters and ``?`` for one, or is in the folder of that name.

    Both as they are seen, whatever characters spell them. ``[*]`` and ``[?]`` are these characters themselves; any other bracket is one.

    >>> [is_under("wards/icu/pumps.md", path) for path in ("wards/*", "wards", "wards/icu/", "*.md", "icu", "ward")]
    [True, True, True, True, False, False]
    >>> [is_under("a[1]/b?.md", path) for path in ("a[1]/b?.md", "a[1]", "a[1]/*", "*/b[?].md", "a1/*", "[a]*")]
    [True, True, True, True, False, False]
    """
    name, path = visible(name), visible(path)
    folders = (path.rstrip("/") + "/", _LITERAL.sub(r"\1", path).rstrip("/") + "/")
    return name == path or fnmatchcase(name, _BRACKET.sub("[[]", path)) or name.startswith(folders)


def outside(database: Database, filters: Filters, languages: Mapping[DocumentId, str]) -> frozenset[DocumentId]:
    """The documents that do not match; ``languages``: that of each document, where it is known. What is damaged does not match."""
    rows = database.rows(LABELS)
    there = {row["at"]: DocumentId(row["document_id"]) for row in rows}
    meant = set(there)
    if filters.labels:
        worn = {stored: read_labels(stored) or () for stored in {row["labels"] for row in rows}}
        meant &= {row["at"] for row in rows if not filters.labels.isdisjoint(worn[row["labels"]])}
    if filters.languages:
        meant &= {at for at, document in there.items() if languages.get(document) in filters.languages}
    if filters.paths:
        meant &= {row["at"] for row in database.rows(NAMES) if any(is_under(row["name"], path) for path in filters.paths)}
    if filters.since > -math.inf or filters.until < math.inf:
        meant &= {row["at"] for row in database.rows(DATES, (filters.since, filters.until))}
    return frozenset(document for at, document in there.items() if at not in meant)
