"""A sentence as a file of an office: PDF, Word, a scanned page as PDF, a picture."""

import io

import docx
from PIL import Image, ImageDraw, ImageFont
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject


def pdf(*lines):
    """One page with a text layer: Helvetica, Latin-1, no brackets."""
    stream, writer = DecodedStreamObject(), PdfWriter()
    stream.set_data(("BT /F1 10 Tf 14 TL 50 780 Td " + " ".join(f"({line}) Tj T*" for line in lines) + " ET").encode("latin-1"))
    names = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica", "/Encoding": "/WinAnsiEncoding"}
    font = writer._add_object(DictionaryObject({NameObject(key): NameObject(value) for key, value in names.items()}))
    page = writer.add_blank_page(width=595, height=842)
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})})
    page[NameObject("/Contents")] = writer._add_object(stream)
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


def word(*lines):
    """Each line is a paragraph."""
    document, target = docx.Document(), io.BytesIO()
    for line in lines:
        document.add_paragraph(line)
    document.save(target)
    return target.getvalue()


def page_image(*lines):
    """A page of A4 at 150 dots an inch, black on white."""
    page = Image.new("L", (1240, 1754), 255)
    for number, line in enumerate(lines):
        ImageDraw.Draw(page).text((100, 150 + 70 * number), line, font=ImageFont.load_default(32), fill=0)
    return page


def scanned_pdf(*lines):
    """A PDF that is a picture: without a text layer."""
    target = io.BytesIO()
    page_image(*lines).save(target, "PDF", resolution=150)
    return target.getvalue()


def picture(*lines):
    """The same as PNG."""
    target = io.BytesIO()
    page_image(*lines).save(target, "PNG", dpi=(150, 150))
    return target.getvalue()
