"""JSON and JSON lines: a sentence a record, which names its fields."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from edge_node.documents.readers.plain import decoded
from edge_node.documents.readers.text import ReadText, placed, row_sentence, stem
from shared.errors import UnreadableDocument


def read_json(name: str, data: bytes) -> ReadText:
    """Return each record of a JSON file as a sentence; of an object whose fields hold lists of objects, each of these.

    Raises UnreadableDocument: ``not_text``, ``bad_json``, ``too_large``.
    """
    try:
        return _told(name, _records(json.loads(decoded(name, data)), ""))
    except (ValueError, RecursionError) as error:
        raise _bad(name) from error


def read_json_lines(name: str, data: bytes) -> ReadText:
    """Return each line of a JSON lines file as a sentence. Raises UnreadableDocument: ``not_text``, ``bad_json``, ``too_large``."""
    try:
        lines = enumerate(decoded(name, data).splitlines(), start=1)
        return _told(name, ((f"row {number}", json.loads(line)) for number, line in lines if line.strip()))
    except (ValueError, RecursionError) as error:
        raise _bad(name) from error


def _told(name: str, records: Iterable[tuple[str, Any]]) -> ReadText:
    body, places = placed(name, ((place, row_sentence(*_fields(record))) for place, record in records))
    return ReadText(stem(name), body, places)


def _records(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Each record with its place. A list of objects is a table; what stands beside such lists in an object is one record."""
    if isinstance(value, list):
        for number, one in enumerate(value, start=1):
            yield f"{path}, record {number}".removeprefix(", "), one
    elif isinstance(value, dict):
        tables = {key: one for key, one in value.items() if isinstance(one, list) and one and all(isinstance(row, dict) for row in one)}
        yield path or "record 1", {key: one for key, one in value.items() if key not in tables}
        for key, one in tables.items():
            yield from _records(one, f"{path}.{key}".removeprefix("."))
    else:
        yield path or "record 1", value


def _fields(record: Any) -> tuple[list[str], list[str]]:
    """The names and values of a record's fields, of those inside it with both names: "supplier name"."""
    pairs = list(_flat(record, ""))
    return [name for name, _ in pairs], [value for _, value in pairs]


def _flat(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _flat(one, f"{path} {key}".strip())
    elif isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        for one in value:
            yield from _flat(one, path)
    elif isinstance(value, list):
        yield path, ", ".join(map(_word, value))
    elif value is not None:
        yield path, _word(value)


def _word(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _bad(name: str) -> UnreadableDocument:
    return UnreadableDocument(name, "bad_json", "is not JSON", next_step="save it as JSON or text again")
