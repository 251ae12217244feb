"""Slides, spreadsheets, mails, archives, JSON and what lies inside them: their text, and where it stands."""

import io
import shutil
import subprocess
import zipfile
from pathlib import Path

import openpyxl
import pptx
import pytest
from PIL import Image, ImageDraw, ImageFont

from benchmarks.files import old_office
from edge_node.documents.readers import read, tessdata
from edge_node.documents.readers.pool import ReaderLimits, ReaderPool
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


def converted(folder: Path, name: str, data: bytes, kind: str) -> bytes:
    """A file as LibreOffice saves it in another format. Skips where there is none."""
    if (office := shutil.which("soffice")) is None:
        pytest.skip("no LibreOffice is installed")
    (folder / name).write_bytes(data)
    command = [office, "--headless", f"-env:UserInstallation=file://{folder}/profile", "--convert-to", kind, "--outdir", str(folder)]
    subprocess.run([*command, str(folder / name)], check=True, capture_output=True, timeout=120)
    return (folder / name).with_suffix(f".{kind}").read_bytes()


def scanned(*lines: str, kind: str | None) -> bytes:
    """A TIFF file of several pages, each a picture of a line."""
    pages = [Image.new("1", (1240, 300), 1) for _ in lines]
    for page, line in zip(pages, lines, strict=True):
        ImageDraw.Draw(page).text((80, 120), line, font=ImageFont.load_default(44), fill=0)
    target, how = io.BytesIO(), {"big_tiff": True} if kind == "big_tiff" else {"compression": kind}
    pages[0].save(target, "TIFF", save_all=True, append_images=pages[1:], dpi=(150, 150), **how)
    return target.getvalue()


def archive(**parts: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in parts.items():
            packed.writestr(name.replace("__", "."), data)
    return target.getvalue()


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


def test_a_slide_of_libreoffice_says_its_list_its_shape_its_table_and_its_notes(tmp_path: Path):
    show = pptx.Presentation(io.BytesIO(slides()))
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text = "Steps"
    slide.placeholders[1].text = "Stop the pump\nCall Bo\vLind"
    slide.shapes.add_shape(1, 0, 0, 900, 900).text_frame.text = "A shape of Cedar Store"
    target = io.BytesIO()
    show.save(target)
    found = read("show.odp", converted(tmp_path, "show.pptx", target.getvalue(), "odp"))
    assert found.title == "Pumps"
    assert place(found, "# Pumps") == "slide 1"
    assert place(found, SAID) == place(found, "Ask Anna Keller.") == "slide 2"
    assert place(found, "- Stop the pump\n- Call Bo Lind") == place(found, "A shape of Cedar Store") == "slide 3"
    assert found.text.count("P-7") == 1


def test_a_slide_that_another_program_has_written_says_the_same():
    """The file was made by odfpy 1.4.1."""
    found = read("show.odp", Path(__file__).with_name("show.odp").read_bytes())
    assert found.text.count("Pump P-7 was recalled in Bergen.\n\n- Stop the pump\n- Call Bo Lind\n\nPump: P-7; Lot: L-22.\n\nAsk Anna") == 1
    assert place(found, "called Ann Lee") == "slide 2"


def test_a_presentation_that_is_none_is_parked():
    mime = b"application/vnd.oasis.opendocument.presentation"
    assert reason_of("a.odp", archive(mimetype=mime)) == "bad_office"
    assert reason_of("a.odp", archive(mimetype=mime, content__xml=b"<a")) == "bad_office"
    manifest = {"META-INF/manifest__xml": b"<encryption-data/>"}
    assert reason_of("a.odp", archive(mimetype=mime, content__xml=b"\x00", **manifest)) == "encrypted"


@pytest.mark.parametrize("kind", [None, "group3", "group4", "tiff_lzw", "big_tiff"])
def test_each_page_of_a_scan_of_several_is_recognised_under_its_number(kind: str | None):
    found = read("scan.tiff", scanned("Pump P-7 was recalled in Bergen.", "The ward called Ann Lee.", kind=kind))
    assert place(found, "recalled in Bergen") == "page 1"
    assert place(found, "called Ann Lee") == "page 2"
    assert [code for code, _ in found.shortfalls] == ["ocr"]


@pytest.mark.process
async def test_a_scan_is_recognised_within_the_limits_of_a_child():
    pool = ReaderPool(ReaderLimits(60, 2**30), at_once=1, recognition=tessdata.Recognition("deu,fra"))
    found = await pool.read("scan.tiff", scanned("Pump P-7 was recalled in Bergen.", kind="group4"))
    pool.close()
    assert "P-7 was recalled in Bergen" in found.text
    assert "(deu)" in found.shortfalls[0][1]


@pytest.mark.parametrize(
    ("raw", "suffix", "target"),
    [
        (old_office.word("The pump is old.\r" * 50), ".doc", ".docx"),
        (old_office.slides("The pump is old."), ".ppt", ".pptx"),
        (old_office.sheet([(0, 0, "Pump")]), ".xls", ".xlsx"),
    ],
)
def test_an_old_file_that_is_cut_off_or_noise_is_not_said_to_be_behind_a_password_for_sure(raw: bytes, suffix: str, target: str):
    for spoilt in (raw[:600], raw[: len(raw) // 2], raw[:8] + bytes(range(256)) * 9):
        with pytest.raises(UnreadableDocument, match="is damaged, or behind a password") as caught:
            read(f"old{suffix}", spoilt)
        assert (caught.value.reason[:4], f"save it as {target} " in caught.value.next_step) == ("bad_", True)


@pytest.mark.parametrize("left", [-1, -500, -600])
def test_a_sheet_of_excel_that_is_cut_off_near_its_end_is_said_to_be_damaged(left: int):
    """At some of these calamine panics, which is no Exception."""
    with pytest.raises(UnreadableDocument, match="is damaged") as caught:
        read("old.xls", old_office.sheet([(row, 0, f"Pump {row}") for row in range(400)])[:left])
    assert caught.value.reason == "bad_sheet"


def test_a_sentence_over_pages_of_a_pdf_stands_on_the_page_where_it_begins(make_pdf):
    line = "This line is as wide as the column of the page, and it goes"
    found = read("a.pdf", make_pdf([[line], ["on here on the next page-", "side, and here.", "The end."], ["It is over."]]))
    assert found.text.startswith(f"{line} on here on the next pageside, and here.")
    assert place(found, "pageside") == "page 1"
    assert place(found, "It is over.") == "page 3"


def test_rich_text_is_read():
    assert read("a.rtf", rb"{\rtf1 The pump \b P-7\b0  is old.\par Gr\'fc\'dfe}").text.startswith("The pump P-7 is old.")


def test_a_scan_without_recognition_is_parked_with_the_line_that_installs_it(make_pdf, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tessdata, "FOLDERS", ())
    with pytest.raises(UnreadableDocument) as caught:
        read("scan.pdf", make_pdf([[], []]))
    assert (caught.value.reason, "pip install 'dgrag[ocr]'" in caught.value.next_step) == ("no_text", True)
    assert reason_of("scan.png", b"\x89PNG\r\n\x1a\n") == "no_text"
    mixed = read("mixed.pdf", make_pdf([["The pump is old."], []]))
    assert mixed.shortfalls[0][0] == "pages_unread"


def test_a_code_that_a_line_end_of_a_pdf_cuts_is_whole(make_pdf):
    lines = ["The cooling fan P-35942 at Cedar Hall is of lot L-", "97868 and of the emer-", "gency stock."]
    assert "lot L-97868 and of the emergency stock." in read("a.pdf", make_pdf([lines])).text
