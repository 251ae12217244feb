"""Small PDF and Word files, made by the test that reads them."""

import io
from collections.abc import Callable, Sequence

import docx
import pytest
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

MakePdf = Callable[..., bytes]
MakeDocx = Callable[..., bytes]


def _drawn(lines: Sequence[str]) -> DecodedStreamObject:
    escaped = (line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)") for line in lines)
    stream = DecodedStreamObject()
    stream.set_data(("BT /F1 10 Tf 14 TL 50 780 Td " + " ".join(f"({line}) Tj T*" for line in escaped) + " ET").encode("latin-1"))
    return stream


@pytest.fixture
def make_pdf() -> MakePdf:
    """make_pdf([["a line", …] a page, …], title=…, password=…) -> bytes; Helvetica, Latin-1."""

    def make(pages: Sequence[Sequence[str]], *, title: str = "", password: str = "") -> bytes:
        writer = PdfWriter()
        names = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica", "/Encoding": "/WinAnsiEncoding"}
        font = writer._add_object(DictionaryObject({NameObject(key): NameObject(value) for key, value in names.items()}))
        for lines in pages:
            page = writer.add_blank_page(width=595, height=842)
            fonts = DictionaryObject({NameObject("/F1"): font})
            page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
            page[NameObject("/Contents")] = writer._add_object(_drawn(lines))
        if title:
            writer.add_metadata({"/Title": title})
        if password:
            writer.encrypt(password, algorithm="RC4-128")
        target = io.BytesIO()
        writer.write(target)
        return target.getvalue()

    return make


@pytest.fixture
def make_docx() -> MakeDocx:
    """make_docx(lambda document: document.add_paragraph("…")) -> bytes."""

    def make(fill: Callable[..., object]) -> bytes:
        document = docx.Document()
        document.core_properties.title = ""
        fill(document)
        target = io.BytesIO()
        document.save(target)
        return target.getvalue()

    return make
