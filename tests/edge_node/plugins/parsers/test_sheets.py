"""Spreadsheets as a person sees them."""

import io
import struct
import zipfile
from datetime import date, time, timedelta

import pytest
from openpyxl import Workbook
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.styles import Font

from benchmarks.files.outlook import compound
from edge_node.documents.blocks import to_text
from edge_node.documents.text import ReadText
from edge_node.plugins.parsers import xlsx_view
from edge_node.plugins.parsers.sheets import parse_sheet
from shared.errors import UnreadableDocument
from tests.support.office_files import relations, zipped

OPEN = """<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:automatic-styles>
 <style:style style:name="out" style:family="table"><style:table-properties table:display="false"/></style:style>
 {}</office:automatic-styles><office:body><office:spreadsheet>{}</office:spreadsheet></office:body>
</office:document-content>"""


def read(data: bytes, name: str = "a.xlsx") -> ReadText:
    return to_text(name, parse_sheet(name, data))


def saved(book: Workbook) -> bytes:
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def workbook(rows: list[list[object]], formats: dict[str, str] | None = None) -> Workbook:
    book = Workbook()
    book.active.title = "Wards"
    for row in rows:
        book.active.append(row)
    for cell, code in (formats or {}).items():
        book.active[cell].number_format = code
    return book


def open_sheet(tables: str, styles: str = "") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", OPEN.format(styles, tables))
    return out.getvalue()


def open_cell(text: str, more: str = "") -> str:
    return f"<table:table-cell {more}><text:p>{text}</text:p></table:table-cell>"


def lines(found: ReadText) -> list[str]:
    return found.text.split("\n")


def test_years_as_numbers_name_columns():
    rows = [["Region", 2022, 2023, 2024], ["North", 10, 12, 14], ["South", 20, 22, 24]]
    found = read(saved(workbook(rows)))
    assert lines(found)[0] == "Region: North; 2022: 10; 2023: 12; 2024: 14."
    assert found.tables[0].headings == ("Region", "2022", "2023", "2024")
    assert found.tables[0].rows[1] == ("South", 20, 22, 24)


def test_a_merged_cell_stands_in_each_row_and_column_that_it_covers():
    book = workbook([["Ward", "Drug", "Dose"], ["Ward A", "Heparin", 5], [None, "Insulin", 8], ["Medicine"], ["B", "C", 1]])
    book.active.merge_cells("A2:A3")
    book.active.merge_cells("A4:C4")
    assert lines(read(saved(book))) == [
        "Ward: Ward A; Drug: Heparin; Dose: 5.",
        "Ward: Ward A; Drug: Insulin; Dose: 8.",
        "Medicine.",
        "Ward: B; Drug: C; Dose: 1.",
    ]


def test_numbers_are_shown_with_their_formats_and_kept_as_values():
    rows = [["Name", "Share", "Rate", "Size", "Code", "Price", "Account"], ["a", 0.25, 0.0375, 12_500_000, 123, 1234, 1234567890123456]]
    codes = {"B2": "0%", "C2": "0%", "D2": '#,##0.0,,"M"', "E2": "00000", "F2": "#,##0 €"}
    found = read(saved(workbook(rows, codes)))
    assert found.text == (
        "Name: a; Share: 25%; Rate: 4% (0.0375); Size: 12.5M (12500000); Code: 00123; Price: 1,234 €; Account: 1234567890123456."
    )
    assert found.tables[0].rows == (("a", "25%", "3.75%", 12_500_000, 123, 1234, 1234567890123456),)


def test_formats_stand_at_their_columns_where_the_sheet_begins_further_right():
    book = Workbook()
    for cell, value in {"C3": "Name", "D3": "Rate", "C4": "a", "D4": 0.5}.items():
        book.active[cell] = value
    book.active["D4"].number_format = "0.0%"
    found = read(saved(book))
    assert found.text == "Name: a; Rate: 50.0%."
    assert found.places == ((0, "Sheet, row 4"),)


def test_days_and_times_are_said_as_such():
    rows = [["Day", "Time", "Took"], [date(2024, 5, 3), time(10, 30), timedelta(hours=26, minutes=5)]]
    assert read(saved(workbook(rows, {"C2": "[h]:mm"}))).text == "Day: 2024-05-03; Time: 10:30:00; Took: 26:05."


def test_what_is_hidden_is_left_out_and_counted():
    book = workbook([["Ward", "Beds", "Secret"], ["Juniper", 28, "x"], ["Ghost", 1, "y"], ["Cedar", 14, "z"]])
    book.active.row_dimensions[3].hidden = True
    book.active.column_dimensions["C"].hidden = True
    book.create_sheet("pw").append(["hunter2"])
    book["pw"].sheet_state = "veryHidden"
    found = read(saved(book))
    assert lines(found) == ["Ward: Juniper; Beds: 28.", "Ward: Cedar; Beds: 14."]
    assert found.places[1][1] == "Wards, row 4"
    assert found.shortfalls == (("hidden_cells", "1 hidden sheet, 1 hidden row and 1 hidden column are not in the text."),)


def test_cells_that_are_struck_through_are_marked():
    rows = [["Ward", "Beds"], ["Juniper", 28], ["Cedar", 14]]
    book = workbook(rows)
    for cell in ("A2", "B2"):
        book.active[cell].font = Font(strike=True)
    expected = ["Ward: ~~Juniper~~; Beds: ~~28~~.", "Ward: Cedar; Beds: 14."]
    assert lines(read(saved(book))) == expected
    style = '<style:style style:name="old" style:family="table-cell"><style:text-properties style:text-line-through-style="solid"/>'
    old, number = 'table:style-name="old"', 'office:value-type="float" office:value="{}"'.format
    cells = (
        (open_cell("Ward"), open_cell("Beds")),
        (open_cell("Juniper", old), open_cell("28", f"{old} {number(28)}")),
        (open_cell("Cedar"), open_cell("14", number(14))),
    )
    table = "".join(f"<table:table-row>{''.join(row)}</table:table-row>" for row in cells)
    data = open_sheet(f'<table:table table:name="S">{table}</table:table>', f"{style}</style:style>")
    assert lines(read(data, "a.ods")) == expected


def test_a_struck_cell_of_an_old_workbook_is_marked_by_the_font_of_its_style():
    """Fonts are numbered without a four: the fifth one is number 5."""

    def record(kind: int, body: bytes) -> bytes:
        return struct.pack("<HH", kind, len(body)) + body

    def label(row: int, column: int, style: int, text: str) -> bytes:
        return record(0x204, struct.pack("<4HB", row, column, style, len(text), 0) + text.encode())

    fonts = b"".join(record(0x31, struct.pack("<HH10xBB", 200, line, 1, 0) + b"A") for line in (0, 0, 0, 0, 8))
    styles = b"".join(record(0xE0, struct.pack("<HH16x", font, 0)) for font in (0, 5, 3))
    begins = record(0x809, struct.pack("<4H2I", 0x0600, 0x0005, 0, 0, 0, 6)) + fonts + styles
    start = len(begins) + 4 + 8 + 5 + 4
    book = begins + record(0x85, struct.pack("<IBBBB", start, 0, 0, 5, 0) + b"Stock") + record(0x0A, b"")
    cells = label(0, 0, 0, "Pump") + label(0, 1, 0, "Lot") + label(1, 0, 1, "P-7") + label(1, 1, 2, "L-22")
    data = book + record(0x809, struct.pack("<4H2I", 0x0600, 0x0010, 0, 0, 0, 6)) + cells + record(0x0A, b"")
    assert read(compound({"Workbook": data}), "a.xls").text == "Pump: ~~P-7~~; Lot: L-22."


def test_errors_and_formulas_without_a_value_are_counted():
    book = workbook([["Ward", "Beds", "Sum"], ["Juniper", 28, "=1+1"], ["Cedar", 14, "=B3*2"]])
    book.active["B3"].value, book.active["B3"].data_type = "#N/A", "e"
    found = read(saved(book))
    assert found.shortfalls == (
        ("error_cells", "1 cell holds an error in place of a value."),
        ("uncomputed_formulas", "2 formulas without a computed value are not in the text."),
    )


def test_notes_of_cells_and_titles_of_charts_are_read():
    book = workbook([["Ward", "Beds"], ["Juniper", 28]])
    book.active["B2"].comment = Comment("ask Mira", "Tom")
    chart = BarChart()
    chart.title = "Beds by ward"
    chart.add_data(Reference(book.active, min_col=2, min_row=1, max_row=2))
    book.active.add_chart(chart, "D2")
    found = read(saved(book))
    assert found.text == "Ward: Juniper; Beds: 28.\n\nB2: ask Mira\n\nBeds by ward"
    assert found.places[1][1] == "Wards, B2"


def test_pictures_margins_and_what_is_embedded_are_counted_unless_words_stand_for_them():
    book = workbook([["Ward", "Beds"], ["Juniper", 28]])
    book.active.oddHeader.center.text = "Only for nurses"
    book.active.oddFooter.center.text = "Page &P of &N"
    names = 'xmlns:xdr="x" xmlns:a="y"'
    size = '<xdr:spPr><a:xfrm><a:ext cx="5000000" cy="5000000"/></a:xfrm></xdr:spPr>'
    pictures = (f"<xdr:pic><xdr:nvPicPr><xdr:cNvPr descr='{about}'/></xdr:nvPicPr>{size}</xdr:pic>" for about in ("", "Plan of the ward"))
    more = {
        "xl/worksheets/_rels/sheet1.xml.rels": relations({"r1": "drawing ../drawing.xml", "r2": "oleObject ../a.bin"}),
        "xl/drawing.xml": f"<xdr:wsDr {names}>{''.join(pictures)}</xdr:wsDr>",
    }
    with zipfile.ZipFile(io.BytesIO(saved(book))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    found = read(zipped(parts | more))
    assert found.text == "Ward: Juniper; Beds: 28.\n\nPicture: Plan of the ward"
    assert [words for _, words in found.shortfalls] == [
        "1 header or footer is not in the text.",
        "1 large picture is not in the text.",
        "1 embedded document is not in the text.",
    ]


def binary_workbook() -> bytes:
    def record(kind: int, *parts: bytes) -> bytes:
        head = bytes([kind]) if kind < 128 else bytes([kind & 127 | 128, kind >> 7])
        return head + bytes([sum(map(len, parts))]) + b"".join(parts)

    def text(words: str) -> bytes:
        return struct.pack("<I", len(words)) + words.encode("utf-16-le")

    rows = b""
    for number, cells in enumerate((("Ward", "Beds"), ("Juniper", 28.0))):
        rows += record(0, struct.pack("<I13x", number))
        for column, value in enumerate(cells):
            place = struct.pack("<II", column, 0)
            rows += record(6, place, text(value)) if isinstance(value, str) else record(5, place, struct.pack("<d", value))
    sheet = record(129) + record(148, struct.pack("<4I", 0, 1, 0, 1)) + record(145) + rows + record(146) + record(130)
    book = record(131) + record(143) + record(156, struct.pack("<II", 0, 1), text("r1"), text("Wards")) + record(144) + record(132)
    return zipped(
        {
            "xl/workbook.bin": book,
            "xl/_rels/workbook.bin.rels": relations({"r1": "worksheet worksheets/sheet1.bin"}),
            "xl/worksheets/sheet1.bin": sheet,
        }
    )


def test_a_workbook_whose_looks_are_not_read_says_so(monkeypatch: pytest.MonkeyPatch):
    found = read(binary_workbook(), "a.xlsb")
    assert found.text == "Ward: Juniper; Beds: 28."
    assert found.shortfalls[0][1].startswith("The looks of 1 sheet are not known: hidden cells")
    book = workbook([["Ward", "Beds"], ["Juniper", 28]])
    book.active["B2"].comment = Comment("ask Mira", "Tom")
    monkeypatch.setattr(xlsx_view, "MAX_PARTS", 2)
    assert read(saved(book)).shortfalls == (("part_unread", "1 part of the file, of notes, formats or drawings, is not in the text."),)


def test_two_tables_of_a_sheet_have_names_of_their_own():
    rows = [["Ward", "Beds"], ["Juniper", 28], [], ["Drug", "Stock"], ["Heparin", 50]]
    found = read(saved(workbook(rows)))
    assert lines(found) == ["Ward: Juniper; Beds: 28.", "Drug: Heparin; Stock: 50."]
    assert [(table.name, table.first_row) for table in found.tables] == [("Wards", 2), ("Wards", 5)]


def test_merged_ranges_beyond_reason_cost_little():
    data = saved(workbook([["Ward", "Beds"], ["Juniper", 28]]))
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for part in old.namelist():
            xml = old.read(part)
            if part.endswith("sheet1.xml"):
                merges = b'<mergeCell ref="A1:XFD1048576"/>' * 1_000
                xml = xml.replace(b"</sheetData>", b"</sheetData><mergeCells>" + merges + b"</mergeCells>")
            new.writestr(part, xml)
    assert len(read(out.getvalue()).text) < 100


def test_an_open_sheet_is_read_as_it_is_shown():
    percent = 'office:value-type="percentage" office:value="0.0375"'
    amount = 'office:value-type="currency" office:value="1234.5"'
    day = 'office:value-type="date" office:date-value="2024-05-03"'
    rows = (
        "<table:table-row>" + "".join(map(open_cell, ("Ward", "Rate", "Price", "Day"))) + "</table:table-row>"
        "<table:table-row>" + open_cell("Ward A", 'table:number-rows-spanned="2"') + open_cell("3.75%", percent)
        + open_cell("1,234.50 €", amount) + open_cell("03/05/24", day) + "</table:table-row>"
        "<table:table-row><table:covered-table-cell/>" + open_cell("4.00%", percent.replace("0.0375", "0.04"))
        + '<table:table-cell table:formula="of:=1"/></table:table-row>'
        '<table:table-row table:visibility="filter">' + open_cell("Ghost") + "</table:table-row>"
        '<table:table-row table:number-rows-repeated="1048570"><table:table-cell table:number-columns-repeated="16384"/>'
        "</table:table-row>"
    )  # fmt: skip
    hidden = (
        '<table:table table:name="pw" table:style-name="out"><table:table-row>' + open_cell("hunter2") + "</table:table-row></table:table>"
    )
    found = read(open_sheet(f'<table:table table:name="S">{rows}</table:table>{hidden}'), "a.ods")
    assert lines(found) == [
        "Ward: Ward A; Rate: 3.75%; Price: 1,234.50 €; Day: 2024-05-03.",
        "Ward: Ward A; Rate: 4.00%.",
    ]
    assert found.places == ((0, "S, row 2"), (63, "S, row 3"))
    assert found.tables[0].rows[0] == ("Ward A", "3.75%", 1234.5, "2024-05-03")
    assert [code for code, _ in found.shortfalls] == ["hidden_cells", "uncomputed_formulas"]
    assert found.shortfalls[0][1].startswith("1 hidden sheet and 1 hidden row")


def test_a_blank_cell_that_spans_others_leaves_those_behind_it_in_their_columns():
    covered = "<table:covered-table-cell/>"
    wide = '<table:table-cell table:number-columns-spanned="2"/>' + covered
    high = '<table:table-cell table:number-rows-spanned="2"/>'
    rows = (
        "".join(map(open_cell, ("Ward", "Day", "Night", "Beds"))),
        open_cell("Juniper") + wide + open_cell("28"),
        open_cell("Cedar") + high + open_cell("7") + open_cell("30"),
        open_cell("Rowan") + covered + open_cell("8") + open_cell("31"),
        high * 4,
    )
    table = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    assert lines(read(open_sheet(f'<table:table table:name="S">{table}</table:table>'), "a.ods")) == [
        "Ward: Juniper; Beds: 28.",
        "Ward: Cedar; Night: 7; Beds: 30.",
        "Ward: Rowan; Night: 8; Beds: 31.",
    ]


def test_rows_that_are_stated_a_million_times_are_refused():
    row = '<table:table-row table:number-rows-repeated="9999999">' + open_cell("x") + "</table:table-row>"
    with pytest.raises(UnreadableDocument, match="more than 2200000 rows"):
        read(open_sheet(f'<table:table table:name="S">{row}</table:table>'), "a.ods")


def test_an_open_sheet_behind_a_password_says_so():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("content.xml", b"\x00\x01noise")
        archive.writestr("META-INF/manifest.xml", "<manifest:encryption-data/>")
    with pytest.raises(UnreadableDocument) as caught:
        read(out.getvalue(), "a.ods")
    assert caught.value.reason == "encrypted"
