"""Small files that every sound reader reads. Where one of them fails as well, a document that failed is not to blame."""

from __future__ import annotations

import io
import zipfile
from base64 import b64decode
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Control:
    """A file with the words that stand in it, and what cannot be read where it fails.

    ``doubts``: reasons and shortfalls of a document for which the reader may be to blame, if this file fails as well.
    """

    kind: str
    name: str
    data: bytes
    words: str
    doubts: frozenset[str]


def _pdf(words: str) -> bytes:
    """A PDF of one page, its text in a font that each program has."""
    drawing = b"BT /F1 24 Tf 72 700 Td (%s) Tj ET" % words.encode("ascii")
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(drawing), drawing),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )
    body, offsets = b"%PDF-1.4\n", list[int]()
    for number, content in enumerate(objects, start=1):
        offsets.append(len(body))
        body += b"%d 0 obj%s endobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    head = b"xref\n0 6\n0000000000 65535 f \n%strailer<</Size 6/Root 1 0 R>>\n" % table
    return body + head + b"startxref\n%d\n%%%%EOF" % len(body)


CONTROL_PDF = _pdf("Control page")
CONTROL_PNG = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAJYAAAAsAQAAAACvK3xcAAAAzUlEQVR42uWSQQrCMBBFf9JAI7gQvIDHcFGweCoX"
    "oll04dLjuFPc6DEqutZWCraQZlwkqUE9gf7dPH4yf4ZhhHe1HJ/6bXYSXbEiCQCgHORkYs2ISHNEtbcZ6ML9J5Rj"
    "1a4h34MEeDvdIwKXnhlDBNpCBFn0w8xVPVYSfQvprEs9M0mSLOlApe2LqsAGeZoGmdsh54y58v5ltotl0TVgR+eL"
    "A7b+fEujV+aJLWBSzwaQzqeV30Gss4VN13SzZT2e2d3cmGdBZgAA+7P7ewLTKlKXsET3ZgAAAABJRU5ErkJggg=="
)


def _package(parts: dict[str, str]) -> bytes:
    """An office document: an archive of XML."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
    return target.getvalue()


_OFFICE = "http://schemas.openxmlformats.org"


def _types(part: str, kind: str) -> str:
    return (
        f'<Types xmlns="{_OFFICE}/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/{part}" ContentType="application/vnd.openxmlformats-officedocument.{kind}+xml"/></Types>'
    )


def _relation(kind: str, target: str) -> str:
    relations = f"{_OFFICE}/officeDocument/2006/relationships/{kind}"
    return (
        f'<Relationships xmlns="{_OFFICE}/package/2006/relationships">'
        f'<Relationship Id="rId1" Type="{relations}" Target="{target}"/></Relationships>'
    )


def _word(words: str) -> bytes:
    body = (
        f'<w:document xmlns:w="{_OFFICE}/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>{words}</w:t></w:r></w:p></w:body></w:document>'
    )
    types = _types("word/document.xml", "wordprocessingml.document.main")
    return _package(
        {"[Content_Types].xml": types, "_rels/.rels": _relation("officeDocument", "word/document.xml"), "word/document.xml": body}
    )


def _sheet(words: str) -> bytes:
    space = f'xmlns="{_OFFICE}/spreadsheetml/2006/main"'
    book = (
        f'<workbook {space} xmlns:r="{_OFFICE}/officeDocument/2006/relationships">'
        '<sheets><sheet name="Control" sheetId="1" r:id="rId1"/></sheets></workbook>'
    )
    row = f'<row r="1"><c r="A1" t="inlineStr"><is><t>{words}</t></is></c></row>'
    return _package(
        {
            "[Content_Types].xml": _types("xl/workbook.xml", "spreadsheetml.sheet.main"),
            "_rels/.rels": _relation("officeDocument", "xl/workbook.xml"),
            "xl/workbook.xml": book,
            "xl/_rels/workbook.xml.rels": _relation("worksheet", "worksheets/sheet1.xml"),
            "xl/worksheets/sheet1.xml": f"<worksheet {space}><sheetData>{row}</sheetData></worksheet>",
        }
    )


_WORDS = "Control page"
_ANY = frozenset({"reader_failed", "part_unread"})  # of a document of any kind
CONTROLS = (
    Control("PDF files", "control.pdf", CONTROL_PDF, _WORDS, _ANY | {"bad_pdf", "no_text"}),
    Control("old office files", "control.rtf", rb"{\rtf1\ansi Control page\par}", _WORDS, _ANY | {"bad_office"}),
    Control("word files", "control.docx", _word(_WORDS), _WORDS, _ANY | {"bad_docx"}),
    Control("sheets", "control.xlsx", _sheet(_WORDS), _WORDS, _ANY | {"bad_sheet"}),
)
# no words: each language's data reads it differently
IMAGE_CONTROL = Control("text in images", "control.png", CONTROL_PNG, "", _ANY | {"bad_image", "no_text", "pages_unread"})
