"""Files as Microsoft's programs before 2007 saved them, written byte by byte: [MS-DOC], [MS-PPT] and [MS-XLS] in [MS-CFB]."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from benchmarks.files.outlook import compound

TEXT_AT = 0x600  # of a .doc: where its text begins, behind the table of where everything stands
PIECE_TABLE_AT = 0x1A2  # of that table: where the pieces stand in the other stream, and their bytes
COMPRESSED = 1 << 30  # a byte a character
DOCUMENT, LIST, TEXT_KIND, TEXT_BYTES, USER = 0x03E8, 0x0FF0, 0x0F9F, 0x0FA8, 0x0FF6
CONTAINER = 0xF  # version of a record that holds records
BEGIN, END, SHEET, SIZE, LABEL = 0x0809, 0x000A, 0x0085, 0x0200, 0x0204


def word(text: str, *, pieces: int = 1) -> bytes:
    """A .doc. ``pieces``: how often the text stands in it, though its bytes stand there once."""
    raw = text.encode("latin-1")
    places = struct.pack(f"<{pieces + 1}I", *range(0, (pieces + 1) * len(raw), len(raw)))
    table = places + struct.pack("<HIH", 0, COMPRESSED | TEXT_AT * 2, 0) * pieces
    table = b"\x02" + struct.pack("<I", len(table)) + table
    head = bytearray(TEXT_AT)
    struct.pack_into("<2H6xH", head, 0, 0xA5EC, 0x00C1, 0x0200)  # a Word 97 file, whose other stream is 1Table
    struct.pack_into("<H28xH12xI", head, 32, 14, 22, pieces * len(raw))
    struct.pack_into("<H", head, 152, 93)
    struct.pack_into("<2I", head, PIECE_TABLE_AT, 0, len(table))
    return compound({"WordDocument": bytes(head) + raw, "1Table": table})


def slides(text: str, *, depth: int = 0) -> bytes:
    """A .ppt of one text, that many containers deep."""
    inside = record(TEXT_KIND, struct.pack("<I", 0)) + record(TEXT_BYTES, text.encode("latin-1"))
    inside = record(LIST, inside, version=CONTAINER)
    heads = [struct.pack("<HHI", CONTAINER, LIST, len(inside) + 8 * n) for n in range(depth)]
    whole = record(DOCUMENT, b"".join(reversed(heads)) + inside, version=CONTAINER)
    user = record(USER, struct.pack("<3IHH2BH", 20, 0xE391C05F, 0, 0, 0x03F4, 3, 0, 0) + struct.pack("<I", 8))
    return compound({"PowerPoint Document": whole, "Current User": user})


def record(kind: int, inside: bytes, *, version: int = 0) -> bytes:
    """A record of a .ppt."""
    return struct.pack("<HHI", version, kind, len(inside)) + inside


def sheet(cells: Iterable[tuple[int, int, str]]) -> bytes:
    """A .xls of one sheet with these cells: row, column, text."""
    name = b"Stock"
    begins = _row(BEGIN, struct.pack("<4H2I", 0x0600, 0x0005, 0, 0, 0, 6))
    at = len(begins) + 4 + 8 + len(name) + 4
    book = begins + _row(SHEET, struct.pack("<IBBBB", at, 0, 0, len(name), 0) + name) + _row(END, b"")
    rows = b"".join(_row(LABEL, struct.pack("<4HB", row, column, 0, len(text), 0) + text.encode("latin-1")) for row, column, text in cells)
    held = _row(BEGIN, struct.pack("<4H2I", 0x0600, 0x0010, 0, 0, 0, 6)) + rows + _row(END, b"")
    return compound({"Workbook": book + held})


def _row(kind: int, inside: bytes) -> bytes:
    return struct.pack("<HH", kind, len(inside)) + inside
