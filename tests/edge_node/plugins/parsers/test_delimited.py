"""Delimited tables as sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.documents import text
from edge_node.documents.blocks import to_text
from edge_node.documents.text import ReadText
from edge_node.plugins.parsers.delimited import parse_delimited, split_rows
from shared.errors import UnreadableDocument


def read_table(name: str, data: bytes) -> ReadText:
    return to_text(name, parse_delimited(name, data))


def body(source: str) -> str:
    return read_table("wards.csv", source.encode()).text


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_each_row_names_its_columns_whatever_the_delimiter(delimiter: str):
    rows = [["Ward", "Beds", "Note"], ["Juniper", "28", "new"], ["Larch", "36", ""]]
    assert body("\n".join(delimiter.join(row) for row in rows)) == "Ward: Juniper; Beds: 28; Note: new.\nWard: Larch; Beds: 36."


def test_a_delimiter_inside_quotes_is_text():
    assert body('Ward,Note\nJuniper,"old, but\nclean"') == "Ward: Juniper; Note: old, but clean."


def test_commas_in_prose_do_not_win_over_semicolons():
    assert body("Ward;Note\nJuniper;old, clean, big\nLarch;new") == "Ward: Juniper; Note: old, clean, big.\nWard: Larch; Note: new."


def test_commas_in_numbers_do_not_win_over_semicolons():
    assert body("01.05.2024;1,5;2,5\n02.05.2024;1,6;2,7") == "01.05.2024; 1,5; 2,5.\n02.05.2024; 1,6; 2,7."


def test_a_blank_may_stand_before_a_quote():
    rows = 'Bed, Name, Days\n1, "Smith, John", 5\n2, "Doe, ""J""", 6'
    assert body(rows) == 'Bed: 1; Name: Smith, John; Days: 5.\nBed: 2; Name: Doe, "J"; Days: 6.'


def test_a_first_row_with_a_number_is_data():
    assert body("Juniper,28\nLarch,36") == "Juniper; 28.\nLarch; 36."


@pytest.mark.parametrize(
    "source",
    [
        "Juniper,Mira Holt\nCedar,Bo Lind",
        "Juniper Ward,Mira Holt\nCedar Ward,Bo Lind",
        "Monday,Soup\nTuesday,Fish\nWednesday,Pie with peas",
    ],
)
def test_pairs_of_words_that_nothing_names_are_rows(source: str):
    assert body(source).split("\n") == [f"{row.replace(',', '; ')}." for row in source.split("\n")]


@pytest.mark.parametrize(
    "source",
    [
        "Ward,Head\nJuniper,Mira Holt",
        "Ward,Sister\nWard Juniper,Mira Holt\nWard Cedar,Bo Lind",
        "pump,hall\nHarrow,East\nMarlow,West",
        "Pump,Hall\nHarrow,East\nMarlow,West\nBarrow,East\nLow,West",
        "Drug,Interval\nIbuprofen,8 hours\nInsulin,2 days",
        "Word,Sense\nTriage,the sorting of patients\nSepsis,a reaction to germs",
    ],
)
def test_words_that_differ_from_the_words_below_name_them(source: str):
    first, second = source.split("\n")[0].split(",")
    assert all(line.startswith(f"{first}: ") for line in body(source).split("\n"))
    assert f"; {second}: " in body(source)


def test_a_longer_row_keeps_its_further_cells():
    assert body("A,B\n1,2,3") == "A: 1; B: 2; 3."


def test_one_column_stays_lines():
    assert body("Juniper\n\nLarch\n") == "Juniper.\nLarch."


def test_blank_lines_before_the_header_are_skipped():
    assert body("\n,\nA,B\n1,2") == "A: 1; B: 2."


def test_the_title_is_the_file_name():
    assert read_table("data/wards.csv", b"A,B\n1,2").title == "wards"


def test_a_long_cell_is_read_as_it_is():
    assert body("A,B\n" + "x" * 150_000 + ",2") == f"A: {'x' * 64}…; B: 2."
    words = "word " * 30_000
    assert body(f"A,B\n{words},2\n3,4") == f"A: {words.strip()}; B: 2.\nA: 3; B: 4."


def test_a_long_header_cannot_unfold_without_bound(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(text, "MAX_TEXT_CHARS", 10_000)
    with pytest.raises(UnreadableDocument) as caught:
        body("h" * 200 + ",B\n" + "1,2\n" * 100)
    assert caught.value.reason == "too_large"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("Region,2021,2022,2023\nNorth,10,12,14\nSouth,20,22,24\n", "Region: North; 2021: 10; 2022: 12; 2023: 14."),
        (",name,beds\n0,Juniper,28\n1,Cedar,14\n", "0; name: Juniper; beds: 28."),
        ("name,phone,phone\nMira,a,b\nTom,c,d\n", "name: Mira; phone: a; phone 2: b."),
    ],
)
def test_a_header_may_hold_years_a_blank_and_a_name_twice(source: str, said: str):
    assert body(source).split("\n")[0] == said


def test_several_tables_in_a_file_have_names_of_their_own():
    assert body("ward,beds\nJuniper,28\n\npump,room\nHarrow,12\n") == "ward: Juniper; beds: 28.\npump: Harrow; room: 12."


def test_a_line_of_excel_says_the_delimiter_and_is_no_row():
    found = read_table("a.csv", b"sep=;\nward;note\nJuniper;a,b,c\n")
    assert found.text == "ward: Juniper; note: a,b,c."
    assert found.places == ((0, "row 2"),)


def test_a_nul_parts_figures_and_fills_up_fields():
    assert body('Ward,Beds\nJuniper,5\x0010\n"Cedar"\0,"14"\0\0\n') == ("Ward: Juniper; Beds: 5 10.\nWard: Cedar; Beds: 14.")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_quote_that_is_never_closed_is_a_sign_like_others(end: str):
    rows = ["id,size,room", '1,"5 inch,12', "2,6 inch,13", '3,7",14', '4,"a, ""b""",15']
    found = read_table("a.csv", end.join(rows).encode())
    assert found.text.split("\n") == [
        'id: 1; size: "5 inch; room: 12.',
        "id: 2; size: 6 inch; room: 13.",
        'id: 3; size: 7"; room: 14.',
        'id: 4; size: a, "b"; room: 15.',
    ]
    assert [place for _, place in found.places] == ["row 2", "row 3", "row 4", "row 5"]


def test_many_quotes_that_are_never_closed_take_no_long_time():
    lines = ['a,"b'] * 20_000 + ['"a', '""'] * 20_000
    assert body("\n".join(["x,y", *lines])).count("\n") > 30_000


def test_bytes_that_are_lost_are_said():
    found = read_table("a.csv", "Ward,Note\nJuniper,Kühlraum für Proben, größer\n".encode() + b"Cedar,\xff\n")
    assert "Kühlraum für Proben" in found.text
    assert [code for code, _ in found.shortfalls] == ["characters_lost"]


@given(st.text(alphabet='ab1," ;\n\r', max_size=60))
def test_no_letter_of_a_file_is_lost(source: str):
    cells = [cell for row in split_rows(source.replace("\r", "\n"), ",") for cell in row]
    kept = "".join(cells).replace("\n", "")
    assert [sign for sign in kept if sign in "ab1;"] == [sign for sign in source if sign in "ab1;"]


def test_a_row_of_more_columns_than_any_program_shows_is_refused():
    wide = ",".join(["a"] * 16_385)
    with pytest.raises(UnreadableDocument) as caught:
        body(f"Ward,Beds\nJuniper,28\n{wide}")
    assert caught.value.reason == "too_large"
    assert len(body(f'Ward,Note\nJuniper,"{wide}"')) > 30_000
