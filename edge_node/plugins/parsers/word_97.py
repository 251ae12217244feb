"""Word documents of 1997 to 2003 (.doc): text, tables, notes, text boxes and headers ([MS-DOC]).

A file holds all its texts in one row of characters, told apart by how many each has. Pieces say
where they lie in the file; pages of properties say, by place in the file, what a paragraph or a
run of characters is.
"""

from __future__ import annotations

import io
import re
import struct
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise

from olefile import OleFileIO

from edge_node.documents.blocks import Block, ParsedDocument, TextBlock
from edge_node.documents.grids import Grid
from edge_node.documents.parsers import DAMAGED_OLE, Parser
from edge_node.documents.text import MAX_TEXT_CHARS, too_large
from edge_node.plugins.parsers.cells import Merge
from edge_node.plugins.parsers.form_fields import stored_field
from edge_node.plugins.parsers.numbering import LEVELS, Level, NumberedList, Numbering
from edge_node.plugins.parsers.package import left_out, usable_title
from edge_node.plugins.parsers.page_margins import counts_pages, margin_blocks
from edge_node.plugins.parsers.struck import mark_struck
from edge_node.plugins.parsers.symbols import has_private_signs, joined_halves, unicode_symbols
from edge_node.plugins.parsers.table_flow import MOST_LEVELS, Edge, TableFlow
from shared.errors import UnreadableDocument

_ENCRYPTED, _OTHER_TABLE = 0x0100, 0x0200  # bits of the head
_COMPRESSED = 0x4000_0000
_PARTS_AT, _OLD_PARTS_AT = 0x4C, 0x34  # of the head: how many characters each text has
_PLACES_AT = 0x9A  # of the head: pairs of place and size in the other stream
_OLD_PIECES_AT = 0x160
_FOOTNOTES, _COMMENTS, _ENDNOTES = (2, 3), (4, 5), (46, 47)  # pairs: where referred to, and texts
_HEADERS, _RUNS, _PARAGRAPHS, _FONTS, _PIECES, _LISTS, _USED_LISTS = 11, 12, 13, 15, 33, 73, 74
_LIST_KINDS = {  # of a level: how its number is shown
    0: "decimal",
    1: "upperRoman",
    2: "lowerRoman",
    3: "upperLetter",
    4: "lowerLetter",
    5: "ordinal",
    22: "decimalZero",
    23: "bullet",
    255: "none",
}
_PAGE = 512
_STOP = re.compile("[\x01-\x08\x0b-\x0e\x13-\x15\x1e\x1f]")  # no tab, no newline
_FIELD_CODE = re.compile("\x13([^\x13-\x15]*)")
_SIGNS = {"\x0b": "\n", "\x0e": "\n", "\x1e": "-", "\x1f": ""}
_MARKS = "\x02\x05"  # of notes and comments that Word numbers
_ENDS = frozenset("\r\x07\x0c")
_MOST_HEADING_CHARS = 300
_HUGE = 0x6646
_HAS_DATA, _DATA_AT = 0x0806, 0x6A03  # of a sign: it stands for data, and where these lie
_FONT, _FONT_HEAD = 0x4A4F, 40  # of a run: the number of its font; bytes before a font's name
_STRIKES = (0x0837, 0x2A53)  # of a run: with one line, with two
_FORM_SIGN = "\x01"
_SIZES = {
    0: 1,
    1: 1,
    2: 2,
    3: 4,
    4: 2,
    5: 2,
    7: 3,
}  # bytes of an operand, by the top bits of its code
_WORD_97 = 0x00C1


@dataclass(frozen=True, slots=True)
class _Paragraph:
    """What properties say of a paragraph. ``depth``: of the table that it stands in."""

    style: int = 0
    outline: int = 9
    list: int = 0  # the number of its list, or 0
    level: int = 0
    depth: int = 0
    ends_row: bool = False
    ends_inner_cell: bool = False
    ends_inner_row: bool = False
    edges: tuple[Edge, ...] = ()


@dataclass(frozen=True, slots=True)
class _Piece:
    """Characters [start, end) lie from ``at`` on in the file, each ``width`` bytes wide."""

    start: int
    end: int
    at: int
    width: int


@dataclass(slots=True)
class _Streams:
    """The file's streams, and the head of the first."""

    main: bytes
    other: bytes
    data: bytes = b""

    @property
    def is_old(self) -> bool:
        """Whether Word 6 or 95 wrote it: one stream, a byte a character, other properties."""
        return bool(struct.unpack_from("<H", self.main, 2)[0] < _WORD_97)

    def number(self, at: int) -> int:
        """A whole number of 32 bits in the head."""
        return int(struct.unpack_from("<I", self.main, at)[0])

    def place(self, index: int) -> bytes:
        """What the head says lies in the other stream."""
        at = _PLACES_AT + 8 * index
        if self.is_old:
            return b""
        if (
            at + 8 > len(self.main)
            or index >= struct.unpack_from("<H", self.main, _PLACES_AT - 2)[0]
        ):
            return b""
        start, size = struct.unpack_from("<II", self.main, at)
        return self.other[start : start + size]

    def positions(self, index: int, width: int) -> list[int]:
        """The positions of a table of n + 1 positions and n records of some width."""
        table = self.place(index)
        count = max(0, (len(table) - 4) // (4 + width))
        return list(struct.unpack_from(f"<{count + 1}I", table)) if count else []


def parse_old_word(name: str, data: bytes) -> ParsedDocument:
    """A .doc file's blocks.

    Raises UnreadableDocument: ``encrypted``, ``bad_office``, ``too_large``.
    """
    step = "open it and save it as .docx without a password"
    try:
        with OleFileIO(io.BytesIO(data)) as file:
            main = file.openstream("WordDocument").read()
            (flags,) = struct.unpack_from("<H", main, 0x0A)
            if flags & _ENCRYPTED:
                raise UnreadableDocument(name, "encrypted", "is behind a password", next_step=step)
            table = "1Table" if flags & _OTHER_TABLE else "0Table"
            streams = _Streams(main, _stream(file, table), _stream(file, "Data"))
            title, page = stated_properties(file)
            reading = _Reading(name, streams, page)
            reading.left_out["embedded"] = len(
                {path[1] for path in file.listdir() if path[0] == "ObjectPool" and len(path) > 2}
            )
        return ParsedDocument(tuple(reading.blocks()), title, reading.shortfalls())
    except DAMAGED_OLE as error:
        message = "is damaged, or behind a password"
        raise UnreadableDocument(name, "bad_office", message, next_step=step) from error


def _stream(file: OleFileIO, name: str) -> bytes:
    return bytes(file.openstream(name).read()) if file.exists(name) else b""


def stated_properties(file: OleFileIO) -> tuple[str, str]:
    """The stated title, and the code page of the machine that wrote the file."""
    try:
        about = file.get_metadata()
        number = (about.codepage or 1252) % 65536
        page = "utf-8" if number in (65001, 1200) else f"cp{number}"
        return usable_title((about.title or b"").decode(page, "replace").strip("\0")), page
    except DAMAGED_OLE:
        return "", ""


class _Reading:
    """One document while it is read."""

    def __init__(self, name: str, streams: _Streams, page: str) -> None:
        self.streams = streams
        self._page = page if re.fullmatch("cp(125[0-8]|874)", page) and streams.is_old else "cp1252"
        self.left_out = Counter[str]()
        self.pieces = _old_pieces(streams) if streams.is_old else list(_pieces(streams))
        length = self.pieces[-1].end if self.pieces else 0
        if length > MAX_TEXT_CHARS:
            raise too_large(name, f"holds more than {MAX_TEXT_CHARS} characters of text")
        self._starts = [piece.start for piece in self.pieces]
        self._paragraphs = _Runs(streams, _PARAGRAPHS)
        self._form_values = dict[int, str]()
        self._struck = bytearray()  # by character; empty where none is
        self.text = self._shown_text()
        self._notes = self._all_notes()
        self._own_marks = sorted(at for at in self._notes if self.text[at : at + 1] not in _MARKS)
        self._marks = Counter[str]()
        self._numbering = Numbering(dict(_numbered_lists(streams)))

    def shortfalls(self) -> tuple[tuple[str, str], ...]:
        """What of the document is not in the text."""
        return left_out(
            (self.left_out["hidden"], "hidden passage", "hidden passages"),
            (self.left_out["embedded"], "embedded document", "embedded documents"),
        )

    def blocks(self) -> Iterator[Block]:
        """Headers, text, text boxes, footers."""
        main, _, _, _, _, _, boxes = self._bounds()
        headers, footers = self._margins()
        yield from headers
        yield from self._flow(0, main)
        yield from self._flow(boxes, boxes + self._length(6))
        yield from footers

    def _length(self, part: int) -> int:
        start = _OLD_PARTS_AT if self.streams.is_old else _PARTS_AT
        return self.streams.number(start + 4 * part)

    def _bounds(self) -> list[int]:
        """Where each text ends: body, footnotes, headers, (none), comments, endnotes.

        The last number is where the text boxes begin.
        """
        ends, at = [], 0
        for part in range(6):
            at += self._length(part)
            ends.append(at)
        return [*ends, at]

    def _shown_text(self) -> str:
        """All characters, deleted and hidden ones as NUL."""
        text = "".join(_decoded(self.streams.main, piece, self._page) for piece in self.pieces)
        has_private = has_private_signs(text)
        fonts = dict(enumerate(_fonts(self.streams.place(_FONTS))))
        signs: list[str] | None = None
        for start, end, runs in _Runs(self.streams, _RUNS).all():
            if value := _form_value(runs, self.streams.data):
                self._form_values |= dict.fromkeys(self._characters(start, end), value)
            if any(runs.get(code, b"\0")[0] == 1 for code in _STRIKES):
                self._struck = self._struck or bytearray(len(text))
                for at in self._characters(start, end):
                    self._struck[at] = 1
            shown = _run_shown(runs, fonts)
            font = fonts.get(_number(runs, _FONT), "") if has_private else ""
            if shown is None and not font:
                continue
            signs = list(text) if signs is None else signs
            for at in self._characters(start, end):
                signs[at] = shown or unicode_symbols(signs[at], font)
            self.left_out["hidden"] += runs.get(0x083C, b"\0")[0] == 1
        return text if signs is None else "".join(signs)

    def _characters(self, start: int, end: int) -> Iterator[int]:
        """The characters whose bytes lie in [start, end) of the file."""
        for piece in self.pieces:
            low = max(start, piece.at)
            high = min(end, piece.at + (piece.end - piece.start) * piece.width)
            if low < high:
                first = piece.start + (low - piece.at) // piece.width
                yield from range(first, piece.start + (high - piece.at) // piece.width)

    # Notes

    def _all_notes(self) -> dict[int, tuple[str, int, int]]:
        """By the character that refers to it: a note's kind, and where its text lies."""
        ends = self._bounds()
        notes = dict[int, tuple[str, int, int]]()
        for kind, (references, texts), width, start in (
            ("", _FOOTNOTES, 2, ends[0]),
            ("e", _ENDNOTES, 2, ends[4]),
            ("comment", _COMMENTS, 30, ends[3]),
        ):
            bounds = self.streams.positions(texts, 0)
            for at, reference in enumerate(self.streams.positions(references, width)[:-1]):
                if at + 1 < len(bounds):
                    notes[reference] = (kind, start + bounds[at], start + bounds[at + 1])
        return notes

    def _note(self, character: int) -> tuple[str, list[Block]]:
        """The mark of a note, and the note."""
        kind, start, end = self._notes.pop(character)
        texts = [block for block in self._flow(start, end) if block]
        if kind == "comment":
            return "", list(_note_blocks("Comment: ", texts))
        self._marks[kind] += 1
        mark = f"[^{kind}{self._marks[kind]}]"
        return mark, list(_note_blocks(f"{mark}: ", texts))

    def _margins(self) -> tuple[list[Block], list[Block]]:
        """Headers and footers, each text once."""
        begin = self._bounds()[1]
        bounds = self.streams.positions(_HEADERS, 0)
        margins: tuple[list[Block], list[Block]] = ([], [])
        seen = set[str](), set[str]()
        for at in range(6, len(bounds) - 1):  # the first six part notes from the text
            which = 1 if at % 6 in (2, 3, 5) else 0
            start, end = begin + bounds[at], begin + bounds[at + 1]
            has_number = any(map(counts_pages, _FIELD_CODE.findall(self.text, start, end)))
            blocks = margin_blocks(self._flow(start, end), seen[which], has_page_number=has_number)
            margins[which].extend(blocks)
        return margins

    # Text

    def _flow(self, start: int, end: int) -> list[Block]:
        """The blocks of characters [start, end)."""
        flow, line = TableFlow(), _Line()
        at = start
        text = self.text[:end]
        while at < end:
            special = _STOP.search(text, at)
            stop = special.start() if special else end
            own = self._own_mark(at, stop)
            if own >= 0:
                self._add(line, at, own)
                self._add_note(own, line, flow)
                self._add(line, own, own + 1)
                at = own + 1
                continue
            self._add(line, at, stop)
            if special:
                self._sign(special[0], stop, line, flow)
            at = stop + 1
        if line.pieces:
            flow.paragraph(self._block(line, _Paragraph()), 0)
        return flow.finish()

    def _add(self, line: _Line, start: int, stop: int) -> None:
        """Add characters [start, stop), those that are struck through as such."""
        if not self._struck:
            line.add(self.text[start:stop])
            return
        for is_struck, places in groupby(range(start, stop), key=self._struck.__getitem__):
            at = list(places)
            begin = len(line.pieces)
            line.add(self.text[at[0] : at[-1] + 1])
            if is_struck:
                mark_struck(line.pieces, begin)

    def _own_mark(self, start: int, stop: int) -> int:
        """The first character in [start, stop) that its author made the mark of a note, or -1."""
        index = bisect_left(self._own_marks, start)
        at = self._own_marks[index] if index < len(self._own_marks) else stop
        return at if at < stop and at in self._notes else -1

    def _add_note(self, at: int, line: _Line, flow: TableFlow) -> None:
        mark, blocks = self._note(at)
        line.add(mark)
        flow.after += blocks

    def _sign(self, sign: str, at: int, line: _Line, flow: TableFlow) -> None:
        if sign in _ENDS:
            self._end(sign, at, line, flow)
        elif sign == "\x13":
            line.fields.append(True)
        elif sign == "\x14" and line.fields:
            line.fields[-1] = False
        elif sign == "\x15" and line.fields:
            line.fields.pop()
        elif sign in _MARKS and at in self._notes:
            self._add_note(at, line, flow)
        elif sign == _FORM_SIGN and at in self._form_values:
            line.pieces.append(self._form_values[at])
        else:
            line.add(_SIGNS.get(sign, ""))

    def _end(self, sign: str, at: int, line: _Line, flow: TableFlow) -> None:
        """End a paragraph, a cell or a row."""
        paragraph = self._paragraph(at)
        depth = paragraph.depth
        if sign == "\x07" and self.streams.is_old and self.text[at - 1] == sign:
            paragraph = replace(paragraph, ends_row=True)  # an empty cell behind a cell
        if paragraph.ends_row or paragraph.ends_inner_row:
            line.pieces.clear()
            flow.end_row(depth, paragraph.edges)
        elif sign == "\x07" or paragraph.ends_inner_cell:
            flow.end_cell(self._block(line, paragraph), depth)
        else:
            flow.paragraph(self._block(line, paragraph), depth)

    def _paragraph(self, character: int) -> _Paragraph:
        """The paragraph that this character ends."""
        index = bisect_right(self._starts, character) - 1
        piece = self.pieces[index]
        return self._paragraphs.paragraph(piece.at + (character - piece.start) * piece.width)

    def _block(self, line: _Line, paragraph: _Paragraph) -> TextBlock:
        text = joined_halves("".join(line.pieces)).strip()
        line.pieces.clear()
        label = self._numbering.next_label(str(paragraph.list), paragraph.level) if text else ""
        text = f"{label} {text}" if label else text
        outline = min(paragraph.outline, paragraph.style - 1 if 1 <= paragraph.style <= 9 else 9)
        if outline < 9 and len(text) <= _MOST_HEADING_CHARS:
            return TextBlock("heading", text, outline + 1)
        if paragraph.list:
            return TextBlock("item", text, paragraph.level)
        return TextBlock("paragraph", text)


@dataclass(slots=True)
class _Line:
    """A paragraph's text, and of each field that is open whether its code is being read."""

    pieces: list[str] = field(default_factory=list)
    fields: list[bool] = field(default_factory=list)

    def add(self, text: str) -> None:
        """Add what is shown."""
        shown = text.replace("\0", "")
        if shown and True not in self.fields:
            self.pieces.append(shown)


def _numbered_lists(streams: _Streams) -> Iterator[tuple[str, NumberedList]]:
    """The lists that paragraphs name, by their numbers from 1; none of a damaged table."""
    used = streams.place(_USED_LISTS)
    count = min(struct.unpack_from("<I", used)[0], len(used) // 16) if len(used) >= 4 else 0
    try:
        lists = _defined_lists(streams)
    except (struct.error, IndexError):
        return
    for number in range(count):
        (identifier,) = struct.unpack_from("<I", used, 4 + 16 * number)
        if identifier in lists:
            yield str(number + 1), lists[identifier]


def _defined_lists(streams: _Streams) -> dict[int, NumberedList]:
    """Lists by their identifiers; their levels lie behind the table of lists."""
    table = streams.place(_LISTS)
    count = struct.unpack_from("<H", table)[0] if table else 0
    at = struct.unpack_from("<I", streams.main, _PLACES_AT + 8 * _LISTS)[0] + len(table)
    lists = dict[int, NumberedList]()
    for number in range(count):
        (identifier,) = struct.unpack_from("<I", table, 2 + 28 * number)
        is_simple = table[2 + 28 * number + 26] & 1
        levels = [Level("none") for _ in range(LEVELS)]
        for level in range(1 if is_simple else LEVELS):
            levels[level], at = _level(streams.other, at)
        lists[identifier] = NumberedList(levels, [None] * LEVELS)
    return lists


def _level(other: bytes, at: int) -> tuple[Level, int]:
    """A level of a list, and where the next one lies."""
    start, kind = struct.unpack_from("<IB", other, at)
    at += 28 + other[at + 24] + other[at + 25]
    (length,) = struct.unpack_from("<H", other, at)
    text = other[at + 2 : at + 2 + 2 * length].decode("utf-16-le", "replace")
    shown = "".join(f"%{ord(sign) + 1}" if ord(sign) < LEVELS else sign for sign in text)
    return Level(_LIST_KINDS.get(kind, "decimal"), shown, start), at + 2 + 2 * length


def _note_blocks(begin: str, blocks: list[Block]) -> Iterator[Block]:
    texts = [block.text for block in blocks if isinstance(block, TextBlock)]
    if text := "\n".join(filter(None, texts)):
        yield TextBlock("note", begin + text)
    yield from (block for block in blocks if isinstance(block, Grid))


def _pieces(streams: _Streams) -> Iterator[_Piece]:
    """The pieces of a file of Word 97 or later."""
    for start, end, place in _piece_table(streams.place(_PIECES)):
        if place & _COMPRESSED:
            yield _Piece(start, end, (place & ~_COMPRESSED) // 2, 1)
        else:
            yield _Piece(start, end, place, 2)


def _old_pieces(streams: _Streams) -> list[_Piece]:
    """The text of a file of Word 6 or 95: in pieces if it was saved in parts, else in one."""
    at, size = struct.unpack_from("<II", streams.main, _OLD_PIECES_AT)
    if streams.main[0x0A] & 4 and size:
        table = _piece_table(streams.main[at : at + size])
        return [_Piece(start, end, place, 1) for start, end, place in table]
    start, end = streams.number(0x18), streams.number(0x1C)
    if end < start or end > len(streams.main):
        raise ValueError("no text")
    return [_Piece(0, end - start, start, 1)]


def _piece_table(table: bytes) -> Iterator[tuple[int, int, int]]:
    """Of each piece its first character, the one behind its last, and its place in the file."""
    at = 0
    while at < len(table) and table[at] == 1:  # changes that were saved without the table
        at += 3 + struct.unpack_from("<H", table, at + 1)[0]
    if at >= len(table) or table[at] != 2:
        raise ValueError("no pieces")
    count = (struct.unpack_from("<I", table, at + 1)[0] - 4) // 12
    at += 5
    positions = struct.unpack_from(f"<{count + 1}I", table, at)
    at += 4 * (count + 1)
    for number, (start, end) in enumerate(pairwise(positions)):
        (place,) = struct.unpack_from("<I", table, at + 8 * number + 2)
        if end < start:
            raise ValueError("pieces out of order")
        yield start, end, place


def _decoded(main: bytes, piece: _Piece, page: str) -> str:
    raw = main[piece.at : piece.at + (piece.end - piece.start) * piece.width]
    if piece.width == 1:
        text = raw.decode(page, "replace")
    else:  # halves of characters are counted, too: they stay apart until a paragraph ends
        halves = array("I", struct.unpack(f"<{len(raw) // 2}H", raw[: len(raw) // 2 * 2]))
        text = halves.tobytes().decode("utf-32", "surrogatepass")
    return text.ljust(piece.end - piece.start, "\0")[: piece.end - piece.start]


def _number(properties: dict[int, bytes], code: int) -> int:
    """A property that is a number, -1 where there is none."""
    return int.from_bytes(properties[code], "little") if code in properties else -1


def _fonts(table: bytes) -> Iterator[str]:
    """The names of the fonts by their numbers ([MS-DOC] 2.9.286, 2.9.81)."""
    at = 4
    while at < len(table):
        size = table[at] + 1
        name = table[at + _FONT_HEAD : at + size].decode("utf-16-le", "replace")
        yield name.partition("\0")[0]
        at += size


def _run_shown(properties: dict[int, bytes], fonts: dict[int, str]) -> str | None:
    """What is shown instead of each character of a run; None for the characters themselves."""
    if properties.get(0x0800, b"\0")[0] == 1 or properties.get(0x083C, b"\0")[0] == 1:
        return "\0"
    symbol = properties.get(0x6A09)
    if symbol is None or len(symbol) < 4:
        return None
    font, sign = struct.unpack_from("<HH", symbol)
    return unicode_symbols(chr(sign), fonts.get(font, ""))


def _form_value(properties: dict[int, bytes], data: bytes) -> str:
    """What the form field shows whose sign has these properties."""
    if properties.get(_HAS_DATA, b"\0")[0] != 1 or _DATA_AT not in properties:
        return ""
    try:
        return stored_field(data, struct.unpack("<I", properties[_DATA_AT])[0])
    except struct.error:
        return ""


class _Runs:
    """Properties by place in the file, from the pages that a table of the other stream names."""

    def __init__(self, streams: _Streams, index: int) -> None:
        self._streams = streams
        self._is_paragraphs = index == _PARAGRAPHS
        table = streams.place(index)
        count = max(0, (len(table) - 4) // 8)
        self._bounds = list(struct.unpack_from(f"<{count + 1}I", table)) if count else []
        self._pages = [
            struct.unpack_from("<I", table, 4 * (count + 1) + 4 * at)[0] & 0x3F_FFFF
            for at in range(count)
        ]
        self._read = dict[int, tuple[list[int], list[bytes]]]()
        self._known = dict[tuple[int, int], _Paragraph]()

    def all(self) -> Iterator[tuple[int, int, dict[int, bytes]]]:
        """All runs that have properties: begin, end, operands by code."""
        for page in self._pages:
            bounds, contents = self._page(page)
            for at, content in enumerate(contents):
                if content:
                    yield bounds[at], bounds[at + 1], _operands(content)

    def paragraph(self, place: int) -> _Paragraph:
        """The paragraph whose end lies at a place in the file."""
        at = bisect_right(self._bounds, place) - 1
        if not 0 <= at < len(self._pages):
            return _Paragraph()
        bounds, contents = self._page(self._pages[at])
        inside = bisect_right(bounds, place) - 1
        if not 0 <= inside < len(contents):
            return _Paragraph()
        key = (at, inside)
        if key not in self._known:
            self._known[key] = _paragraph_of(contents[inside], self._streams.data)
        return self._known[key]

    def _page(self, number: int) -> tuple[list[int], list[bytes]]:
        """The places where the runs of a page begin, and the properties of each."""
        if number not in self._read:
            page = self._streams.main[number * _PAGE : (number + 1) * _PAGE]
            self._read[number] = self._page_of(page) if len(page) == _PAGE else ([], [])
        return self._read[number]

    def _page_of(self, page: bytes) -> tuple[list[int], list[bytes]]:
        count, width = page[-1], 13 if self._is_paragraphs else 1
        if 4 * (count + 1) + width * count > _PAGE - 1:
            return [], []
        bounds = list(struct.unpack_from(f"<{count + 1}I", page))
        contents = list[bytes]()
        for run in range(count):
            at = 2 * page[4 * (count + 1) + width * run]
            contents.append(self._content(page, at) if at else b"")
        return bounds, contents

    def _content(self, page: bytes, at: int) -> bytes:
        size = page[at]
        if not self._is_paragraphs:
            return page[at + 1 : at + 1 + size]
        if size:
            return page[at + 1 : at + 2 * size]
        return page[at + 2 : at + 2 + 2 * page[at + 1]] if at + 1 < _PAGE else b""


def _operands(content: bytes) -> dict[int, bytes]:
    """Operands by the code of their property; what is cut off is left out."""
    operands, at = dict[int, bytes](), 0
    while at + 2 <= len(content):
        (code,) = struct.unpack_from("<H", content, at)
        at += 2
        size = _SIZES.get(code >> 13)
        if size is None and at < len(content):
            size, at = content[at], at + 1
            if (
                code == 0xD608
            ):  # the definition of a table has two bytes of size, which count one more
                size, at = size + 256 * (content[at] if at < len(content) else 0) - 1, at + 1
            elif code == 0xC615 and size == 255:
                break
        if size is None or at + size > len(content):
            break
        operands[code] = content[at : at + size]
        at += size
    return operands


def _paragraph_of(content: bytes, data: bytes) -> _Paragraph:
    if len(content) < 2:
        return _Paragraph()
    (style,) = struct.unpack_from("<H", content)
    operands = _operands(content[2:])
    if huge := operands.get(_HUGE):
        (at,) = struct.unpack("<I", huge)
        size = struct.unpack_from("<H", data, at)[0] if at + 2 <= len(data) else 0
        operands |= _operands(data[at + 2 : at + 2 + size])

    def number(code: int, default: int = 0) -> int:
        return int.from_bytes(operands[code], "little") if code in operands else default

    depth = number(0x6649, min(number(0x2416), 1))
    return _Paragraph(
        style,
        number(0x2640, 9),
        0 if number(0x460B) == 0xF801 else number(0x460B),
        min(number(0x260A), 8),
        min(depth, MOST_LEVELS),
        number(0x2417) == 1,
        number(0x244B) == 1,
        number(0x244C) == 1,
        tuple(_edges(operands.get(0xD608, b""))),
    )


_MERGES: dict[int, Merge] = {1: "continue", 3: "restart"}


def _edges(definition: bytes) -> Iterator[Edge]:
    """The right sides of a row's cells, and how they are merged."""
    count = definition[0] if definition else 0
    if not count or len(definition) < 1 + 2 * (count + 1):
        return
    sides = struct.unpack_from(f"<{count + 1}h", definition, 1)
    for cell in range(count):
        at = 3 + 2 * count + 20 * cell
        flags = struct.unpack_from("<H", definition, at)[0] if at + 2 <= len(definition) else 0
        merge = _MERGES.get(flags >> 5 & 3, "")
        yield Edge(sides[cell + 1] - sides[0], merge, flags & 3 == 1)


WORD_97 = Parser(
    "doc",
    3,
    parse_old_word,
    streams=("WordDocument",),
    media_types=dict.fromkeys((".doc", ".dot"), "application/msword"),
)
