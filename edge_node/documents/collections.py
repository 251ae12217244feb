"""Corpora in JSON Lines, row by row: one bad row is reported and costs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, BinaryIO

import orjson

from edge_node.documents.text import MAX_TEXT_CHARS, normalised, one_line, suffix
from shared.wire import MAX_NAME_CHARS

MAX_LINE_BYTES = 16_000_000
SUFFIXES = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class CollectionDocument:
    """One document of a corpus; ``name`` is its ``doc_id`` or ``context_id``."""

    name: str
    title: str
    text: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that gives no document.

    ``reason``: ``line_too_long``, ``not_utf8``, ``not_json``, ``not_an_object``, ``unknown_schema``, ``wrong_type``,
    ``empty``, ``too_large``, ``name_too_long`` or ``name_taken``.
    """

    line: int  # from 1
    reason: str
    message: str


class _BadRowError(ValueError):
    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def is_collection(name: str) -> bool:
    """Tell whether a file of this name is read row by row.

    >>> is_collection('corpus.JSONL'), is_collection('notes.json')
    (True, False)
    """
    return suffix(name) in SUFFIXES


def holds_documents(lines: Iterable[bytes]) -> bool:
    r"""Tell whether the rows of a collection are documents: the first that is an object says so. Without any, each is a bad row.

    >>> holds_documents([b'{"doc_id": "a", "text": "One."}\n']), holds_documents([b"\n", b'{"pump": "P-7", "lot": "L-22"}\n'])
    (True, False)
    """
    for line in lines:
        try:
            return _is_document(_row(line))
        except _BadRowError:
            continue
    return True


def lines_of(stream: BinaryIO) -> Iterator[bytes]:
    """Yield a binary file's lines; of an over-long one only enough is kept for ``iter_collection`` to refuse it."""
    while line := stream.readline(MAX_LINE_BYTES + 2):
        if len(line) == MAX_LINE_BYTES + 2 and not line.endswith(b"\n"):
            while (rest := stream.readline(1 << 20)) and not rest.endswith(b"\n"):
                pass
        yield line


def iter_collection(lines: Iterable[bytes], *, name: str) -> Iterator[CollectionDocument | BadRow]:
    r"""Yield a corpus's documents and its bad rows, in order; ``name`` is the file's, for the messages. Never raises for a row.

    Two schemas, chosen row by row: ``{doc_id, title, text, labels}`` and UltraDomain's ``{context, context_id, label,
    meta: {title}}``, where many rows repeat one context: it comes once, by its ``context_id``, else by a hash of it.
    UltraDomain's ``label`` is the domain of a text, as "economics", and no sharing label: it is ignored, like all other fields.
    Blank lines are skipped. A name that comes again with another text is a bad row.

    >>> rows = [b'{"doc_id": "a", "title": "A", "text": "One."}\n', b'{"question": "?"}\n']
    >>> [type(row).__name__ for row in iter_collection(rows, name='corpus.jsonl')]
    ['CollectionDocument', 'BadRow']
    """
    digests: dict[str, bytes] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            document = _document(_row(line))
        except _BadRowError as error:
            yield BadRow(number, error.reason, f"{name}, line {number}: {error}")
            continue
        digest = _digest(document.text)
        if document.name not in digests:
            digests[document.name] = digest
            yield document
        elif digests[document.name] != digest:
            yield BadRow(number, "name_taken", f"{name}, line {number}: {document.name!r} already stands for another text")


def _row(line: bytes) -> dict[str, Any]:
    if len(line.rstrip(b"\r\n")) > MAX_LINE_BYTES:
        raise _BadRowError("line_too_long", f"is longer than {MAX_LINE_BYTES} bytes")
    line = line.removeprefix(b"\xef\xbb\xbf")
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        if not _is_utf8(line):
            raise _BadRowError("not_utf8", "is not UTF-8") from error
        raise _BadRowError("not_json", f"is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise _BadRowError("not_an_object", "is not a JSON object")
    return row


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _is_document(row: dict[str, Any]) -> bool:
    return {"doc_id", "text"} <= row.keys() or "context" in row


def _document(row: dict[str, Any]) -> CollectionDocument:
    if not _is_document(row):
        raise _BadRowError("unknown_schema", "has neither `doc_id` and `text` nor `context`")
    if "doc_id" in row and "text" in row:
        text = _text(row, "text")
        return CollectionDocument(_identity(row, "doc_id"), _title(row), text, _labels(row.get("labels")))
    text = _text(row, "context")
    known = row.get("context_id") is not None
    identity = _identity(row, "context_id") if known else _digest(text).hex()
    meta = row.get("meta")
    return CollectionDocument(identity, _title(meta if isinstance(meta, dict) else {}), text)


def _text(row: dict[str, Any], field: str) -> str:
    value = row[field]
    if not isinstance(value, str):
        raise _BadRowError("wrong_type", f"`{field}` is not a string")
    if len(value) > MAX_TEXT_CHARS:
        raise _BadRowError("too_large", f"`{field}` is longer than {MAX_TEXT_CHARS} characters")
    text = normalised(value)
    if not any(character.isalnum() for character in text):
        raise _BadRowError("empty", f"`{field}` has no words")
    return text


def _identity(row: dict[str, Any], field: str) -> str:
    value = row[field]
    name = " ".join(normalised(str(value)).split())
    if not isinstance(value, str | int) or isinstance(value, bool) or not name:
        raise _BadRowError("wrong_type", f"`{field}` is not a name or a whole number")
    if len(name) > MAX_NAME_CHARS:
        raise _BadRowError("name_too_long", f"`{field}` is longer than {MAX_NAME_CHARS} characters")
    return name


def _title(row: dict[str, Any]) -> str:
    value = row.get("title")
    if value is not None and not isinstance(value, str):
        raise _BadRowError("wrong_type", "`title` is not a string")
    return one_line(value or "")


def _labels(value: object) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(label, str) for label in values):
        raise _BadRowError("wrong_type", "a label is not a string")
    return tuple(dict.fromkeys(label for label in map(one_line, values) if label))


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()
