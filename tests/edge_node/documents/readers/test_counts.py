"""Pages, slides, images, sheets, rows and parts are counted before anything reads them."""

import io
import time
import zipfile
from types import SimpleNamespace

import pytest
from PIL import Image

from edge_node.documents import text
from edge_node.documents.readers import read
from edge_node.plugins.parsers import mail, ocr, pdf, sheets
from edge_node.plugins.parsers.pdf_page import Word
from edge_node.plugins.parsers.pdfium import Document
from shared.errors import UnreadableDocument

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def same_page(count):
    """A PDF of one page that its tree names again and again."""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%s]>>" % (count, b"3 0 R " * count),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj%sendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 4\n0000000000 65535 f \n" + table
    return out + head + b"trailer<</Size 4/Root 1 0 R>>startxref\n%d\n%%%%EOF" % len(out)


def zipped(parts):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return target.getvalue()


def same_sheet(count, rows):
    """A workbook of one sheet with cells in these rows, which it names again and again."""
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
    sheets = "".join(f'<sheet name="s{number}" sheetId="{number}" r:id="r1"/>' for number in range(1, count + 1))
    cells = "".join(f'<row r="{row}"><c r="A{row}"><v>1</v></c></row>' for row in rows)

    def relation(what, target):
        kind, head = f"{RELATIONS}/{what}", f'<Relationships xmlns="{PACKAGE}/relationships">'
        return f'{head}<Relationship Id="r1" Type="{kind}" Target="{target}"/></Relationships>'

    types = f'<Types xmlns="{PACKAGE}/content-types"><Override PartName="/xl/workbook.xml" ContentType="{kind}"/></Types>'
    return zipped(
        {
            "[Content_Types].xml": types,
            "_rels/.rels": relation("officeDocument", "xl/workbook.xml"),
            "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets>{sheets}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": relation("worksheet", "worksheets/sheet1.xml"),
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{MAIN}"><sheetData>{cells}</sheetData></worksheet>',
        }
    )


def same_slide(count):
    """A presentation that names one slide again and again."""
    listed = f'<p:sldId id="256" r:id="r1" xmlns:r="{RELATIONS}"/>' * count
    main = "http://schemas.openxmlformats.org/presentationml/2006/main"
    show = f'<p:presentation xmlns:p="{main}"><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>'
    return zipped({"ppt/presentation.xml": show, "ppt/slides/slide1.xml": "<p/>"})


def open_slides(count):
    draw = "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"
    content = f'<d xmlns:draw="{draw}">{"<draw:page/>" * count}</d>'
    return zipped({"mimetype": "application/vnd.oasis.opendocument.presentation", "content.xml": content})


def images(count):
    target, image = io.BytesIO(), Image.new("1", (8, 8), 1)
    image.save(target, "TIFF", save_all=True, append_images=[image] * (count - 1))
    return target.getvalue()


def parts(count):
    head = b'From: a@b.c\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="xx"\r\n\r\n'
    return head + b'--xx\r\nContent-Type: text/plain; name="a.txt"\r\n\r\npump\r\n' * count + b"--xx--\r\n"


@pytest.fixture
def unread(monkeypatch):
    """No part of a document may be read."""
    for module, name in ((pdf, "_read"),):
        monkeypatch.setattr(module, name, None)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.pdf", same_page(200_000), "more than 5000 pages"),
        ("a.pptx", same_slide(5_001), "more than 5000 slides"),
        ("a.odp", open_slides(5_001), "more than 5000 slides"),
        ("a.xlsx", same_sheet(1_001, [1]), "more than 1000 sheets"),
        ("a.eml", parts(20_000), "more than 2000 parts"),
        ("a.eml", parts(20_000).replace(b'boundary="xx"', b'boundary*0="x"; boundary*1="x"'), "more than 2000 parts"),
        ("a.eml", parts(20_000).replace(b'boundary="xx"', b'boundary =\r\n "xx"'), "more than 2000 parts"),
    ],
)
@pytest.mark.usefixtures("unread")
def test_what_has_too_many_is_refused_before_any_is_read(name, data, said):
    with pytest.raises(UnreadableDocument, match=said) as caught:
        read(name, data)
    assert caught.value.reason == "too_large"


def test_rows_of_one_sheet_that_is_named_again_count_again(monkeypatch):
    monkeypatch.setattr(sheets, "MAX_ROWS", 2_500)
    assert read("a.xlsx", same_sheet(2, [1, 1_000])).text
    with pytest.raises(UnreadableDocument, match="more than 2500 rows"):
        read("a.xlsx", same_sheet(3, [1, 1_000]))


def test_a_mail_says_how_many_attachments_are_not_read():
    found = read("a.eml", parts(mail.MAX_ATTACHED + 4))
    assert [code for code, _ in found.shortfalls] == ["part_unread"]
    assert found.shortfalls[0][1].startswith("3 ")  # the first part is the mail's own text


def test_a_tiff_says_that_the_images_beyond_the_first_are_not_read(monkeypatch):
    monkeypatch.setattr(ocr, "MAX_IMAGES", 2)
    read_images = []

    def words(self, image, points):
        read_images.append(image)
        return ocr.Recognised([Word(0, 0, 40, 10, text="pump", size=10)], 90)

    monkeypatch.setattr(ocr.Engine, "read", words)
    found = read("a.tiff", images(3))
    assert len(read_images) == 2
    assert ("pages_unread", "only the first 2 of its images were read: split it") in found.shortfalls


def test_null_control_reading_takes_far_longer_than_counting(monkeypatch):
    """Without text recognition, which would take minutes."""
    absent = SimpleNamespace(data=lambda: None, wanted="", rereads=True)
    monkeypatch.setattr(ocr, "chosen", SimpleNamespace(get=lambda: absent))
    data = same_page(20_000)
    started = time.process_time()
    with Document("a.pdf", data) as document:
        assert document.page_count == 20_000
    counted_s = time.process_time() - started
    monkeypatch.setattr(text, "MAX_PAGES", 10**9)
    started = time.process_time()
    with pytest.raises(UnreadableDocument, match=r"pages are images|no text"):
        read("a.pdf", data)
    assert time.process_time() - started > 10 * counted_s
