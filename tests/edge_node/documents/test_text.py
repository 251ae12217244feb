"""The form of all text, and tables as sentences."""

import pytest

from edge_node.documents import text as module
from edge_node.documents.text import MAX_TITLE_CHARS, capped, normalised, one_line, row_sentence, stem, suffix
from shared.errors import UnreadableDocument


def test_letters_and_accents_are_composed():
    assert normalised("Zu\u0308rich") == "Zürich"


def test_control_characters_part_words_and_lone_surrogates_go():
    assert normalised("a\x00b\x07\x08c\ud83dd\x1be") == "a b cd e"
    assert normalised("\x00first, \x00last\x00\n\x9fend") == "first, last\nend"


def test_a_control_of_latin_1_never_fuses_figures():
    assert normalised("Give 5\x9610 mg") == "Give 5 10 mg"


def test_commands_to_a_terminal_go():
    assert normalised("\x1b[31mred\x1b[0m") == "red"


def test_signs_without_width_are_removed():
    assert normalised("\ufeffinter\u00adnatio\u200bnal") == "international"


def test_signs_that_turn_the_direction_of_text_are_removed():
    assert normalised("pay \u202e001\u202c crowns") == "pay 001 crowns"


@pytest.mark.parametrize("end", ["\r\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
def test_every_line_end_becomes_a_newline(end: str):
    assert normalised(f"a{end}b") == "a\nb"


def test_runs_of_blank_lines_are_squeezed_even_with_blanks_in_them():
    assert normalised("a\n \n\t\n\n\nb") == "a\n\nb"


def test_tabs_and_indents_inside_lines_stay():
    assert normalised("a\n  b\tc") == "a\n  b\tc"


def test_an_unbreakable_space_becomes_a_space():
    assert normalised("5\xa0kg") == "5 kg"


def test_emoji_of_several_signs_stay_whole():
    assert normalised("👩\u200d⚕️ on duty") == "👩\u200d⚕️ on duty"


def test_a_letter_keeps_at_most_thirty_marks():
    assert len(normalised("x" + "\u0316" * 5000)) == 31


def test_base64_in_one_line_is_cut_and_a_line_of_minified_json_is_not():
    assert (
        normalised("A picture: " + "iVBORw0KGgo+/_" * 90 + "== of Cedar Hall") == f"A picture: {('iVBORw0KGgo+/_' * 5)[:64]}… of Cedar Hall"
    )
    rows = ",".join('{"pump":"P-7"}' for _ in range(200))
    assert normalised(rows) == rows


def test_normalising_twice_changes_nothing():
    once = normalised("e\u0301\r\n\r\n\r\n \ud800x  ")
    assert normalised(once) == once


def test_a_title_is_one_short_line():
    assert one_line(" Ward\n  Juniper ") == "Ward Juniper"
    assert len(one_line("ward " * 100)) <= MAX_TITLE_CHARS


@pytest.mark.parametrize(("name", "expected"), [("a/b.c/d", "d"), ("a\\b.txt", "b"), (".env", ".env"), ("x.tar.gz", "x.tar"), ("", "")])
def test_stem_is_the_name_without_folders_and_suffix(name: str, expected: str):
    assert stem(name) == expected


@pytest.mark.parametrize(("name", "expected"), [("a/b.c/d", ""), ("x.Tar.GZ", ".gz"), ("none", "")])
def test_suffix_is_of_the_last_part_in_lower_case(name: str, expected: str):
    assert suffix(name) == expected


def test_a_row_sentence_skips_blank_cells_and_keeps_its_own_full_stop():
    assert row_sentence(["A", "B", "C"], ["1", " ", "done."]) == "A: 1; C: done."


def test_a_short_row_names_only_its_cells():
    assert row_sentence(["A", "B"], ["1"]) == "A: 1."


def test_capped_stops_reading_at_the_cap(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_TEXT_CHARS", 10)
    parts = iter(["1234", "1234", "1234"])
    with pytest.raises(UnreadableDocument) as caught:
        capped("a.csv", parts)
    assert caught.value.reason == "too_large"
    assert capped("a.csv", ["1234", "1234"]) == "1234\n1234"
