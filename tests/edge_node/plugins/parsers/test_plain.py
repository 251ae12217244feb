"""Plain text as paragraphs."""

import pytest

from edge_node.documents.blocks import to_text
from edge_node.plugins.parsers.plain import parse_plain


def text_of(source: str) -> str:
    return to_text("a.txt", parse_plain("a.txt", source.encode())).text


def test_the_title_is_a_short_first_paragraph():
    found = parse_plain("s.txt", b"SUPPLIER LIST\nEDITION 2024\n\nThe list.")
    assert found.title == "SUPPLIER LIST EDITION 2024"


@pytest.mark.parametrize("data", [b"The pump stopped.\n\nIt was old.", b"word " * 30])
def test_a_sentence_or_a_long_paragraph_is_no_title(data: bytes):
    assert parse_plain("folder/notes.txt", data).title == "notes"


@pytest.mark.parametrize(
    "kept",
    [
        "Mira: Where is it?\nJon: In room 12.\nMira: Fine.",
        "2024-05-03 09:00 pump started\n2024-05-03 09:05 pump stopped",
        "- one\n- two\n  - three",
        "Total:\n1250\n----",
        "    indented = code\n    more = code",
    ],
)
def test_lines_of_dialogues_logs_lists_and_sums_stay_lines(kept: str):
    assert text_of(kept) == kept


def test_an_underlined_line_is_a_heading():
    assert text_of("Pumps\n=====\n\nText.\n\nValves\n------\n\nMore.") == ("# Pumps\n\nText.\n\n## Valves\n\nMore.")


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_paragraphs_are_parted_by_blank_lines_of_any_system(end: str):
    assert text_of(f"one{end} {end}{end}two") == "one\n\ntwo"


def test_a_word_that_a_soft_hyphen_cuts_at_a_lines_end_is_whole():
    assert text_of("Die Po\xad\nlitik der Ge\xad \n  meinde") == "Die Politik der Gemeinde"
