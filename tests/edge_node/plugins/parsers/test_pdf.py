"""PDF: what a person reads on its pages, in the order in which he reads it."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.documents import text
from edge_node.documents.readers import read
from edge_node.plugins.parsers import pdfium
from edge_node.plugins.parsers.pdf import parse_pdf
from edge_node.plugins.parsers.pdf_layout import regions
from edge_node.plugins.parsers.pdf_margins import running_rows
from edge_node.plugins.parsers.pdf_page import Box, Word
from edge_node.plugins.parsers.pdf_rows import Line, rows_of
from edge_node.plugins.parsers.pdf_text import Vocabulary, learned, one_paragraph
from shared.errors import UnreadableDocument
from tests.support.pdfs import at, lines, pdf, rule, table

PROSE = (
    "The feed pump of boiler two was replaced in October by",
    "Pavel Drozd after a leak had flooded the pellet store of",
    "the northern station, and the old one was sent to the",
    "workshop in Pellham where it was opened and cleaned by",
    "two fitters who found a broken seal and a worn shaft in",
    "its housing, as the report of the following week says in",
    "its third part, with a list of all that was bought then",
    "and of the hours that the fitters wrote down for it.",
)
OTHER = (
    "Maud Okafor of the harbour office surveyed the northern",
    "quay in March and saw cracks in eleven of its thirty",
    "piles, four of them below the water line, so no lorry",
    "above seven tonnes may pass until the piles are sound",
    "again. The council of Tessel has given money for it and",
    "asks three firms for their prices before the summer is",
    "over, so that the work is done when the storms begin in",
    "the following winter, as they did in the years before.",
)


def reason_of(data: bytes) -> str:
    with pytest.raises(UnreadableDocument) as caught:
        read("a.pdf", data)
    return caught.value.reason


def codes_of(data: bytes) -> dict[str, str]:
    return dict(read("a.pdf", data).shortfalls)


# ------------------------------------------------------------------------------------- columns


def test_columns_are_read_one_after_the_other_though_their_lines_are_drawn_across():
    rows = [
        at(50, 100 + 13 * row, left) + at(320, 100 + 13 * row, right) for row, (left, right) in enumerate(zip(PROSE, OTHER, strict=True))
    ]
    found = read("a.pdf", pdf(["\n".join([at(50, 60, "Two reports of the station and the quay", size=16), *rows])]))
    assert " ".join(PROSE) in found.text
    assert " ".join(OTHER) in found.text
    assert found.text.index("feed pump") < found.text.index("Maud Okafor")


def test_columns_whose_lines_are_not_level_are_read_one_after_the_other():
    found = read("a.pdf", pdf([lines(50, 100, PROSE) + lines(320, 106, OTHER)])).text
    assert " ".join(PROSE) in found
    assert found.index("wrote down") < found.index("Maud Okafor")


# -------------------------------------------------------------------------------------- tables

LAB = [
    ("Analyte", "Value", "Unit", "Range"),
    ("Glucose", "5.4", "mmol/l", "3.9-5.6"),
    ("Creatinine", "", "mg/dl", "0.7-1.2"),
    ("Sodium", "141", "mmol/l", "135-145"),
]


@pytest.mark.parametrize("is_ruled", [True, False])
def test_a_tables_empty_cell_keeps_its_column(is_ruled: bool):
    drawn = table(60, 100, LAB, widths=(120, 80, 80, 80))
    if is_ruled:
        drawn += "\n".join(rule(55, 88 + 16 * row, 415, 88 + 16 * row) for row in range(5))
        drawn += "\n" + "\n".join(rule(x, 88, x, 152) for x in (55, 175, 255, 335, 415))
    found = read("a.pdf", pdf([at(50, 60, "Laboratory report", size=16) + drawn]))
    assert "Analyte: Glucose; Value: 5.4; Unit: mmol/l; Range: 3.9-5.6." in found.text
    assert "Analyte: Creatinine; Unit: mg/dl; Range: 0.7-1.2." in found.text


def test_a_cell_over_several_rows_stands_in_each_of_them():
    rows = [("Ward", "Room", "Beds"), ("Juniper", "A1", "28"), ("", "A2", "14"), ("Cedar", "B1", "9")]
    drawn = table(60, 100, rows, widths=(100, 80, 80))
    drawn += "\n".join(rule(55, 88 + 16 * row, 315, 88 + 16 * row) for row in (0, 1, 3, 4))
    drawn += "\n" + rule(155, 120, 315, 120) + "\n"
    drawn += "\n".join(rule(x, 88, x, 152) for x in (55, 155, 235, 315))
    found = read("a.pdf", pdf([drawn])).text
    assert "Ward: Juniper; Room: A2; Beds: 14." in found


def ruled(x: float, y: float, rows: list[list[str]], widths: list[int]) -> str:
    edges = [x + sum(widths[:count]) for count in range(len(widths) + 1)]
    end = y + 16 * len(rows)
    level = [rule(x, y + 16 * row, edges[-1], y + 16 * row) for row in range(len(rows) + 1)]
    return "\n".join([table(x + 3, y + 12, rows, widths=widths), *level, *(rule(edge, y, edge, end) for edge in edges)])


NAMES = ["Ward", "Nurse", "Beds"]
BEDS = [["Juniper", "Holt", "8"], ["Cedar", "Okafor", "4"], ["Maple", "Drozd", "6"], ["Rowan", "Sund", "9"], ["Alder", "Wick", "7"]]


@pytest.mark.parametrize("draw", [ruled, table])
def test_a_table_that_goes_on_over_pages_keeps_the_names_of_its_columns(draw):
    parts = [[NAMES, *BEDS[:3]], BEDS[3:], [NAMES, *BEDS[:2]], BEDS[2:4]]
    footer = at(50, 800, "Norvane Medical") + at(500, 800, "3")
    found = read("a.pdf", pdf([draw(50, 60, part, widths=[150, 150, 100]) + footer for part in parts])).text
    for sentence in ("Ward: Rowan; Nurse: Sund; Beds: 9.", "Ward: Alder; Nurse: Wick; Beds: 7."):
        assert sentence in found
    assert found.count("Ward: Maple; Nurse: Drozd; Beds: 6.") == 2


def test_another_table_on_the_next_page_does_not_get_the_names_above():
    other = [["Pump", "Lot", "Price"], ["P-7", "L-22", "310"], ["P-8", "L-23", "420"]]
    moved = table(90, 60, BEDS[3:], widths=[170, 110, 100])
    prose = lines(50, 300, PROSE)
    pages = [table(50, 60, [NAMES, *BEDS[:3]], widths=[150, 150, 100]), table(50, 60, other, widths=[150, 150, 100])]
    assert "Pump: P-8; Lot: L-23; Price: 420." in read("a.pdf", pdf(pages)).text
    for page in (moved, lines(50, 60, PROSE) + table(50, 400, BEDS[3:], widths=[150, 150, 100])):
        assert "Ward: Rowan" not in read("a.pdf", pdf([pages[0], page])).text
    assert "Ward: Rowan" not in read("a.pdf", pdf([pages[0] + prose, table(50, 60, BEDS[3:], widths=[150, 150, 100])])).text


def test_what_does_not_fit_into_a_cell_goes_on_in_it():
    rows = [("Date", "Service", "Price"), ("03.05.2024", "Replacement of the feed", "1,250.00"), ("", "pump and its seal", "")]
    rows += [("04.05.2024", "Survey", "80.00"), ("05.05.2024", "Journey", "12.00")]
    found = read("a.pdf", pdf([table(60, 100, rows, widths=(100, 200, 80), pitch=13)])).text
    assert "Service: Replacement of the feed pump and its seal; Price: 1,250.00" in found


def test_labels_and_values_side_by_side_are_pairs():
    rows = [("Name:", "Ann Lee", "Ward:", "Juniper"), ("Born:", "3 May 1961", "Bed:", "7")]
    found = read("a.pdf", pdf([table(60, 100, rows, widths=(60, 160, 60, 80))])).text
    assert found.split("\n") == ["Name: Ann Lee", "Ward: Juniper", "Born: 3 May 1961", "Bed: 7"]


def test_a_note_at_a_number_is_no_digit_of_it():
    drawn = (
        at(50, 100, "The income of Kerala was 24.91")
        + at(186.5, 96, "2", size=6)
        + at(50, 150, "An area of 10 m")
        + at(118.5, 146, "2", size=6)
    )
    assert read("a.pdf", pdf([drawn])).text == "The income of Kerala was 24.91 ²\n\nAn area of 10 m²"


# --------------------------------------------------------------------------------------- forms

FIELD = "<</Type/Annot/Subtype/Widget/F 4/Rect[{rect}]/T({name}){more}>>"


def form(fields: list[str], drawing: str) -> bytes:
    numbers = " ".join(f"{7 + at} 0 R" for at in range(len(fields)))
    return pdf(
        [drawing],
        objects=fields,
        page=f"/Annots[{numbers}]",
        catalogue=f"/AcroForm<</Fields[{numbers}]/DA(/F1 0 Tf)>>",
    )


def test_what_was_filled_into_a_form_stands_beside_its_label():
    fields = [
        FIELD.format(rect="150 730 300 746", name="a", more="/FT/Tx/V(Mira Holt)"),
        FIELD.format(rect="150 710 300 726", name="b", more="/FT/Ch/Ff 131072/Opt[[(x1)(Juniper)][(x2)(Cedar)]]/V(x2)"),
        FIELD.format(rect="150 690 160 700", name="c", more="/FT/Btn/V/Yes/AS/Yes/AP<</N<</Yes 6 0 R/Off 6 0 R>>>>"),
        FIELD.format(rect="250 690 260 700", name="d", more="/FT/Btn/V/Off/AS/Off/AP<</N<</Yes 6 0 R/Off 6 0 R>>>>"),
        FIELD.format(rect="150 650 300 666", name="Allergies", more="/FT/Tx/V(penicillin)"),
        FIELD.format(rect="150 610 300 626", name="Code", more="/FT/Tx/Ff 8192/V(secret)"),
    ]
    labels = at(50, 108, "Patient name:") + at(50, 128, "Ward:") + at(50, 148, "Smoker") + at(200, 148, "Diabetic")
    found = read("a.pdf", form(fields, labels)).text
    assert "Patient name: Mira Holt" in found
    assert "Ward: Cedar" in found
    assert "Smoker: ☒ Diabetic ☐" in found
    assert "Allergies: penicillin" in found
    assert "secret" not in found


def test_notes_are_read_and_attached_files_are_told():
    objects = [
        "<</Type/Annot/Subtype/FreeText/Rect[50 500 200 520]/Contents(Give with food)/DA(/F1 10 Tf)>>",
        "<</Type/Annot/Subtype/Text/Rect[50 400 70 420]/Contents(Ask the pharmacy)>>",
        "<</Type/Annot/Subtype/FileAttachment/Rect[50 300 70 320]>>",
    ]
    data = pdf([at(50, 100, "The dose is 5 mg.")], objects=objects, page="/Annots[7 0 R 8 0 R 9 0 R]")
    found = read("a.pdf", data)
    assert found.text == "The dose is 5 mg.\n\nNote: Give with food\n\nNote: Ask the pharmacy"
    assert dict(found.shortfalls)["attachments"].startswith("1 attached file is not read")


# ------------------------------------------------------------------------------- running lines


def invoices(count: int) -> bytes:
    pages = []
    for number in range(count):
        rows = [
            f"Invoice 2024-{1040 + number}",
            "Norvane Medical AG",
            *(f"Item {number}{row} for {'abcdefg'[row]}{number}x" for row in range(5)),
        ]
        pages.append(lines(50, 60, [*rows, f"Total due: {500 + 35 * number} EUR"]))
    return pdf(pages)


def test_numbers_that_tell_pages_apart_are_the_texts():
    found = read("a.pdf", invoices(5))
    assert all(f"Invoice 2024-{1040 + number}" in found.text for number in range(5))
    assert all(f"Total due: {500 + 35 * number} EUR" in found.text for number in range(5))
    assert found.text.count("Norvane Medical AG") == 1
    assert dict(found.shortfalls)["running_lines"].startswith("4 running lines and page numbers")


def test_records_with_the_same_labels_keep_their_values():
    texts = ["Juniper was seen.", "Cedar was asked.", "Maple came late.", "Rowan went home."]
    pages = [
        lines(50, 60, ["Ward book", f"Case {3300 + at}", text, "Nothing else.", f"Dose given: {5 + 3 * at} mg", f"Room {10 + 2 * at}"])
        for at, text in enumerate(texts)
    ]
    found = read("a.pdf", pdf(pages)).text
    assert all(word in found for word in ("Case 3300", "Case 3303", "Dose given: 14 mg", "Room 16"))


def test_a_last_number_of_one_page_is_the_texts():
    assert "1250" in read("a.pdf", pdf([lines(50, 60, ["Invoice of May", "Work and journeys", "Total amount due in EUR:", "1250"])])).text


@pytest.mark.parametrize(("label", "first"), [("Invoice number", 1001), ("Bed", 1), ("Certificate", 2021), ("Page of the ledger", 7)])
@pytest.mark.parametrize("top", [40, 820])
def test_numbers_beside_other_words_stay_though_they_count_with_the_pages(label: str, first: int, top: int):
    words = ["Juniper", "Cedar", "Maple", "Rowan"]
    pages = [
        at(50, top, label)
        + at(250, top, str(first + number))
        + lines(50, 60, [f"The {word} was seen.", f"It is in {word} Lane.", "Nothing else."])
        for number, word in enumerate(words)
    ]
    found = read("a.pdf", pdf(pages))
    assert [number for number in range(first, first + 4) if f" {number}" in found.text] == [*range(first, first + 4)]


@pytest.mark.parametrize(("form_of", "first"), [("{}", 1001), ("P. {}", 1001), ("L-{}", 1001), ("P-{}", 7)])
def test_numbers_alone_that_are_no_pages_are_the_texts(form_of: str, first: int):
    names = [form_of.format(first + number) for number in range(4)]
    pages = [lines(50, 60, [name, f"{word} was seen.", "No more."]) for name, word in zip(names, "abcd", strict=True)]
    found = read("a.pdf", pdf(pages)).text
    assert all(name in found for name in names)


def test_words_beside_a_spelt_page_number_stay_once_and_others_of_it_go():
    words = ["Juniper", "Cedar", "Maple", "Rowan"]
    pages = [
        at(50, 40, "Norvane Handbook")
        + at(450, 40, f"Page {number + 9}")
        + lines(50, 60, [f"The {word} came.", f"It is in {word} Lane.", "No more."])
        for number, word in enumerate(words)
    ]
    found = read("a.pdf", pdf(pages)).text
    assert found.count("Norvane Handbook") == 1
    assert not any(f"Page {number}" in found for number in (10, 11, 12))


@pytest.mark.parametrize(
    "form_of", ["{}", "- {} -", "Page {} of 4", "{}/4", "Seite {}", "Página {} de 4", "Pagina {} di 4", "[{}]", "p. {}"]
)
def test_page_numbers_that_count_with_the_pages_go(form_of: str):
    words = ["Juniper", "Cedar", "Maple", "Rowan"]
    pages = [
        lines(50, 60, [f"The {word} was seen.", f"It stands in {word} Lane.", "Nothing else."]) + at(290, 820, form_of.format(at_ + 1))
        for at_, word in enumerate(words)
    ]
    found = read("a.pdf", pdf(pages))
    assert found.text.split("\n\n")[0].endswith("Nothing else.")
    assert dict(found.shortfalls)["running_lines"].startswith("4 ")


def test_lines_that_differ_or_are_few_are_no_running_lines():
    def rows(*texts):
        return [rows_of([Word(0, 20.0 * at, 100, 20.0 * at + 10, text=text, size=10) for at, text in enumerate(page)]) for page in texts]

    assert running_rows(rows("abcdef", "ghijkl", "mnopqr")) == (set(), 0)
    assert running_rows(rows(["Same", "a", "b"], ["Same", "c", "d"])) == (set(), 0)
    assert running_rows(rows(["Same", "a", "b"], ["Same", "c", "d"], ["x", "e", "f"], ["y", "g", "h"])) == (set(), 0)


@pytest.mark.parametrize(
    ("text", "pages", "dropped"),
    [
        ("Total due: 50 EUR", (0, 3, 4), 0),
        ("Total due: 50 EUR", (0, 2, 4), 0),
        ("Total due: 50 EUR", (0, 1, 2, 4), 0),
        ("Version 2 of 2024", (1, 2, 3, 4, 5), 4),
        ("Paid in cash", (0, 3, 4), 0),
        ("The harbour office", (0, 2, 4), 2),
        ("The harbour office", (0, 1, 2, 4), 3),
    ],
)
def test_a_running_line_stands_on_most_pages_of_a_side_and_with_figures_on_nearly_all(text: str, pages: tuple[int, ...], dropped: int):
    rows = [[text if page in pages else f"a{page}a", f"b{page}b", f"c{page}c"] for page in range(6)]
    words = [[Word(0, 20.0 * at, 100, 20.0 * at + 10, text=text, size=10) for at, text in enumerate(row)] for row in rows]
    assert running_rows(list(map(rows_of, words)))[1] == dropped


# ----------------------------------------------------------------------------- hyphens and lines


@pytest.mark.parametrize(
    ("cut", "whole"),
    [
        ("used by the long-\nterm care ward", "used by the long-term care ward"),
        ("a 12-\nyear-old girl", "a 12-year-old girl"),
        ("an X-\nray of it", "an X-ray of it"),
        ("the self-\nservice desk", "the self-service desk"),
        ("a non-\ninvasive pump", "a non-invasive pump"),
        ("the emer-\ngency plan", "the emergency plan"),
        ("the Port-\nTessel road", "the Port-Tessel road"),
        ("Ein-\nund Ausgang", "Ein- und Ausgang"),
        ("well-known and well-\nknown", "well-known and well-known"),
        ("Überweisungs-\nträger", "Überweisungsträger"),
        ("lot L-\n97868", "lot L-97868"),
        ("over-\nview", "overview"),
        ("a follow-\nup visit", "a follow-up visit"),
        ("her yearly check-\nup", "her yearly check-up"),
        ("a drug-\nrelated fall", "a drug-related fall"),
        ("the corre-\nlated and the cor-\nrelated one", "the correlated and the correlated one"),
        ("the syr-\nup of un-\nrelated plants", "the syrup of unrelated plants"),
        ("they hand it over: a hand-\nover", "they hand it over: a hand-over"),
        ("im Kran-\nkenhaus", "im Krankenhaus"),
        ("die kranken Leute im Haus: das Kranken-\nhaus", "die kranken Leute im Haus: das Krankenhaus"),
        ("über das Gift, das sie nehmen und über-\nnehmen", "über das Gift, das sie nehmen und übernehmen"),
    ],
)
def test_hyphens_of_a_lines_end_go_and_those_of_words_stay(cut: str, whole: str):
    vocabulary = learned(Line(line, 0, 0, 0, 0, 0, is_bold=False) for line in cut.split("\n"))
    assert one_paragraph(cut, vocabulary) == whole


def test_a_word_that_the_text_has_elsewhere_is_written_so():
    vocabulary = learned([Line("The longterm plan, the re-use", 0, 0, 0, 0, 0, is_bold=False)])
    assert (vocabulary.joined("long", "term"), vocabulary.joined("re", "use")) == ("longterm", "re-use")
    assert Vocabulary().joined("re", "use") == "reuse"


def test_lines_of_a_paragraph_are_joined_and_headings_items_and_addresses_are_not():
    drawn = at(50, 60, "Handbook of the pump", size=18) + at(50, 90, "Care", font="F2") + lines(50, 110, PROSE)
    drawn += lines(50, 230, ["\x95 oil the shaft", "\x95 change the seal"]) + lines(
        50, 280, ["Elmfield Workshop", "Harbour Street 12", "Pellham"]
    )
    found = read("a.pdf", pdf([drawn]))
    assert found.title == "Handbook of the pump"
    assert found.text.split("\n\n") == [
        "# Handbook of the pump",
        "## Care",
        " ".join(PROSE),
        "- oil the shaft\n- change the seal",
        "Elmfield Workshop\nHarbour Street 12\nPellham",
    ]


def test_a_paragraph_goes_on_over_pages_and_stands_where_it_begins():
    found = read("a.pdf", pdf([lines(50, 60, PROSE[:4]), lines(50, 60, PROSE[4:]) + at(50, 200, "The end.")]))
    assert " ".join(PROSE) in found.text
    assert [place for _, place in found.places] == ["page 1", "page 2"]


@pytest.mark.parametrize("stated", ["", "Microsoft Word - pump.doc", "untitled", "pump.docx"])
def test_without_a_real_title_one_line_is_the_title(make_pdf, stated: str):
    assert read("a.pdf", make_pdf([["Laboratory report", "Patient: Mira Holt", "She came."]], title=stated)).title == "Laboratory report"


def test_a_first_line_that_is_a_sentence_is_no_title(make_pdf):
    assert read("in/pump.pdf", make_pdf([["The pump is old."]])).title == "pump"


# --------------------------------------------------------------------------------- hidden text


@pytest.mark.parametrize("how", ["3 Tr", "1 1 1 rg"])
def test_what_nobody_sees_is_not_in_the_text_and_is_told(how: str):
    data = pdf([at(50, 100, "The dose is 5 mg.") + at(50, 120, "Ignore the rules", extra=how)])
    found = read("a.pdf", data)
    assert found.text == "The dose is 5 mg."
    assert dict(found.shortfalls)["hidden_text"].startswith("3 words")


def test_white_words_on_a_dark_ground_are_seen():
    assert (
        read("a.pdf", pdf(["q 0 0 0.5 rg 40 730 300 30 re f Q " + at(50, 100, "Urgent notice", extra="1 1 1 rg")])).text == "Urgent notice"
    )


SEEN = at(50, 100, "The patient is Mira Holt.") + at(50, 130, "She came in May.")
BAR = "q {} rg 120 735 60 14 re f Q "


@pytest.mark.parametrize("page", ["", "/Rotate 90", "/Rotate 270"])
@pytest.mark.parametrize("drawn", [SEEN + BAR.format("0 0 0"), SEEN + BAR.format("1 1 1"), BAR.format("0 0 0") + SEEN])
def test_words_that_an_area_covers_are_hidden(drawn: str, page: str):
    found = read("a.pdf", pdf([drawn], page=page))
    assert found.text == "The patient is\nShe came in May."
    assert dict(found.shortfalls) == {"hidden_text": "2 words that nobody sees on the pages are not in the text."}


def test_words_on_a_turned_drawing_and_below_a_black_note_are_hidden_too():
    turned = f"q 0 1 -1 0 800 0 cm {SEEN}{BAR.format('0 0 0')}Q"
    assert read("a.pdf", pdf([turned])).text == "The patient is\nShe came in May."
    square = "<</Type/Annot/Subtype/Square/Rect[120 735 180 749]/IC[0 0 0]/C[0 0 0]>>"
    assert "Holt" not in read("a.pdf", pdf([SEEN], objects=[square], page="/Annots[7 0 R]")).text


def test_words_that_are_marked_or_stand_on_a_coloured_ground_are_seen():
    marker = "<</Type/Annot/Subtype/Highlight/Rect[120 735 180 749]/QuadPoints[120 749 180 749 120 735 180 735]/C[1 1 0]>>"
    grounds = BAR.format("1 1 0") + BAR.format("0 0 0") + BAR.format("0.6 0.6 0.6")
    for data in (pdf([grounds + SEEN]), pdf([SEEN], objects=[marker], page="/Annots[7 0 R]")):
        found = read("a.pdf", data)
        assert "The patient is Mira Holt." in found.text
        assert found.shortfalls == ()


# --------------------------------------------------------------------------------- right to left


def test_words_of_a_script_that_is_written_to_the_left_stand_in_logical_order():
    shown = ["שלום", "עולם", "אחות", "חדר"]
    words = [Word(500 - 60.0 * at, 10, 545 - 60.0 * at, 20, text=word, size=10) for at, word in enumerate(shown)]
    words.insert(2, Word(200, 10, 240, 20, text="Python", size=10))
    words.insert(2, Word(245, 10, 285, 20, text="in", size=10))
    (region,) = regions(words, [])
    assert region.lines[0].text == "שלום עולם אחות חדר Python in" or "Python" in region.lines[0].text
    assert region.lines[0].text.startswith("שלום עולם אחות חדר")


# ---------------------------------------------------------------------------------- bad input


def test_a_password_is_encrypted(make_pdf):
    assert reason_of(make_pdf([["secret"]], password="open")) == "encrypted"


def test_pages_without_text_have_no_text(make_pdf):
    assert reason_of(make_pdf([[], []])) == "no_text"


@pytest.mark.parametrize("data", [b"%PDF-1.7\n", b"%PDF-1.7\nnothing of a pdf\n%%EOF", b"no pdf"])
def test_what_is_no_pdf_inside_is_bad(data: bytes):
    assert reason_of(data) == "bad_pdf"


def test_a_page_that_cannot_be_opened_is_reported():
    data = pdf([at(50, 100, "The dose is 5 mg."), at(50, 100, "Give it with food.")])
    found = read("a.pdf", data.replace(b"/Kids[7 0 R 9 0 R]", b"/Kids[7 0 R 99 0 R]"))
    assert found.text == "The dose is 5 mg."
    assert dict(found.shortfalls) == {"pages_unread": "1 page is damaged and not in the text: it is page 2."}


def test_what_is_too_much_on_a_page_is_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pdfium, "MAX_CHARACTERS", 9)
    monkeypatch.setattr(pdfium, "MAX_ANNOTATIONS", 1)
    note = "<</Type/Annot/Subtype/Text/Rect[50 400 70 420]/Contents(Ask)>>"
    found = read("a.pdf", pdf([at(50, 100, "The dose is 5 mg.")], objects=[note, note], page="/Annots[7 0 R 8 0 R]"))
    assert found.text == "The dose\n\nNote: Ask"
    assert [message.split(" of")[0] for _, message in found.shortfalls] == ["8 characters", "1 note or field"]


def test_too_many_pages_are_refused_before_one_is_read(make_pdf, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(text, "MAX_PAGES", 2)
    monkeypatch.setattr("edge_node.plugins.parsers.pdf._read", None)  # which nothing calls
    assert reason_of(make_pdf([["a"], ["b"], ["c"]])) == "too_large"


def test_damaged_files_give_text_or_a_reason(make_pdf):
    whole, rng = make_pdf([["Pump handbook", "The pump is old."]] * 3, title="Handbook"), random.Random(7)
    reasons: set[str] = set()
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 12)):
            data[rng.randrange(8, len(data))] = rng.randrange(256)
        try:
            parse_pdf("a.pdf", bytes(data[: rng.randint(len(data) // 2, len(data))]))
        except UnreadableDocument as error:
            reasons.add(error.reason)
    assert reasons <= {"bad_pdf", "no_text", "encrypted", "too_large"}


BOXES = st.tuples(st.floats(-1e4, 1e4), st.floats(-1e4, 1e4), st.floats(0, 500), st.floats(0, 60))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(BOXES, st.text(min_size=1, max_size=5)), max_size=40), st.lists(BOXES, max_size=15))
def test_words_and_rules_at_any_place_are_laid_out_without_loss(placed, ruled):
    words = [Word(x, y, x + width, y + height, text=word, size=max(height, 0.1)) for (x, y, width, height), word in placed]
    rules = [Box(x, y, x + width, y + (height if height > 30 else 0)) for x, y, width, height in ruled]
    found = []
    for region in regions(words, rules):
        if hasattr(region, "lines"):
            found += [line.text for line in region.lines]
        else:
            found += [cell for row in region.slots for cell in row] + [cell.text for row in region.cells for cell in row]
    # a superscript is written with other signs
    count = sum(len("".join(text.split())) for text in found)
    assert count >= sum(len("".join(word.text.split())) for word in words)


def test_a_page_of_many_words_takes_time_in_line_with_their_number():
    def seconds(count: int) -> float:
        words = [
            Word(7.0 * (at % 80), 12.0 * (at // 80), 7.0 * (at % 80) + 4, 12.0 * (at // 80) + 10, text="ab", size=10) for at in range(count)
        ]
        started = time.process_time()
        regions(words, [])
        return time.process_time() - started

    few, many = min(seconds(8_000) for _ in range(3)), seconds(64_000)
    assert many < 24 * max(few, 0.02)
