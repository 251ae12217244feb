"""JSON and JSON lines: a sentence a record, which names its fields; lists of records are grids."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from edge_node.documents.blocks import Block, ParsedDocument, Place, TextBlock
from edge_node.documents.grid_cells import GridCell
from edge_node.documents.grids import Grid, laid_out
from edge_node.documents.parsers import Parser
from edge_node.documents.text import row_sentence, stem
from edge_node.plugins.parsers.charsets import decoded
from shared.errors import UnreadableDocument
from shared.plural import counted

MAX_COLUMNS = 200  # of a grid: records of more different fields are sentences
MIN_FILLED = 0.25  # of a grid's cells
MAX_PAIRS = 30  # of a sentence of an object that holds other ones
MAX_DIGITS = 15  # of a whole number that is exact in any program


@dataclass(frozen=True, slots=True)
class _Number:
    """A number as its file writes it: 1.50 is no 1.5."""

    written: str

    def __str__(self) -> str:
        return self.written

    @property
    def value(self) -> int | float | None:
        """None for one that no number of the machine is."""
        if len(self.written) <= MAX_DIGITS and self.written.lstrip("-").isdecimal():
            return int(self.written)
        value = float(self.written)
        return value if isfinite(value) else None


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a name that stands in it several times has a list of all its values."""
    fields = dict(pairs)
    if len(fields) == len(pairs):
        return fields
    values = dict[str, list[Any]]()
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return {name: each if len(each) > 1 else each[0] for name, each in values.items()}


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_Number, parse_int=_Number, parse_constant=_Number
)


def parse_json(name: str, data: bytes) -> ParsedDocument:
    """Each record of a JSON file; values one below the other are JSON lines, whatever the suffix.

    What is almost JSON (comments, a comma too many) is read as text, with a shortfall. Raises
    UnreadableDocument: ``not_text``; ``bad_json`` for what is nested beyond reason.
    """
    source = decoded(name, data)
    text = source.text.strip().removeprefix("\ufeff")
    try:
        blocks = tuple(value_blocks(_DECODER.decode(text), ""))
        return ParsedDocument(blocks, stem(name), source.shortfalls)
    except json.JSONDecodeError as error:
        shortfall = ("not_json", f"Line {error.lineno} is not JSON, so the file was read as text.")
    except RecursionError as error:  # of 1,000 brackets
        raise _not_json(name) from error
    records, bad = _line_records(source.text)
    if len(records) > max(1, len(bad)):
        return _lines_document(name, records, bad, source.shortfalls)
    if values := _values(text):
        return ParsedDocument(tuple(value_blocks(values, "")), stem(name), source.shortfalls)
    block = TextBlock("paragraph", source.text)
    return ParsedDocument((block,), stem(name), (*source.shortfalls, shortfall))


def parse_json_lines(name: str, data: bytes) -> ParsedDocument:
    """Each line of a JSON lines file; lines that are not JSON, as a half written one, are reported.

    Raises UnreadableDocument: ``not_text``, ``bad_json`` where no line is JSON.
    """
    source = decoded(name, data)
    records, bad = _line_records(source.text)
    if bad and not records:
        if values := _values(source.text.strip()):
            return ParsedDocument(tuple(value_blocks(values, "")), stem(name), source.shortfalls)
        raise _not_json(name)
    return _lines_document(name, records, bad, source.shortfalls)


def _not_json(name: str) -> UnreadableDocument:
    step = "save it as JSON or text again"
    return UnreadableDocument(name, "bad_json", "is not JSON", next_step=step)


def _line_records(text: str) -> tuple[list[tuple[int, Any]], list[int]]:
    """The values of lines with their numbers, and the numbers of those that are not JSON."""
    records = list[tuple[int, Any]]()
    bad = list[int]()
    for number, line in enumerate(text.split("\n"), start=1):  # a string may hold other line ends
        if not line.strip():
            continue
        try:
            records.append((number, _DECODER.decode(line)))
        except (ValueError, RecursionError):
            bad.append(number)
    return records, bad


def _lines_document(
    name: str,
    records: list[tuple[int, Any]],
    bad: list[int],
    shortfalls: tuple[tuple[str, str], ...],
) -> ParsedDocument:
    if bad:
        message = f"not JSON: {counted(len(bad), 'row')}, first row {bad[0]}"
        shortfalls = (*shortfalls, ("part_unread", message))
    return ParsedDocument(tuple(_line_blocks(records)), stem(name), shortfalls)


def _line_blocks(records: list[tuple[int, Any]]) -> Iterator[Block]:
    """A grid where a record follows the other without a gap, else a sentence for each line."""
    values = [record for _, record in records]
    first, last = records[0][0], records[-1][0]
    if _is_records(values) and last - first == len(records) - 1:
        yield from _record_blocks(values, "", first)
        return
    for number, record in records:
        yield Place(f"row {number}")
        yield TextBlock("paragraph", sentence(record))


def _values(text: str) -> list[Any]:
    """The values of a file that holds several, each over several lines; none if any is not JSON."""
    values = list[Any]()
    at = 0
    while at < len(text):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return []
        values.append(value)
        while at < len(text) and text[at].isspace():
            at += 1
    return values


def sentence(record: Any) -> str:
    """The sentence that names a record's fields, those inside it by both names: "supplier name"."""
    pairs = list(flat_pairs(record, ""))
    return row_sentence([name for name, _ in pairs], [value for _, value in pairs])


def value_blocks(value: Any, path: str) -> Iterator[Block]:
    """A list of records is a grid; what stands beside such lists in an object is a sentence."""
    if _is_records(value):
        yield from _record_blocks(value, path)
    elif _is_rows(value):
        rows = ([GridCell(_word(each)) for each in row] for row in value)
        yield laid_out(rows, name=path, has_row_places=True)
    elif isinstance(value, dict):
        yield from _object_blocks(value, path)
    else:
        yield TextBlock("paragraph", _line(list(flat_pairs(value, path))))


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)


def _is_rows(value: Any) -> bool:
    """Whether it is a table without names: lists of words and numbers, as long as the first."""
    if not isinstance(value, list) or len(value) < 2 or not isinstance(value[0], list):
        return False
    width = len(value[0])
    return width > 1 and all(isinstance(row, list) and _is_flat(row, width) for row in value)


def _is_flat(row: list[Any], width: int) -> bool:
    return len(row) == width and not any(isinstance(each, dict | list) for each in row)


def _object_blocks(value: dict[str, Any], path: str) -> Iterator[Block]:
    tables = {key: each for key, each in value.items() if _is_records(each) or _is_rows(each)}
    others = {key: each for key, each in value.items() if key not in tables}
    pairs = list(flat_pairs(others, path))
    if len(pairs) <= MAX_PAIRS:
        yield TextBlock("paragraph", _line(pairs))
    else:
        objects = {key: each for key, each in others.items() if isinstance(each, dict)}
        scalars = {key: each for key, each in others.items() if key not in objects}
        yield TextBlock("paragraph", _line(list(flat_pairs(scalars, path))))
        tables = {key: each for key, each in value.items() if key in tables or key in objects}
    for key, each in tables.items():
        yield from value_blocks(each, f"{path} {key}".strip())


def _line(pairs: list[tuple[str, str]]) -> str:
    return row_sentence([name for name, _ in pairs], [value for _, value in pairs])


def _record_blocks(records: list[dict[str, Any]], path: str, first: int = 1) -> Iterator[Block]:
    rows = [_row(record) for record in records]
    names = list(dict.fromkeys(name for row in rows for name in row))
    filled = sum(map(len, rows))
    if path:
        yield TextBlock("caption", path)
    is_even = filled >= MIN_FILLED * len(names) * len(rows) and all(rows)
    if 1 < len(names) <= MAX_COLUMNS and is_even:
        yield _grid(names, rows, path, first)
        return
    for number, row in enumerate(rows, start=first):
        place = f"{path}, row {number}" if path else f"row {number}"
        yield Place(place)
        yield TextBlock("paragraph", _line([(key, cell.text) for key, cell in row.items()]))


def _grid(names: list[str], rows: list[dict[str, GridCell]], path: str, first: int) -> Grid:
    """The first record is row ``first``: the names of its fields stand in no row of the file."""
    header = tuple(GridCell(name, is_heading=True) for name in names)
    blank = GridCell("")
    body = (tuple(row.get(name, blank) for name in names) for row in rows)
    return Grid((header, *body), path, first_row=first - 1, has_row_places=True)


def _row(record: dict[str, Any]) -> dict[str, GridCell]:
    cells = dict[str, GridCell]()
    for name, text in flat_pairs(record, ""):
        value = record.get(name)
        if name in cells:  # "a b" beside "b" in "a"
            text = f"{cells[name].text}, {text}"
        cells[name] = GridCell(text, value.value if isinstance(value, _Number) else None)
    return cells


def flat_pairs(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Each value with the names that lead to it; of several objects in a list, with its number."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from flat_pairs(each, f"{path} {key}".strip())
    elif isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        for number, each in enumerate(value, start=1):
            yield from flat_pairs(each, f"{path} {number}".strip() if len(value) > 1 else path)
    elif isinstance(value, list):
        yield path, ", ".join(map(_word, value))
    elif value is not None:
        yield path, _word(value)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


JSON = Parser("json", 3, parse_json, media_types={".json": "application/json"})
JSON_LINES = Parser(
    "json lines",
    3,
    parse_json_lines,
    media_types={
        ".jsonl": "application/jsonl",
        ".ndjson": "application/x-ndjson",
    },
)
