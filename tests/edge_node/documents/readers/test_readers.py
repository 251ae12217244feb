"""The table of readers: which one reads what, and what all of them promise."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.documents import text
from edge_node.documents.readers import SUFFIXES, ReadText, read
from edge_node.documents.text import MAX_TITLE_CHARS
from shared.errors import InputError, UnreadableDocument


def reason_of(name: str, data: bytes) -> str:
    with pytest.raises(UnreadableDocument) as caught:
        read(name, data)
    assert caught.value.name == name
    assert caught.value.next_step
    return caught.value.reason


def test_every_suffix_has_a_reader_and_is_small_and_dotted():
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in SUFFIXES)


def test_the_suffix_counts_in_any_case():
    assert read("A.MD", b"# Ward\n\ntext").title == "Ward"


def test_an_unknown_suffix_is_plain_text():
    assert read("notes.log", b"08:00 the pump stopped.") == ReadText("notes", "08:00 the pump stopped.")


def test_a_name_without_a_suffix_may_hold_html():
    assert read("page", b"  <!DOCTYPE html><p>A ward.</p>").text == "A ward."


def test_a_pdf_is_known_by_its_first_bytes_whatever_its_name(make_pdf):
    assert read("report.txt", make_pdf([["The pump is old."]])).text == "The pump is old."


def test_a_word_file_is_known_by_its_first_bytes_whatever_its_name(make_docx):
    assert read("report", make_docx(lambda document: document.add_paragraph("The pump is old."))).text == "The pump is old."


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.csv", "a.pdf", "a.docx", "a"])
@pytest.mark.parametrize("data", [b"", b" \n\t ", b"\r\n"])
def test_no_bytes_and_blanks_are_empty(name: str, data: bytes):
    assert reason_of(name, data) == "empty"


@pytest.mark.parametrize("data", [b"---\n", b"\xef\xbb\xbf", b"... !!! ...", "\u200b\u200b".encode()])
def test_signs_without_a_word_are_empty(data: bytes):
    assert reason_of("a.txt", data) == "empty"


def test_a_page_of_scripts_is_empty():
    assert reason_of("a.html", b"<script>let a = 1</script><nav>home</nav>") == "empty"


def test_another_zip_is_not_a_word_document():
    assert reason_of("a.xlsx", b"PK\x03\x04 and so on") == "bad_sheet"


def test_text_over_the_cap_is_too_large(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(text, "MAX_TEXT_CHARS", 9)
    assert read("a.txt", b"9 letters").text == "9 letters"
    assert reason_of("a.txt", b"10 letters") == "too_large"


def test_unreadable_is_an_input_error():
    assert issubclass(UnreadableDocument, InputError)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([*SUFFIXES, "", ".xyz"]),
    st.binary(max_size=300) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")),
)
def test_any_bytes_give_clean_text_or_a_reason(suffix: str, data: bytes):
    try:
        found = read(f"a{suffix}", data)
    except UnreadableDocument:
        return
    assert found.text.strip()
    assert found.title
    assert len(found.title) <= MAX_TITLE_CHARS
    assert unicodedata.is_normalized("NFC", found.text)
    assert "\r" not in found.text
    assert "\n\n\n" not in found.text
    assert all(sign in "\n\t" or unicodedata.category(sign) not in {"Cc", "Cs"} for sign in found.text)
    found.text.encode("utf-8")
