"""Tables of real files: where they begin and end, and what their cells are as values."""

import io

import openpyxl

from edge_node.documents.readers import read
from edge_node.documents.readers.framing import take_answer, write_answer
from edge_node.plugins.tables.cells import columns_of

CSV = """Stock of ward 7

Article;Price (EUR);Stock;Share;Counted on;Code
IS-200;1.290,00;400;12 %;15.04.2026;007
IS-310;12,50;-;3 %;2.5.2026;012

NOR-10;;96;;1.12.2025;101
as of May 2026
Total;1.302,50;496;15 %;;
"""


def csv_table():
    [table] = read("stock.csv", CSV.encode()).tables
    return table


def test_a_title_a_blank_row_a_note_and_a_total_are_no_rows_and_numbers_and_dates_are_values():
    table = csv_table()
    data = columns_of(table)
    assert [(one.heading, one.kind, one.unit) for one in data.columns] == [
        ("Article", "text", ""),
        ("Price (EUR)", "number", ""),
        ("Stock", "number", ""),
        ("Share", "number", "%"),
        ("Counted on", "date", ""),
        ("Code", "text", ""),
    ]
    assert list(zip(*(one.values for one in data.columns), strict=True)) == [
        ("IS-200", 1290.0, 400, 12, "2026-04-15", "007"),
        ("IS-310", 12.5, None, 3, "2026-05-02", "012"),
        ("NOR-10", None, 96, None, "2025-12-01", "101"),
    ]
    assert [table.place(row) for row in data.rows] == ["row 4", "row 5", "row 7"]


def sheet():
    book = openpyxl.Workbook()
    page = book.active
    page.title = "Stock"
    rows = [["Wards"], [], ["Ward", "Beds", "Rate"], ["Juniper", 28, 1.234], ["Rowan", 0, 2.5], []]
    for row in [*rows, ["Device", "Room"], ["Pump", "7.04"]]:
        page.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def test_a_sheet_keeps_its_numbers_and_a_second_table_below_the_first_is_one_of_its_own():
    first, second = read("wards.xlsx", sheet()).tables
    assert [one.values for one in columns_of(first).columns] == [("Juniper", "Rowan"), (28, 0), (1.234, 2.5)]
    assert (first.place(0), second.headings, second.place(0)) == ("Stock, row 4", ("Device", "Room"), "Stock, row 8")


def test_each_row_s_place_is_the_one_that_its_sentence_has():
    found = read("wards.xlsx", sheet())
    starts = {label: at for at, label in found.places}
    assert found.text[starts[found.tables[0].place(1)] :].startswith("Ward: Rowan; Beds: 0; Rate: 2.5.")


def test_rows_without_headings_are_no_table():
    assert read("plain.csv", b"1,2\n3,4\n").tables == ()


def test_a_child_tells_of_tables_as_they_are_and_leaves_out_what_is_too_much():
    found = read("wards.xlsx", sheet())
    for most_bytes, tables in ((10_000, found.tables), (len(found.text) + 150, ())):
        stream = io.BytesIO()
        write_answer(stream, found, most_bytes=most_bytes)
        stream.seek(0)
        assert take_answer(stream, most_bytes=most_bytes).tables == tables
