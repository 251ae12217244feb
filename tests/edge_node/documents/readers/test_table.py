"""Delimited tables as sentences."""

import pytest

from edge_node.documents.readers import text
from edge_node.documents.readers.plain import read_table
from shared.errors import UnreadableDocument


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


def test_a_first_row_with_a_number_is_data():
    assert body("Juniper,28\nLarch,36") == "Juniper; 28.\nLarch; 36."


def test_a_longer_row_keeps_its_further_cells():
    assert body("A,B\n1,2,3") == "A: 1; B: 2; 3."


def test_one_column_stays_lines():
    assert body("Juniper\n\nLarch\n") == "Juniper.\nLarch."


def test_blank_lines_before_the_header_are_skipped():
    assert body("\n,\nA,B\n1,2") == "A: 1; B: 2."


def test_the_title_is_the_file_name():
    assert read_table("data/wards.csv", b"A,B\n1,2").title == "wards"


def test_a_cell_beyond_the_parsers_limit_is_a_bad_table():
    with pytest.raises(UnreadableDocument) as caught:
        body("A,B\n" + "x" * 200_000 + ",2")
    assert caught.value.reason == "bad_table"


def test_a_long_header_cannot_unfold_without_bound(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(text, "MAX_TEXT_CHARS", 10_000)
    with pytest.raises(UnreadableDocument) as caught:
        body("h" * 1000 + ",B\n" + "1,2\n" * 100)
    assert caught.value.reason == "too_large"
