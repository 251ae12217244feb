"""Tables as grids: what names their columns, and what their rows say."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.documents.blocks import ParsedDocument, TextBlock, to_text
from edge_node.documents.grids import MOST_SLOTS, FoundTables, Grid, GridCell, laid_out


def lines(source: str, **options) -> list[str]:
    """The sentences of a table that is written as lines of cells."""
    return [sentence for _, sentence in grid(source, **options).sentences()]


def grid(source: str, **options) -> Grid:
    rows = [line.split("|") if line else [] for line in source.strip("\n").split("\n")]
    return laid_out([[GridCell(cell.strip()) for cell in row] for row in rows], **options)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("Region|2021|2022\nNorth|10|12", "Region: North; 2021: 10; 2022: 12."),
        ("Ward|2024-01|2024-02\nCedar|12|14", "Ward: Cedar; 2024-01: 12; 2024-02: 14."),
        ("|name|beds\n0|Juniper|28", "0; name: Juniper; beds: 28."),
        ("|0|1|2\na|5.1|3.5|1.4", "a; 0: 5.1; 1: 3.5; 2: 1.4."),
        ("1|2|3\na|b|c", "1: a; 2: b; 3: c."),
        ("name|phone|phone\nMira|12 34|56 78", "name: Mira; phone: 12 34; phone 2: 56 78."),
        ("Drug|Dose|Price\n|mg|EUR\nHeparin|5|12.50", "Drug: Heparin; Dose mg: 5; Price EUR: 12.50."),
        ("Site|2023||2024|\n|Income|Cost|Income|Cost\nAldham|10|7|12|9",
         "Site: Aldham; 2023 Income: 10; 2023 Cost: 7; 2024 Income: 12; 2024 Cost: 9."),
        ("Drug|Route\nHeparin|s.c.", "Drug: Heparin; Route: s.c."),
    ],
)  # fmt: skip
def test_a_header_is_seen_by_the_rows_below_it(source: str, said: str):
    assert lines(source) == [said]


@pytest.mark.parametrize(
    "source",
    [
        "Juniper|28\nLarch|36",
        "1|2|3\n4|5|6\n7|8|9",
        "Mira Holt|nurse\nTom Weg|doctor\nAnn Ray|nurse",
        "Juniper|2021\nLarch|2019",
    ],
)
def test_a_first_row_like_the_others_names_nothing(source: str):
    assert lines(source) == [f"{line.replace('|', '; ')}." for line in source.split("\n")]


@pytest.mark.parametrize(
    "source",
    [
        "Maker|Delvin Works\nYear|2021\nRoom|12",
        "Maker:|Delvin Works\nRuns since:|2021\nStands in:|12",
        "Hersteller|Delvin\nBaujahr|2021\nRaum|12",
    ],
)
def test_names_in_the_first_column_are_read_along_the_row(source: str):
    pairs = [line.replace(":|", "|").replace("|", ": ") + "." for line in source.split("\n")]
    assert lines(source) == pairs


def test_a_cell_that_ends_in_a_colon_names_the_next_one():
    assert lines("Lot :|131141|sealed\nWards|28|beds\n7|of|9")[0] == "Lot: 131141; sealed."


def test_a_form_of_two_pairs_a_row_is_read_along_the_row():
    assert lines("Name:|Mira Holt|Born:|1980\nWard:|Juniper|Room:|12") == [
        "Name: Mira Holt; Born: 1980.",
        "Ward: Juniper; Room: 12.",
    ]


@pytest.mark.parametrize("colon", [":", ""])
def test_an_empty_field_of_a_form_is_a_name_without_a_value(colon: str):
    source = "Name{0}|Ann Lund|Ward{0}|Elm\nBorn{0}|3 May 1970|Room{0}|\nDose{0}|5 mg|Unit{0}|oral"
    assert lines(source.format(colon)) == [
        "Name: Ann Lund; Ward: Elm.",
        "Born: 3 May 1970; Room.",
        "Dose: 5 mg; Unit: oral.",
    ]
    assert not list(grid(source.format(colon)).tables())


def test_a_form_that_nobody_filled_in_is_names():
    assert lines("Name:||Ward:|\nBorn:||Bed:|") == ["Name; Ward.", "Born; Bed."]


def test_a_name_that_spans_slots_has_its_value_next_to_it():
    rows = [
        [GridCell(text) for text in ("Name:", "Ann", "Born:", "1970")],
        [GridCell("Remarks:", columns=2), GridCell("none", columns=2)],
    ]
    assert [line for _, line in laid_out(rows).sentences()] == ["Name: Ann; Born: 1970.", "Remarks: none."]


@pytest.mark.parametrize(
    "source",
    [
        "Name|Elm ward\nBeds|28\nLead|Ann",
        "Department|Nursing staff office\nPhone|555\nE-mail|a@b.c",
        "Patient|Ward Elm\nRoom|12\nDose|5 mg",
        "Title|Manager\nName|Ann\nPhone|555",
    ],
)
def test_a_value_may_hold_the_word_of_a_field(source: str):
    assert lines(source) == [line.replace("|", ": ") + "." for line in source.split("\n")]


@pytest.mark.parametrize(
    "source",
    [
        "Department|Patients per day\nEmergency department|30\nOperating room|12",
        "Position|Salary\nManager|50\nNurse|40",
        "Role|Name\nHead nurse|Ann\nManager|Bob",
    ],
)
def test_rows_that_begin_with_the_word_of_a_field_keep_their_header(source: str):
    (table,) = grid(source).tables()
    assert "|".join(table.headings) == source.split("\n")[0]


@pytest.mark.parametrize(
    "source",
    [
        "Drug|Dose\nAspirin|Dose\nIbu|5 mg",
        "Day|Open|Close\nMonday|Open|closed\nTuesday|Closed|closed",
        "Valve|State|Price\nV1|State|5\nV2|on|6",
        "08:00|09:00|10:00\nAnn|Bob|Cy\nDi|Ed|Flo",
        "Room|08:00|09:00\nA|Ann|Bob\nB|Di|Flo",
    ],
)
def test_a_name_that_is_also_a_value_stays_a_name(source: str):
    (table,) = grid(source).tables()
    assert "|".join(table.headings) == source.split("\n")[0]


@pytest.mark.parametrize(
    "source",
    [
        "Mira Holt|nurse|Elm\nTom Weg|doctor|Oak\nAnn Ray|nurse|Fir",
        "Mira|nurse|none\nTom|doctor|5\nAnn|nurse|6",
        "Answer|Answer 2\nAnswer|yes\nno|Answer 2",
    ],
)
def test_a_first_row_whose_values_come_again_names_nothing(source: str):
    assert not list(grid(source).tables())


def test_a_blank_row_ends_a_table_and_a_header_is_looked_for_again():
    source = "ward|beds\nJuniper|28\n\npump|room\nHarrow|12"
    assert lines(source) == ["ward: Juniper; beds: 28.", "pump: Harrow; room: 12."]
    tables = [(table.headings, table.rows, table.first_row) for table in grid(source).tables()]
    assert tables == [
        (("ward", "beds"), (("Juniper", "28"),), 2),
        (("pump", "room"), (("Harrow", "12"),), 5),
    ]


@pytest.mark.parametrize("body", ["Harrow|north\nDelvin|south", "Harrow|north", "\nHarrow|12\nDelvin|13"])
def test_a_blank_row_ends_a_table_of_words_where_new_names_follow(body: str):
    source = f"Valve|Colour\nV1|red\nV2|blue\n\nPump|Room\n{body}"
    assert [table.headings for table in grid(source).tables()] == [("Valve", "Colour"), ("Pump", "Room")]
    assert lines(source)[2].startswith("Pump: Harrow; Room: ")


@pytest.mark.parametrize("names", ["Contact", "Contact\n", "Contact\nPhone:|1"])
def test_rows_below_another_title_are_no_rows_of_the_table_above(names: str):
    source = f"Drug|Stock\nHeparin|5\nAspirin|7\n\n{names}\nAnn|5551234\n\nBob|5551235"
    (table,) = grid(source).tables()
    assert table.rows == (("Heparin", "5"), ("Aspirin", "7"))
    assert lines(source)[-2:] == ["Ann; 5551234.", "Bob; 5551235."]


def test_a_part_of_other_kinds_is_no_row_of_the_table_above():
    (table,) = grid("Drug|Stock\nHeparin|5\n\nMade on|Monday").tables()
    assert table.rows == (("Heparin", "5"),)


def test_rows_behind_a_blank_one_go_on_below_the_same_names():
    source = "Ward|Beds|Nurse\nJuniper|28|Mira\n\nCedar|14|Tom\nLarch|3|Ann"
    assert lines(source)[1:] == ["Ward: Cedar; Beds: 14; Nurse: Tom.", "Ward: Larch; Beds: 3; Nurse: Ann."]
    (table,) = grid(source).tables()
    assert table.rows[1] == ()
    assert table.place(2) == "row 4"


def test_names_that_a_blank_row_parts_from_their_table_are_its_names():
    source = "Ward|Beds|Nurses\n\nJuniper|28|5\nCedar|14|3"
    assert lines(source)[0] == "Ward: Juniper; Beds: 28; Nurses: 5."


def test_a_table_in_other_columns_has_names_of_its_own():
    source = "Ward|Head||\nJuniper|Mira||\n||Pump|Room\n||Harrow|12"
    assert lines(source) == ["Ward: Juniper; Head: Mira.", "Pump: Harrow; Room: 12."]


def test_a_table_beside_another_has_names_of_its_own():
    source = "Ward|Beds|||\nJuniper|28|||\nCedar|14||Pump|Room\nLarch|3||Harrow|12\n|||Holt|13"
    assert lines(source) == [
        "Ward: Juniper; Beds: 28.",
        "Ward: Cedar; Beds: 14.",
        "Ward: Larch; Beds: 3.",
        "Pump: Harrow; Room: 12.",
        "Pump: Holt; Room: 13.",
    ]
    assert [table.first_row for table in grid(source).tables()] == [4, 2]


def test_lines_above_a_table_stand_alone():
    source = "Report of wards\nMade on|2024-05-03\nWard|Beds\nJuniper|28\nCedar|14"
    assert lines(source)[:3] == ["Report of wards.", "Made on; 2024-05-03.", "Ward: Juniper; Beds: 28."]


def test_a_header_that_is_said_again_on_the_next_page_is_no_row():
    assert lines("Ward|Beds\nJuniper|28\nWard|Beds\nCedar|14") == [
        "Ward: Juniper; Beds: 28.",
        "Ward: Cedar; Beds: 14.",
    ]


def test_a_cell_stands_in_each_slot_that_it_covers():
    rows = [
        [GridCell("Ward"), GridCell("Day"), GridCell("Night"), GridCell("Beds")],
        [GridCell("Juniper", rows=2), GridCell("Mira", columns=2), GridCell("28", 28)],
        [GridCell("Ada"), GridCell("Tom"), GridCell("14", 14)],
    ]
    grid = laid_out(rows)
    assert [line for _, line in grid.sentences()] == [
        "Ward: Juniper; Day: Mira; Night: Mira; Beds: 28.",
        "Ward: Juniper; Day: Ada; Night: Tom; Beds: 14.",
    ]
    (table,) = grid.tables()
    assert table.rows == (("Juniper", "Mira", "Mira", 28), ("Juniper", "Ada", "Tom", 14))


def test_header_rows_below_each_other_are_joined():
    rows = [
        [GridCell("Site", rows=2), GridCell("2023", columns=2), GridCell("2024", columns=2)],
        [GridCell(name) for name in ("Income", "Cost", "Income", "Cost")],
        [GridCell(value) for value in ("Aldham", "10", "7", "12", "9")],
    ]
    assert [line for _, line in laid_out(rows).sentences()] == [
        "Site: Aldham; 2023 Income: 10; 2023 Cost: 7; 2024 Income: 12; 2024 Cost: 9."
    ]


def test_cells_below_one_spanning_name_are_one_column():
    rows = [
        [GridCell("Item"), GridCell("Price", columns=2)],
        [GridCell("Pump"), GridCell("$"), GridCell("12")],
        [GridCell("Hose"), GridCell("$"), GridCell("3")],
    ]
    assert [line for _, line in laid_out(rows).sentences()] == ["Item: Pump; Price: $ 12.", "Item: Hose; Price: $ 3."]


def test_a_cell_that_spans_a_whole_row_is_said_once():
    rows = [
        [GridCell("Ward", is_heading=True), GridCell("Beds", is_heading=True)],
        [GridCell("Medicine", columns=2)],
        [GridCell("Juniper"), GridCell("28")],
    ]
    assert [line for _, line in laid_out(rows).sentences()] == ["Medicine.", "Ward: Juniper; Beds: 28."]


def test_a_block_of_merged_cells_is_one_line_and_not_one_for_each_row():
    note = GridCell("Ask Mira first", columns=2, rows=3)
    assert [line for _, line in laid_out([[note], [], []]).sentences()] == ["Ask Mira first."]


def test_what_the_file_marks_as_headings_names_columns_of_words():
    rows = [[GridCell("A", is_heading=True), GridCell("B", is_heading=True)], [GridCell("x"), GridCell("y")]]
    assert [line for _, line in laid_out(rows, needs_proof=True).sentences()] == ["A: x; B: y."]
    assert lines("A|B\nx|y", needs_proof=True) == ["A B", "x y"]


def test_spans_beyond_reason_cost_nothing():
    huge = GridCell("x", columns=10**9, rows=10**9)
    grid = laid_out([[huge]] * 5_000)
    assert sum(map(len, grid.slots)) < 2 * MOST_SLOTS


def test_a_document_keeps_no_more_cells_than_it_may():
    found = FoundTables(cells_left=5)
    source = "\n".join(["Ward|Beds", *(f"w{row}|{row}" for row in range(9))])
    assert len(list(grid(source).read(found))) == 9
    assert found.tables == []
    assert len(list(grid("Ward|Beds\nJuniper|28").read(found))) == 1
    assert [table.rows for table in found.tables] == [(("Juniper", "28"),)]


def test_a_row_is_marked_with_its_place():
    blocks = (TextBlock("caption", "Stock"), grid("Ward|Beds\nJuniper|28", name="S", has_row_places=True))
    found = to_text("a.xlsx", ParsedDocument(blocks))
    assert found.text == "Stock\nWard: Juniper; Beds: 28."
    assert found.places == ((6, "S, row 2"),)


numbers = st.text(alphabet="12", max_size=3)
cells = st.builds(GridCell, numbers, columns=st.integers(1, 4), rows=st.integers(1, 4))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(cells, max_size=5), max_size=8), st.booleans())
def test_no_number_of_a_table_is_lost(rows: list[list[GridCell]], needs_proof: bool):
    text = " ".join(line for _, line in laid_out(rows, needs_proof=needs_proof).sentences())
    said = {word.strip(";.") for word in text.split()}
    assert {cell.text for row in rows for cell in row} - {""} == said


texts = st.sampled_from(["", "Ward", "Beds", "Name:", "28", "2024", "2024-05-03", "12 EUR", "x" * 300])
any_cells = st.builds(GridCell, texts, columns=st.integers(1, 4), rows=st.integers(1, 4), is_heading=st.booleans())


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(any_cells, max_size=5), max_size=12), st.booleans())
def test_a_table_is_read_whatever_stands_in_it(rows: list[list[GridCell]], needs_proof: bool):
    grid = laid_out(rows, needs_proof=needs_proof)
    found = FoundTables()
    assert list(grid.read(found)) == list(grid.sentences())
    assert found.tables == list(grid.tables())
    for table in found.tables:
        assert all(len(row) in (0, len(table.headings)) for row in table.rows)
