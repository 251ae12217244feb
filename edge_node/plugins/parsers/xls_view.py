"""How the sheets of a workbook of Excel 97 to 2003 (.xls) look, by its records ([MS-XLS] 2.4)."""

from __future__ import annotations

import io
import struct
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import partial

import olefile

from edge_node.documents.parsers import DAMAGED_OLE
from edge_node.plugins.parsers.number_formats import BUILT_IN, is_plain
from edge_node.plugins.parsers.sheet_view import CellFormat, SheetView, column_letters

BOF, EOF, BOUND_SHEET, FORMAT, XF = 0x809, 0x0A, 0x85, 0x41E, 0xE0
NUMBER, RK, MULTIPLE_RK, FORMULA, ERROR = 0x203, 0x27E, 0xBD, 0x06, 0x205
ROW, COLUMNS, NOTE, OBJECT, TEXT, CONTINUE = 0x208, 0x7D, 0x1C, 0x5D, 0x1B6, 0x3C
FONT, TEXTS = 0x31, (0xFD, 0x204, 0xD6)  # texts: shared, of a cell's own, with fonts
BIFF8 = 0x600
MAX_NOTES = 10_000
MAX_COLUMNS = 256
Record = tuple[int, bytes]


def xls_views(data: bytes) -> Sequence[SheetView]:
    """The views of all sheets in their order; none where the file is older, or damaged."""
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as container:
            name = next((name for name in ("Workbook", "Book") if container.exists(name)), "")
            stream = container.openstream(name).read() if name else b""
    except DAMAGED_OLE:
        return ()
    globals_ = list(_records(stream, 0))
    if not globals_ or _short(globals_[0][1], 0) != BIFF8:
        return ()
    codes = _codes(globals_)
    struck = _struck_styles(globals_)
    starts = [_long(body, 0) for kind, body in globals_ if kind == BOUND_SHEET]
    return [_view(stream, start, codes, struck) for start in starts]


def _records(stream: bytes, start: int) -> Iterator[Record]:
    """The records of a part of the stream up to its end; those of charts in it too."""
    at, depth = start, 0
    while at + 4 <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, at)
        yield kind, stream[at + 4 : at + 4 + size]
        at += 4 + size
        depth += (kind == BOF) - (kind == EOF)
        if depth <= 0:
            return


def _short(body: bytes, at: int) -> int:
    return int.from_bytes(body[at : at + 2], "little")


def _long(body: bytes, at: int) -> int:
    return int.from_bytes(body[at : at + 4], "little")


def _codes(records: Iterable[Record]) -> dict[int, str]:
    """Format codes by style, but for those that change nothing."""
    codes = dict(BUILT_IN)
    styles = list[int]()
    for kind, body in records:
        if kind == FORMAT:
            codes[_short(body, 0)] = _characters(body[4:], _short(body, 2))
        elif kind == XF:
            styles.append(_short(body, 2))
    found = {at: codes.get(style, "") for at, style in enumerate(styles)}
    return {at: code for at, code in found.items() if code and not is_plain(code)}


def _characters(body: bytes, count: int) -> str:
    """So many characters behind a byte that says whether each takes two."""
    if body[:1] == b"\1":
        return body[1 : 1 + 2 * count].decode("utf-16-le", errors="replace")
    return body[1 : 1 + count].decode("latin-1")


def _struck_styles(records: Iterable[Record]) -> set[int]:
    """The styles of cells whose font is struck through; there is no font of number 4."""
    fonts = list[bool]()
    styles = list[int]()
    for kind, body in records:
        if kind == FONT:
            fonts.append(bool(_short(body, 2) & 8))
        elif kind == XF:
            number = _short(body, 0)
            styles.append(number - (number > 4))
    return {at for at, font in enumerate(styles) if font < len(fonts) and fonts[font]}


def _view(stream: bytes, start: int, codes: Mapping[int, str], struck: Container[int]) -> SheetView:
    view = SheetView(formats=partial(_formats, stream, start, codes))
    _add_struck(view, _cells(stream, start), struck)
    texts = dict[int, str]()  # of notes and text boxes, by the number of their object
    notes = dict[int, str]()  # the cell of each note's object
    current = left = 0
    for kind, body in _records(stream, start):
        if kind == CONTINUE and left:
            piece = _characters(body, left)
            texts[current] = texts.get(current, "") + piece
            left -= len(piece)
            continue
        left = 0
        match kind:
            case _ if kind == ROW and _short(body, 12) & 0x20:
                view.hidden_rows.add(_short(body, 0))
            case _ if kind == COLUMNS and _short(body, 8) & 1:
                last = min(_short(body, 2), MAX_COLUMNS)
                view.hidden_columns.update(range(_short(body, 0), last + 1))
            case 0x1C if len(notes) < MAX_NOTES:
                notes[_short(body, 6)] = f"{column_letters(_short(body, 2))}{_short(body, 0) + 1}"
            case 0x5D:
                current = _short(body, 6)
            case 0x1B6:
                left = _short(body, 10)
            case _:
                view.errors += _is_error(kind, body)
    for ident, text in texts.items():
        if words := " ".join(text.split()):
            _add_text(view, notes.get(ident), words)
    return view


def _add_struck(
    view: SheetView, cells: Iterable[tuple[int, int, int]], struck: Container[int]
) -> None:
    for row, column, style in cells:
        if style in struck:
            view.struck.setdefault(row, set()).add(column)


def _add_text(view: SheetView, cell: str | None, words: str) -> None:
    if cell is None:
        view.texts.append(words)
    else:
        view.notes.append((cell, words))


def _is_error(kind: int, body: bytes) -> bool:
    if kind == ERROR:
        return body[7:8] == b"\1"
    return kind == FORMULA and body[6:7] == b"\2" and body[12:14] == b"\xff\xff"


def _formats(stream: bytes, start: int, codes: Mapping[int, str]) -> Iterator[CellFormat]:
    for row, column, style in _cells(stream, start):
        if code := codes.get(style):
            yield row, column, code


def _cells(stream: bytes, start: int) -> Iterator[tuple[int, int, int]]:
    """Row, column and style of each cell with a number or a text."""
    for kind, body in _records(stream, start):
        if kind in (NUMBER, RK, FORMULA, *TEXTS):
            yield _short(body, 0), _short(body, 2), _short(body, 4)
        elif kind == MULTIPLE_RK:
            first = _short(body, 2)
            for at in range((len(body) - 6) // 6):
                yield _short(body, 0), first + at, _short(body, 4 + 6 * at)
