"""Plain text and its encodings."""

import codecs

import pytest

from edge_node.documents.readers.plain import decoded, read_plain
from shared.errors import UnreadableDocument


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_names_the_encoding(mark: bytes, encoding: str):
    assert decoded("a.txt", mark + "Größe 5 µm 漢字".encode(encoding)) == "Größe 5 µm 漢字"


def test_text_without_a_mark_is_utf8():
    assert decoded("a.txt", "Łódź, 東京, Москва".encode()) == "Łódź, 東京, Москва"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Der Zürcher Bürgermeister prüft die Straße und die Größe der Züge.", "cp1252"),
        ("Café à Genève, où l’été est très agréable.", "cp1252"),
        ("The price was £30 – “fair”, he said.", "cp1252"),
        ("Price £30", "latin-1"),
        ("Москва является столицей России и крупнейшим городом.", "cp1251"),
        ("日本語の文書を読むことができます。", "shift_jis"),
        ("Łódź i Kraków są w Polsce, żółw i gęś.", "cp1250"),
    ],
)
def test_older_encodings_are_recognised(text: str, encoding: str):
    assert decoded("a.txt", text.encode(encoding)) == text


@pytest.mark.parametrize("data", [bytes(range(256)) * 4, b"\x7fELF" + b"\x00" * 64, b"text with a few \x00\x01\x02\x03 in it"])
def test_binary_data_is_not_text(data: bytes):
    with pytest.raises(UnreadableDocument) as caught:
        decoded("a.bin", data)
    assert caught.value.reason == "not_text"


def test_half_a_character_after_a_mark_does_not_raise():
    assert decoded("a.txt", codecs.BOM_UTF16_LE + b"a\x00b") == "a\ufffd"


def test_the_title_is_a_short_first_paragraph():
    assert read_plain("s.txt", b"SUPPLIER LIST\nEDITION 2024\n\nThe list.").title == "SUPPLIER LIST EDITION 2024"


def test_a_first_paragraph_that_is_a_sentence_is_no_title():
    assert read_plain("folder/notes.txt", b"The pump stopped.\n\nIt was old.").title == "notes"


def test_a_long_first_paragraph_is_no_title():
    assert read_plain("notes.txt", b"word " * 30).title == "notes"
