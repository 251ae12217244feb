"""PDF files, drawn by the tests that read them."""

from __future__ import annotations

from collections.abc import Sequence

PAGE = (595, 842)


def at(x: float, y: float, text: str, *, size: float = 10, font: str = "F1", extra: str = "") -> str:
    """A line of text; y from the top. ``extra``: operators before it ("3 Tr", "1 1 1 rg")."""
    escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return f"q BT {extra} /{font} {size} Tf 1 0 0 1 {x} {PAGE[1] - y} Tm ({escaped}) Tj ET Q"


def lines(x: float, y: float, texts: Sequence[str], *, pitch: float = 13, size: float = 10) -> str:
    """Lines below one another."""
    return "\n".join(at(x, y + pitch * row, text, size=size) for row, text in enumerate(texts))


def rule(x: float, y: float, to_x: float, to_y: float) -> str:
    """A straight line; y from the top."""
    return f"{x} {PAGE[1] - y} m {to_x} {PAGE[1] - to_y} l S"


def table(x: float, y: float, rows: Sequence[Sequence[str]], *, widths: Sequence[float], pitch: float = 16) -> str:
    """Rows whose cells stand at the same places."""
    drawn = list[str]()
    for row, cells in enumerate(rows):
        left = x
        for cell, width in zip(cells, widths, strict=True):
            if cell:
                drawn.append(at(left, y + pitch * row, cell))
            left += width
    return "\n".join(drawn)


def pdf(pages: Sequence[str], *, objects: Sequence[str] = (), page: str = "", catalogue: str = "") -> bytes:
    """Pages by their drawing operators, in Helvetica (F1) and its bold (F2).

    ``objects``: further ones, from number 7 on (6 is an empty drawing); ``page``, ``catalogue``: entries of each page and of the catalogue.
    """
    first = 7 + len(objects)
    kids = " ".join(f"{first + 2 * index} 0 R" for index in range(len(pages)))
    fonts = "<</F1 3 0 R/F2 4 0 R>>"
    fixed = [
        f"<</Type/Catalog/Pages 2 0 R{catalogue}>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica-Bold/Encoding/WinAnsiEncoding>>",
        "<</Producer(tests)>>",
        "<</Type/XObject/Subtype/Form/BBox[0 0 1 1]/Length 0>>stream\n\nendstream",
        *objects,
    ]
    for index, drawing in enumerate(pages):
        content = f"{first + 2 * index + 1} 0 R"
        box = f"[0 0 {PAGE[0]} {PAGE[1]}]"
        fixed.append(f"<</Type/Page/Parent 2 0 R/MediaBox{box}/Contents {content}/Resources<</Font{fonts}>>{page}>>")
        length = len(drawing.encode("latin-1"))
        fixed.append(f"<</Length {length}>>stream\n{drawing}\nendstream")
    body, places = b"%PDF-1.7\n", list[int]()
    for number, content in enumerate(fixed, start=1):
        places.append(len(body))
        body += f"{number} 0 obj{content} endobj\n".encode("latin-1")
    table_of = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(fixed) + 1
    head = b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R/Info 5 0 R>>\n" % (size, table_of, size)
    return body + head + b"startxref\n%d\n%%%%EOF" % len(body)
