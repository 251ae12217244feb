"""Delimited tables (.csv, .tsv): rows that name their columns, with the row's number as place."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from edge_node.documents.blocks import ParsedDocument
from edge_node.documents.grid_cells import GridCell
from edge_node.documents.grids import EMPTY, Grid
from edge_node.documents.parsers import Parser
from edge_node.documents.text import MAX_TEXT_CHARS, check_pages
from edge_node.plugins.parsers.charsets import decoded

DELIMITERS = ";\t|,"  # the likelier first: a comma also stands in numbers and sentences
MAX_COLUMNS = 16_384  # as in Excel: a sentence that names more helps nobody
MIN_ROWS = 2  # that show a table by themselves
SAMPLE_ROWS = 30
SAMPLE_CHARS = 200_000
MOST_CELL_LINES = 5_000  # that one quoted cell may go on for
MOST_TRIES = 20  # to close a quote, each with a longer cell
_NULS = re.compile(r"(?<=[^\s\",;|])\0+(?=[^\s\",;|])")  # that part words or figures
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\n')  # Excel's: the delimiter, above the table

csv.field_size_limit(MAX_TEXT_CHARS)


def parse_delimited(name: str, data: bytes) -> ParsedDocument:
    """The rows of a CSV or TSV file; a quote that is never closed is a sign like others.

    The delimiter is the stated one, else the one that parts most rows into equally many cells.
    Raises UnreadableDocument (``not_text``), and its rows ``too_large``.
    """
    found = decoded(name, data)
    text = found.text.replace("\r\n", "\n").replace("\r", "\n")
    text = _NULS.sub(" ", text).replace("\0", "")
    delimiter = ""
    if stated := _SEPARATOR_LINE.match(text):
        delimiter = stated[1]
        text = text[stated.end() :]
    rows = DelimitedRows(name, text, delimiter or _delimiter(text[:SAMPLE_CHARS]))
    grid = Grid(rows, has_row_places=True)
    return ParsedDocument((grid,), shortfalls=found.shortfalls)


@dataclass(frozen=True, slots=True)
class DelimitedRows:
    """The rows of a document's text, read anew each time.

    Raises UnreadableDocument (``too_large``) at one of too many columns.
    """

    name: str
    text: str
    delimiter: str

    def __iter__(self) -> Iterator[Sequence[GridCell]]:
        for row in split_rows(self.text, self.delimiter):
            check_pages(self.name, len(row), unit="columns", most=MAX_COLUMNS)
            yield [GridCell(cell) if cell else EMPTY for cell in row]


def split_rows(text: str, delimiter: str) -> Iterator[list[str]]:
    r"""The cells of each row; only a quote that closes properly keeps lines together.

    >>> list(split_rows('1,"5 inch,12\n2,"a\nb"', ","))
    [['1', '"5 inch', '12'], ['2', 'a\nb']]
    """
    lines = io.StringIO(text)
    waiting = deque[str]()
    width = 0
    while line := waiting.popleft() if waiting else lines.readline():
        if '"' not in line:
            row = line.rstrip("\n").split(delimiter)
        else:
            row = _quoted_row(line, lines, waiting, delimiter, width)
        width = width or len(row)
        yield row


def _quoted_row(
    line: str, lines: io.StringIO, waiting: deque[str], delimiter: str, width: int
) -> list[str]:
    """The row that begins with a line with a quote; what it does not need is waiting then."""
    taken = [line]
    for _ in range(MOST_TRIES):
        row, is_open = _strict_row("".join(taken), delimiter)
        if row is not None and not _are_rows(taken[1:], delimiter, width):
            return row
        if not is_open or not _take_to_quote(taken, lines, waiting):
            break
    waiting.extendleft(reversed(taken[1:]))
    return [_unquoted(cell) for cell in line.rstrip("\n").split(delimiter)]


def _strict_row(text: str, delimiter: str) -> tuple[list[str] | None, bool]:
    """A row by the rules of CSV, else None; and whether a quote is still open at its end."""
    file = io.StringIO(text, newline="")
    reader = csv.reader(file, delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        return next(reader), False
    except csv.Error as error:
        return None, "unexpected end" in str(error)


def _take_to_quote(taken: list[str], lines: io.StringIO, waiting: deque[str]) -> bool:
    """Take lines up to one that can close a quote: it has an odd number of them."""
    while len(taken) < MOST_CELL_LINES:
        line = waiting.popleft() if waiting else lines.readline()
        if not line:
            return False
        taken.append(line)
        if line.count('"') % 2:
            return True
    return False


def _are_rows(lines: Sequence[str], delimiter: str, width: int) -> bool:
    """Whether lines within a cell are rows themselves, which a quote too many has swallowed."""
    return (
        width > 1 and len(lines) > 1 and all(line.count(delimiter) == width - 1 for line in lines)
    )


def _unquoted(cell: str) -> str:
    is_quoted = len(cell) > 1 and cell[0] == cell[-1] == '"'
    return cell[1:-1].replace('""', '"') if is_quoted else cell


def _delimiter(text: str) -> str:
    """The candidate whose commonest width, above one, most sample rows have; else the first."""
    return max(DELIMITERS, key=lambda delimiter: _fit(text, delimiter))


def _fit(text: str, delimiter: str) -> int:
    """How many sample rows have the commonest width above one."""
    rows = islice(split_rows(text, delimiter), SAMPLE_ROWS)
    widths = Counter(len(row) for row in rows if len(row) > 1)
    return max(widths.values(), default=0)


def _is_table(start: bytes) -> bool:
    """Whether the first lines have equally many tabs, as what Excel calls Unicode text."""
    lines = [line for line in start.replace(b"\0", b"").splitlines() if line.strip()]
    whole = lines[:-1] if len(lines) > MIN_ROWS else lines  # the last one may be cut
    counts = [line.count(b"\t") for line in whole]
    return len(counts) >= MIN_ROWS and counts[0] > 0 and len(set(counts)) == 1


CSV = Parser(
    "csv",
    4,
    parse_delimited,
    guess=_is_table,
    media_types={
        ".csv": "text/csv",
        ".tsv": "text/tab-separated-values",
    },
)
