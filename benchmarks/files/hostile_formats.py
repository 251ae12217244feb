"""Ten hostile files of each format: cut off, garbled, bombs of archives and entities, too deep, too large, behind a password, misnamed."""

from __future__ import annotations

import io
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import docx
import openpyxl
import pptx
from PIL import Image

from benchmarks.files import old_office
from benchmarks.files.dear_files import many_operators, one_line
from benchmarks.files.outlook import message

PACKED = {
    ".docx": "word/document.xml",
    ".xlsx": "xl/workbook.xml",
    ".pptx": "ppt/slides/slide1.xml",
    ".odp": "content.xml",
    ".ods": "content.xml",
    ".odt": "content.xml",
    ".epub": "OEBPS/c.xhtml",
}
BOMB_BYTES = 150_000_000
DEEP = 100_000
PICTURES = (".png", ".jpg", ".tiff")
COMPOUND = (".msg", ".doc", ".ppt", ".xls")
LAUGHS = b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha">' + b"".join(
    b'<!ENTITY %c "%s">' % (97 + n, b"&%c;" % (96 + n) * 10) for n in range(1, 12)
)
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
NAMESPACES = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{path}:1.0"' for name, path in (
    ("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing")
))  # fmt: skip
CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
    '<rootfiles><rootfile full-path="OEBPS/p.opf"/></rootfiles></container>'
)
BOOK = (
    '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest>'
    '<spine><itemref idref="c"/></spine></package>'
)
PLAIN = {  # sound files that are text
    ".eml": b"From: a@example.org\r\nSubject: Pump\r\n\r\nThe pump is old.\r\n",
    ".rtf": rb"{\rtf1\ansi The pump is old.\par}",
    ".json": b'[{"pump": "P-7", "lot": "L-22"}]',
    ".jsonl": b'{"pump": "P-7", "lot": "L-22"}\n{"pump": "P-8", "lot": "L-23"}\n',
    ".ndjson": b'{"pump": "P-7", "lot": "L-22"}\n',
    ".html": b"<html><body><p>The pump is old.</p></body></html>",
    ".csv": b"Pump,Lot\nP-7,L-22\n",
    ".tsv": b"Pump\tLot\nP-7\tL-22\n",
    ".md": b"# Pumps\n\nThe pump is *old*.\n",
    ".txt": b"The pump is old, and stands in Cedar Hall.\n",
}


def good() -> dict[str, bytes]:
    """A sound small file of each format, to be spoilt."""
    word, book, show, picture = docx.Document(), openpyxl.Workbook(), pptx.Presentation(), Image.new("L", (400, 300), 255)
    word.add_paragraph("The pump is old.")
    book.active.append(["Pump", "Lot"])
    book.active.append(["P-7", "L-22"])
    show.slides.add_slide(show.slide_layouts[5]).shapes.title.text = "Pumps"
    said = "<text:p>The pump is old.</text:p>"
    cells = "".join(f"<table:table-cell><text:p>{word}</text:p></table:table-cell>" for word in ("P-7", "L-22"))
    people = ("Anna", "anna@example.org"), [("Bo", "bo@example.org")]
    return {
        ".docx": _saved(word.save),
        ".xlsx": _saved(book.save),
        ".pptx": _saved(show.save),
        ".odp": _open("presentation", f"<draw:page><draw:frame><draw:text-box>{said}</draw:text-box></draw:frame></draw:page>"),
        ".ods": _open("spreadsheet", f'<table:table table:name="Stock"><table:table-row>{cells}</table:table-row></table:table>'),
        ".odt": _open("text", said),
        ".epub": zipped(
            {
                "mimetype": b"application/epub+zip",
                "META-INF/container.xml": CONTAINER.encode(),
                "OEBPS/p.opf": BOOK.encode(),
                "OEBPS/c.xhtml": b"<html><body><p>The pump is old.</p></body></html>",
            }
        ),
        ".pdf": one_line(b"The pump is old."),
        ".zip": zipped({"a.txt": b"The pump is old.", "b.csv": b"Pump,Lot\nP-7,L-22\n"}),
        ".msg": message("Pump", "The pump is old.", sender=people[0], to=people[1], sent=datetime(2026, 3, 2, tzinfo=UTC)),
        ".doc": old_office.word("The pump is old.\r"),
        ".ppt": old_office.slides("The pump is old."),
        ".xls": old_office.sheet([(0, 0, "Pump"), (0, 1, "Lot"), (1, 0, "P-7"), (1, 1, "L-22")]),
        ".png": _saved(lambda target: picture.save(target, "PNG")),
        ".jpg": _saved(lambda target: picture.save(target, "JPEG")),
        ".tiff": _saved(lambda target: picture.save(target, "TIFF")),
        **PLAIN,
    }


def _open(kind: str, body: str) -> bytes:
    """An OpenDocument file."""
    inside = f"<office:{kind}>{body}</office:{kind}>"
    content = f"<office:document-content {NAMESPACES}><office:body>{inside}</office:body></office:document-content>"
    return zipped({"mimetype": f"application/vnd.oasis.opendocument.{kind}".encode(), "content.xml": content.encode()})


def hostile(suffix: str, sound: bytes) -> Iterator[tuple[str, bytes]]:
    """Ten (name, content) of a format, from a sound file of it."""
    rng = random.Random(suffix)
    for number, share in enumerate((0.2, 0.6, 0.95)):
        yield f"cut-{number}{suffix}", sound[: int(share * len(sound))]
    for number, count in enumerate((3, 40)):
        spoilt = bytearray(sound)
        for _ in range(count):
            spoilt[rng.randrange(8 % len(sound), len(sound))] = rng.randrange(256)
        yield f"garbled-{number}{suffix}", bytes(spoilt)
    yield f"noise{suffix}", sound[:8] + rng.randbytes(200_000)
    yield f"password{suffix}", OLE + "EncryptedPackage".encode("utf-16-le") + rng.randbytes(20_000)
    yield f"misnamed{suffix}", zipped({"a.bin": rng.randbytes(5_000)})
    yield from _own(suffix, sound)


def _own(suffix: str, sound: bytes) -> Iterator[tuple[str, bytes]]:
    """What is hostile in this format alone: two."""
    if suffix in PACKED:
        yield f"bomb{suffix}", _with(sound, PACKED[suffix], b"<a>" + b" " * BOMB_BYTES)
        yield f"entities{suffix}", _with(sound, PACKED[suffix], LAUGHS + b"]><a>&k;</a>")
    elif suffix in PICTURES:
        yield from _pictures(suffix, sound)
    elif suffix in COMPOUND:
        (table,) = struct.unpack_from("<I", sound, 76)  # the sector that says which sector follows which
        at = 512 * (table + 1)
        yield f"loop{suffix}", sound[:at] + bytes(512) + sound[at + 512 :]
        yield _old(suffix) or (f"sectors{suffix}", sound[:44] + b"\xff\xff\xff\x00" + sound[48:])
    elif suffix == ".zip":
        yield "bomb.zip", zipped({"a.txt": b" " * BOMB_BYTES})
        yield "nested.zip", _nested(30)
    else:
        yield from ((f"{word}{suffix}", data) for word, data in _plain()[suffix].items())


def _old(suffix: str) -> tuple[str, bytes] | None:
    """What a file of before 2007 says of itself: a text 40,000 times, containers in containers, and two cells at the ends of a sheet."""
    match suffix:
        case ".doc":
            return "pieces.doc", old_office.word("The pump is old.\r" * 300, pieces=40_000)
        case ".ppt":
            return "deep.ppt", old_office.slides("The pump is old.", depth=DEEP)
        case ".xls":
            return "bomb.xls", old_office.sheet([(0, 0, "Pump"), (65_535, 65_535, "Lot")])
    return None


def _plain() -> dict[str, dict[str, bytes]]:
    parts = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(5_000))
    return {
        ".pdf": {"operators": many_operators(), "spaces": one_line(b"1" + b" " * 30_000 + b"x")},
        ".eml": {"deep": parts, "heads": b"From: " + b"=?utf-8?q?" * 200_000 + b"\n\nx"},
        ".rtf": {"deep": rb"{\rtf1 " + b"{" * DEEP + b"x", "binary": rb"{\rtf1 \bin2000000000 x}"},
        ".json": {"deep": b"[" * DEEP, "keys": b'{"a":' * DEEP + b"1" + b"}" * DEEP},
        ".jsonl": {"deep": b"[" * DEEP, "rows": b"[\n" * DEEP},
        ".html": {"deep": b"<div>" * DEEP + b"x", "comments": b"<!--" * 200_000},
        ".ndjson": {"deep": b'{"a":' * DEEP, "rows": b"{\n" * DEEP},
        ".csv": {"quote": b'name,what\n"' + b"a,\n" * 300_000, "columns": b"a," * 100_000 + b"\n" + b"1," * 100_000},
        ".tsv": {"quote": b'name\twhat\n"' + b"a\t\n" * 300_000, "columns": b"a\t" * 100_000 + b"\n" + b"1\t" * 100_000},
        ".md": {"data": b"A" * 1_000_000, "fences": b"```\n" * 200_000 + b"x"},
        ".txt": {"data": b"A" * 1_000_000, "marks": b"e" + "\u0301".encode() * 500_000},
    }


def _nested(depth: int) -> bytes:
    """An archive of archives: two in each as long as it stays small."""
    inner = zipped({"a.txt": b"deep"})
    for _ in range(depth):
        inner = zipped({"a.zip": inner, "b.zip": inner} if len(inner) < 100_000 else {"a.zip": inner})
    return inner


def _pictures(suffix: str, sound: bytes) -> Iterator[tuple[str, bytes]]:
    """Images that say that they are 60,000 by 60,000, and one that unfolds to that."""
    side = struct.pack(">II", 60_000, 60_000)
    head = b"IHDR" + side + b"\x08\x00\x00\x00\x00"
    chunk = struct.pack(">I", 13) + head + struct.pack(">I", zlib.crc32(head))
    rows = b"IDAT" + zlib.compress(bytes(60_001) * 2_000, 9)
    yield f"wide{suffix}", sound[:8] + chunk + struct.pack(">I", len(rows) - 4) + rows + struct.pack(">I", zlib.crc32(rows))
    claims = {struct.pack(">HH", 300, 400): b"\xff\xff\xff\xff", struct.pack("<HH", 1, 400): b"\x01\x00\xff\xff"}
    for told, claimed in claims.items():
        sound = sound.replace(told, claimed)
    yield f"claims{suffix}", sound


def zipped(parts: dict[str, bytes]) -> bytes:
    """An archive."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return target.getvalue()


def _with(sound: bytes, part: str, content: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(sound)) as archive:
        return zipped({name: archive.read(name) for name in archive.namelist()} | {part: content})


def _saved(save: Callable[[io.BytesIO], object]) -> bytes:
    target = io.BytesIO()
    save(target)
    return target.getvalue()
