"""The files of before 2007 that the hostile ones are spoilt from are sound ones."""

import pytest

from benchmarks.files import old_office
from edge_node.documents.readers import read


@pytest.mark.parametrize(
    ("name", "raw", "text"),
    [
        ("a.doc", old_office.word("The pump is old.\r"), "The pump is old."),
        ("a.ppt", old_office.slides("The pump is old."), "The pump is old."),
        ("a.xls", old_office.sheet([(0, 0, "Pump"), (0, 1, "Lot"), (1, 0, "P-7"), (1, 1, "L-22")]), "Pump: P-7; Lot: L-22."),
    ],
)
def test_a_file_of_before_2007_says_what_was_put_into_it(name, raw, text):
    assert read(name, raw).text == text
