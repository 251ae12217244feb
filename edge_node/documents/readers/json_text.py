"""JSON and JSON lines: a sentence a record, which names its fields."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from edge_node.documents.readers.plain import decoded
from edge_node.documents.readers.text import ReadText, placed, row_sentence, stem
from shared.errors import UnreadableDocument
from shared.plural import counted

NOT_JSON, SAVE = "is not JSON", "save it as JSON or text again"


def read_json(name: str, data: bytes) -> ReadText:
    """Return each record of a JSON file as a sentence; of an object whose fields hold lists of objects, each of these.

    Raises UnreadableDocument: ``not_text``, ``bad_json``, ``too_large``.
    """
    try:
        records = _records(json.loads(decoded(name, data)), "")
        body, places = placed(name, ((place, _sentence(record)) for place, record in records))
    except (ValueError, RecursionError) as error:
        raise UnreadableDocument(name, "bad_json", NOT_JSON, next_step=SAVE) from error
    return ReadText(stem(name), body, places)


def read_json_lines(name: str, data: bytes) -> ReadText:
    """Return each line of a JSON lines file as a sentence; lines that are not JSON, such as one that is half written, are a shortfall.

    Raises UnreadableDocument: ``not_text``, ``bad_json`` where no line is JSON, ``too_large``.
    """
    bad: list[int] = []
    body, places = placed(name, _lines(decoded(name, data), bad))
    if bad and not body:
        raise UnreadableDocument(name, "bad_json", NOT_JSON, next_step=SAVE)
    shortfalls = (("part_unread", f"not JSON: {counted(len(bad), 'row')}, first row {bad[0]}"),) if bad else ()
    return ReadText(stem(name), body, places, shortfalls)


def _lines(text: str, bad: list[int]) -> Iterator[tuple[str, str]]:
    """Each line's sentence with its place; the numbers of those that are not JSON go into ``bad``."""
    for number, line in enumerate(text.split("\n"), start=1):  # a string may hold other ends of lines as they are
        if line.strip():
            try:
                said = _sentence(json.loads(line))
            except (ValueError, RecursionError):
                bad.append(number)
            else:
                yield f"row {number}", said


def _sentence(record: Any) -> str:
    """The sentence that names a record's fields, those inside it with both names: "supplier name"."""
    pairs = list(_flat(record, ""))
    return row_sentence([name for name, _ in pairs], [value for _, value in pairs])


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
