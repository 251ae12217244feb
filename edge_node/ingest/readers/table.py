"""Delimited tables: each row as a sentence that names its columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from edge_node.ingest.readers.plain import decoded
from edge_node.ingest.readers.text import ReadText, capped, row_sentence, stem
from shared.errors import UnreadableDocument

_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 30


def read_table(name: str, data: bytes) -> ReadText:
    """Return a CSV or TSV file as one sentence a row; the delimiter is the one that parts most rows into equally many cells.

    The first row names the columns unless one of its cells is blank, doubled or a number. Raises UnreadableDocument
    (``not_text``, ``bad_table``, ``too_large``).
    """
    text = decoded(name, data).replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    try:
        rows = csv.reader(io.StringIO(text), delimiter=_delimiter(text))
        return ReadText(stem(name), capped(name, _sentences(rows)))
    except csv.Error as error:
        raise UnreadableDocument(name, "bad_table", f"not a table: {error}", next_step="save it as CSV again") from error


def _sentences(rows: Iterator[list[str]]) -> Iterator[str]:
    first = next((row for row in rows if any(cell.strip() for cell in row)), [])
    header = first if _names_columns(first) else []
    if not header:
        yield row_sentence([], first)
    for row in rows:
        if line := row_sentence(header, row):
            yield line


def _names_columns(row: list[str]) -> bool:
    cells = [cell.strip() for cell in row]
    return len(cells) > 1 and all(cells) and len(set(cells)) == len(cells) and not any(_is_number(cell) for cell in cells)


def _is_number(cell: str) -> bool:
    return any(sign.isdigit() for sign in cell) and not any(sign.isalpha() for sign in cell)


def _delimiter(text: str) -> str:
    """Return the candidate whose commonest width, above one, holds for most sample rows; ties by the wider."""
    return max(_DELIMITERS, key=lambda delimiter: _fit(text, delimiter))


def _fit(text: str, delimiter: str) -> tuple[int, int]:
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    widths = [len(row) for _, row in zip(range(_SAMPLE_ROWS), rows, strict=False) if len(row) > 1]
    if not widths:
        return (0, 0)
    common = max(set(widths), key=lambda width: (widths.count(width), width))
    return (widths.count(common), common)
