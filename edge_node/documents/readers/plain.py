"""Plain text: which characters the bytes stand for."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator

from charset_normalizer import from_bytes

from edge_node.documents.readers.grids import Grid
from edge_node.documents.readers.lines import unwrapped
from edge_node.documents.readers.text import ReadText, not_text, placed, row_sentence, stem
from shared.errors import UnreadableDocument

_BOMS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MAX_CONTROL_SHARE = 0.01
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\x0b\x0c\x1b")
_FOREIGN_RUN = re.compile("[^\\W\\d_a-zA-Z]{3}")  # Western words have their accents one by one, Cyrillic ones are all high letters
_EVERYDAY_WESTERN = frozenset("€‘’“”„•–—…«»°§£©®½·¡¿ÄÖÜäöüßàâáãåæçèéêëìíîïñòóôõøùúûÿœŒÀÁÂÅÆÇÈÉÊËÍÎÑÓÔØÚÛ\xa0")

_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 30


def read_plain(name: str, data: bytes) -> ReadText:
    """Return plain text, wrapped paragraphs as one line; its title is a short first paragraph without a full stop, else the file's name."""
    text = unwrapped(decoded(name, data).replace("\r\n", "\n"))
    first = re.split(r"\n\s*\n", text.lstrip()[:400], maxsplit=1)[0]
    headline = " ".join(first.split())
    is_title = 0 < len(headline) <= 120 and headline[-1] not in ".!?:;,"
    return ReadText(headline if is_title else stem(name), text)


def decoded(name: str, data: bytes) -> str:
    r"""Return the characters of ``data``: by byte order mark, else UTF-8, else the likeliest older encoding.

    Raises UnreadableDocument (``not_text``) for bytes that stand for no text.

    >>> decoded('a.txt', 'Zürich – £5'.encode('cp1252'))
    'Zürich – £5'
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, errors="replace")
    if _looks_binary(data):
        raise not_text(name)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return _older_encoding(name, data)


def _looks_binary(data: bytes) -> bool:
    head = data[:65_536]
    return len(head) - len(head.translate(None, _CONTROLS)) > _MAX_CONTROL_SHARE * len(head)


def _older_encoding(name: str, data: bytes) -> str:
    """Windows-1252 if that gives everyday Western text (a guesser confuses it with its sisters), else the guesser's choice."""
    western = data.decode("cp1252", errors="replace")
    if all(character in _EVERYDAY_WESTERN for character in set(western) if character > "\x7f") and not _FOREIGN_RUN.search(western):
        return western
    guess = from_bytes(data).best()
    if guess is None:
        raise not_text(name)
    return str(guess)


def read_table(name: str, data: bytes) -> ReadText:
    """Return a CSV or TSV file as one sentence a row; the delimiter is the one that parts most rows into equally many cells.

    The first row names the columns unless one of its cells is blank, doubled or a number. Raises UnreadableDocument
    (``not_text``, ``bad_table``, ``too_large``).
    """
    text = decoded(name, data).replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    try:
        grid, rows = Grid(), csv.reader(io.StringIO(text), delimiter=_delimiter(text))
        lines = row_sentences(_kept(enumerate(rows, start=1), grid))
        body, places = placed(name, ((f"row {row}", line) for row, line in lines))
        return ReadText(stem(name), body, places, tables=tuple(grid.tables()))
    except csv.Error as error:
        raise UnreadableDocument(name, "bad_table", f"not a table: {error}", next_step="save it as CSV again") from error


def _kept(rows: Iterable[tuple[int, list[str]]], grid: Grid) -> Iterator[tuple[int, list[str]]]:
    for number, row in rows:
        grid.add(number, row)
        yield number, row


def row_sentences(rows: Iterable[tuple[int, list[str]]]) -> Iterator[tuple[int, str]]:
    """The sentence of each row with its number; the first filled row names the columns if it can, see ``read_table``."""
    header: list[str] | None = None
    for number, row in rows:
        filled = sum(1 for cell in row if cell.strip()) if header is None else 0
        if filled > 1 or (filled and len(row) == 1):  # what stands alone above a table is its title
            header = row if _names_columns(row) else []
            if header:
                continue
        if line := row_sentence(header or [], row):
            yield number, line


def _names_columns(row: list[str]) -> bool:
    cells = [cell.strip() for cell in row]
    while cells and not cells[-1]:
        cells.pop()
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
