"""What a question and a memory can have in common."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.memory.anchors import anchors_among, anchors_of, dice, name_of, openings_of

NAMES = ["Orrin Mill", "Bank of Tarrow", "Bank of Tarrow Bridge", "the Fennick-Railways"]
WORDS = ["Orrin", "Mill", "mills", "Bank", "of", "Tarrow", "Bridge", "the", "Fennick", "Railways", "12", "1,200", "Ann's", "U.S.", "and"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=9)


@pytest.mark.parametrize(
    ("text", "anchors"),
    [
        ("Who built Orrin Mill?", {"built", "orrin mill"}),
        ("Who built Orrin's mill?", {"built", "orrin mill"}),
        ("Which mill did Orrin build?", {"mill", "orrin", "build"}),
        ("When did the Bank of Tarrow fail?", {"bank of tarrow", "fail"}),
        ("When did the Bank of Tarrow Bridge fail?", {"bank of tarrow bridge", "fail"}),  # the longest one only
        ("the banks of Tarrow", {"bank of tarrow"}),
        ("a bank in Tarrow", {"bank", "tarrow"}),
        ("the U.S. Bank of Tarrow", {"bank of tarrow"}),
        ("How long is the Fennick railway?", {"long", "fennick railway"}),
        ("Was it sold for 1,200,000 or 3.5 per cent in 1881, 1882?", {"sold", "1200000", "3.5", "cent", "1881", "1882"}),
        ("Was it?", set()),
        ("", set()),
    ],
)
def test_names_stand_whole_and_other_words_singly(text, anchors):
    assert anchors_of(text, NAMES) == anchors


def test_a_name_that_the_text_does_not_hold_is_no_anchor_of_it():
    assert anchors_of("The mill burnt.", NAMES) == {"mill", "burnt"}


def test_a_name_without_a_word_or_of_one_word_changes_nothing():
    assert anchors_of("Orrin Mill burnt.", ["", "?", "the", "Orrin", "burnt"]) == anchors_of("Orrin Mill burnt.", [])


@given(TEXTS.filter(lambda words: len(words) > 1))
def test_every_text_holds_itself_as_a_name(words):
    text = " ".join(words)
    name = name_of(text)
    assert anchors_of(text, [text]) == ({name} if " " in name else anchors_of(name, []))


@given(TEXTS, st.sets(st.sampled_from(NAMES)))
def test_names_are_found_alike_by_asking_for_each_run(words, names):
    known = {name_of(name) for name in names}
    assert anchors_among(" ".join(words), openings_of(known), lambda run: run in known) == anchors_of(" ".join(words), names)


def test_case_is_no_difference():
    assert anchors_of("WHO BUILT ORRIN MILL?", NAMES) == anchors_of("who built orrin mill?", NAMES)


def test_openings_are_those_of_names_of_two_words_or_more():
    assert openings_of(["bank of tarrow", "bank", "bank rate", "bank of tarrow bridge"]) == {"bank": {2, 3, 4}}


@pytest.mark.parametrize(
    ("a", "b", "share"),
    [
        ({"x", "y"}, {"x", "y"}, 1.0),
        ({"x"}, {"y"}, 0.0),
        ({"x", "y", "z"}, {"x"}, 0.5),  # 2 · 1/(3 + 1)
        (set("abc"), set("abcdefghijkl"), 0.4),  # a question's three in a hyperedge's twelve
        (set(), set(), 0.0),
    ],
)
def test_dice_is_twice_the_shared_part_of_both(a, b, share):
    assert dice(a, b) == dice(b, a) == share
