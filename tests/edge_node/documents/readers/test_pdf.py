"""PDF: the text layer and its repairs."""

import random

import pytest

from edge_node.documents.readers import pdf, text
from edge_node.documents.readers.lines import flowing
from edge_node.documents.readers.pdf import read_pdf, without_running_lines
from shared.errors import UnreadableDocument


def reason_of(data: bytes) -> str:
    with pytest.raises(UnreadableDocument) as caught:
        read_pdf("a.pdf", data)
    return caught.value.reason


def test_the_text_layer_is_read_page_by_page(make_pdf):
    found = read_pdf("a.pdf", make_pdf([["Pump handbook", "The pump is old."], ["It is loud."]], title="Handbook"))
    assert found.title == "Handbook"
    assert found.text == "Pump handbook\nThe pump is old.\nIt is loud."


@pytest.mark.parametrize("stated", ["", "Microsoft Word - pump.doc", "untitled", "pump.docx"])
def test_without_a_real_title_the_first_line_is_the_title(make_pdf, stated: str):
    assert read_pdf("a.pdf", make_pdf([["Pump handbook", "The pump is old."]], title=stated)).title == "Pump handbook"


def test_a_first_line_that_is_a_sentence_is_no_title(make_pdf):
    assert read_pdf("in/pump.pdf", make_pdf([["The pump is old."]])).title == "pump"


def test_headers_footers_and_page_numbers_go(make_pdf):
    pages = [["Tessel Hospital", f"Fact {number} is here.", f"Page {number} of 3"] for number in (1, 2, 3)]
    assert read_pdf("a.pdf", make_pdf(pages)).text == "Fact 1 is here.\nFact 2 is here.\nFact 3 is here."


def test_a_password_is_encrypted(make_pdf):
    assert reason_of(make_pdf([["secret"]], password="open")) == "encrypted"


def test_pages_without_text_have_no_text(make_pdf):
    assert reason_of(make_pdf([[], []])) == "no_text"


@pytest.mark.parametrize("data", [b"%PDF-1.7\n", b"%PDF-1.7\nnothing of a pdf\n%%EOF", b"no pdf"])
def test_what_is_no_pdf_inside_is_bad(data: bytes):
    assert reason_of(data) == "bad_pdf"


def test_too_many_pages_are_refused(make_pdf, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(text, "MAX_PAGES", 2)
    monkeypatch.setattr(pdf, "extracted", None)  # which nothing calls
    assert reason_of(make_pdf([["a"], ["b"], ["c"]])) == "too_large"


def test_damaged_files_give_text_or_a_reason(make_pdf):
    whole, rng = make_pdf([["Pump handbook", "The pump is old."]] * 3, title="Handbook"), random.Random(7)
    reasons: set[str] = set()
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 12)):
            data[rng.randrange(8, len(data))] = rng.randrange(256)
        try:
            read_pdf("a.pdf", bytes(data[: rng.randint(len(data) // 2, len(data))]))
        except UnreadableDocument as error:
            reasons.add(error.reason)
    assert reasons <= {"bad_pdf", "no_text", "encrypted", "too_large"}


def test_a_line_on_half_of_the_pages_is_no_running_line():
    pages = ["Same\na", "Same\nb", "x\nc", "y\nd"]
    assert without_running_lines(pages) == pages


def test_two_pages_tell_no_running_line():
    assert without_running_lines(["Same\na", "Same\nb"]) == ["Same\na", "Same\nb"]


def test_a_repeated_line_in_the_middle_of_pages_stays():
    pages = [f"{top}1\n{top}2\nSame\n{top}3\n{top}4" for top in "abc"]
    assert without_running_lines(pages) == pages


@pytest.mark.parametrize("number", ["7", "- 7 -", "Page 7", "7/12", "page 7 of 12", "Seite 7"])
def test_page_numbers_go_at_a_pages_edge_only(number: str):
    assert without_running_lines([f"a\n{number}\nb\n{number}"]) == [f"a\n{number}\nb"]


def test_pages_without_lines_stay_empty():
    assert without_running_lines(["", ""]) == ["", ""]
    assert flowing(["", ""]) == ""


def test_a_word_cut_at_a_line_end_is_whole_again():
    assert flowing(["an emer-\ngency"]) == "an emergency"


def test_a_word_cut_at_a_page_end_is_whole_again():
    assert flowing(["an emer-", "gency"]) == "an emergency"


def test_a_hyphen_before_a_capital_stays():
    assert flowing(["the Port-\nTessel road"]) == "the Port-Tessel road"


def test_a_hyphen_that_the_text_has_elsewhere_stays():
    assert flowing(["a well-known pump and a well-\nknown ward"]) == "a well-known pump and a well-known ward"


def test_wrapped_lines_are_joined_and_list_items_are_not():
    line = "This line is as wide as the column of the page, and it goes"
    assert (
        flowing([f"Heading\n{line}\nOn here.\n- item one\n- item two\n1. first"])
        == f"Heading\n{line} On here.\n- item one\n- item two\n1. first"
    )


def test_a_code_cut_at_its_hyphen_is_whole_again():
    assert flowing(["the lot L-\n97868 of 2019-\n2021"]) == "the lot L-97868 of 2019-2021"
