"""Slides, spreadsheets, mails, archives, JSON and what lies inside them: their text, and where it stands."""

import io
import json
import zipfile
from email.message import EmailMessage

import openpyxl
import pptx
import pytest

from edge_node.documents.readers import read, recognition
from shared.errors import UnreadableDocument
from shared.records import place_of

HEAD, ROW = ["Pump", "Lot", "Recalled"], ["P-7", "L-22", "2024-03-02"]
SAID = "Pump: P-7; Lot: L-22; Recalled: 2024-03-02."


def place(found, said: str) -> str:
    start = found.text.index(said)
    return place_of(found.places, (start, start + len(said)))


def reason_of(name: str, data: bytes) -> str:
    with pytest.raises(UnreadableDocument) as caught:
        read(name, data)
    return caught.value.reason


def workbook(*, first_row: int = 1) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Stock"
    for column, (name, value) in enumerate(zip(HEAD, ROW, strict=True), start=2):
        sheet.cell(first_row, column, name)
        sheet.cell(first_row + 4, column, value)
    target = io.BytesIO()
    book.save(target)
    return target.getvalue()


def slides() -> bytes:
    show = pptx.Presentation()
    for title in ("Pumps", "Wards"):
        slide = show.slides.add_slide(show.slide_layouts[5])
        slide.shapes.title.text = title
    cells = slide.shapes.add_table(2, 3, 0, 0, 900, 900).table
    for row, values in enumerate([HEAD, ROW]):
        for column, value in enumerate(values):
            cells.cell(row, column).text = value
    slide.notes_slide.notes_text_frame.text = "Ask Anna Keller."
    target = io.BytesIO()
    show.save(target)
    return target.getvalue()


def archive(**parts: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in parts.items():
            packed.writestr(name.replace("__", "."), data)
    return target.getvalue()


def mail(body: str, *attached: tuple[str, bytes]) -> bytes:
    made = EmailMessage()
    made["Subject"], made["From"], made["To"] = "Recall of P-7", "Anna <anna@example.org>", "Bo <bo@example.org>"
    made.set_content(body, cte="base64")
    for name, data in attached:
        made.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return bytes(made)


@pytest.mark.parametrize("first_row", [1, 4])
def test_a_row_of_a_sheet_names_its_columns_and_stands_at_its_own_number(first_row: int):
    found = read("stock.xlsx", workbook(first_row=first_row))
    assert found.text == SAID
    assert place(found, "P-7") == f"Stock, row {first_row + 4}"


def test_a_slide_says_its_table_and_its_notes():
    found = read("show.pptx", slides())
    assert found.title == "Pumps"
    assert place(found, "Pumps") == "slide 1"
    assert place(found, SAID) == place(found, "Ask Anna Keller.") == "slide 2"


def test_pages_of_a_pdf_are_told_across_lines_that_flow(make_pdf):
    line = "This line is as wide as the column of the page, and it goes"
    found = read("a.pdf", make_pdf([[line], ["on here on the next page-", "side, and"], ["here."]]))
    assert found.text == f"{line} on here on the next pageside, and here."
    assert place(found, "pageside") == "page 2"
    assert place(found, "goes on") == "pages 1-2"
    assert place(found, "here.") == "page 3"


def test_a_mail_is_its_heads_its_text_and_what_is_attached():
    found = read("a.eml", mail("Pump P-7 was recalled – Grüße.", ("stock.xlsx", workbook()), ("virus.bin", b"\x00\x01\x02\x03" * 99)))
    assert found.title == "Recall of P-7"
    assert "From: Anna <anna@example.org>" in found.text
    assert "recalled – Grüße." in found.text
    assert place(found, "Grüße") == ""
    assert place(found, SAID) == "stock.xlsx, Stock, row 5"
    assert [code for code, _ in found.shortfalls] == ["part_unread"]
    assert "virus.bin" in found.shortfalls[0][1]


def test_an_archive_is_its_documents_each_below_its_name():
    found = read("all.zip", archive(stock__csv=b"Pump,Lot\nP-1,L-2\n", a__txt=b"The ward is quiet.", rows__jsonl=b'{"Pump": "P-3"}\n'))
    assert "# a.txt\n\nThe ward is quiet." in found.text
    assert place(found, "L-2") == "stock.csv, row 2"
    assert place(found, "P-3") == "rows.jsonl, row 1"


def test_archives_in_archives_end_at_a_depth():
    data = archive(a__txt=b"deep")
    for _ in range(5):
        data = archive(inner__zip=data)
    assert reason_of("deep.zip", data) == "bad_archive"


def test_an_archive_whose_parts_are_all_unreadable_says_why():
    assert reason_of("a.zip", archive(a__pdf=b"%PDF-1.7 no")) == "bad_pdf"
    assert reason_of("a.zip", archive(a__bin=b"\x00\x01" * 99)) == "not_text"
    assert reason_of("a.zip", archive()) in {"empty", "bad_archive"}


def test_records_of_json_name_their_fields():
    data = {"site": "Tessel", "pumps": [{"name": "P-7", "lot": {"no": 22, "open": True}, "tags": ["a", "b"]}, {"name": "P-8"}]}
    found = read("a.json", json.dumps(data).encode())
    assert found.text == "site: Tessel.\nname: P-7; lot no: 22; lot open: yes; tags: a, b.\nname: P-8."
    assert place(found, "P-8") == "pumps, record 2"
    assert reason_of("a.json", b"{'no': json") == "bad_json"
    assert reason_of("a.json", b"[" * 100_000) == "bad_json"


def test_rich_text_is_read_and_no_mail_is_none():
    assert read("a.rtf", rb"{\rtf1 The pump \b P-7\b0  is old.\par Gr\'fc\'dfe}").text.startswith("The pump P-7 is old.")
    assert reason_of("a.eml", b"no mail at all") == "bad_mail"


def test_a_scan_without_recognition_is_parked_with_the_line_that_installs_it(make_pdf, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recognition, "FOLDERS", ())
    with pytest.raises(UnreadableDocument) as caught:
        read("scan.pdf", make_pdf([[], []]))
    assert (caught.value.reason, "apt-get install tesseract-ocr" in caught.value.next_step) == ("no_text", True)
    assert reason_of("scan.png", b"\x89PNG\r\n\x1a\n") == "no_text"
    mixed = read("mixed.pdf", make_pdf([["The pump is old."], []]))
    assert mixed.shortfalls[0][0] == "pages_unread"


def test_a_code_that_a_line_end_of_a_pdf_cuts_is_whole(make_pdf):
    lines = ["The cooling fan P-35942 at Cedar Hall is of lot L-", "97868 and of the emer-", "gency stock."]
    assert "lot L-97868 and of the emergency stock." in read("a.pdf", make_pdf([lines])).text
