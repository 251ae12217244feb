"""Words of a question that a site's documents do not have: what the gate's second pre-check counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.documents.lexical import LexicalIndex

WORDS = ("pump", "ward", "loan", "levee", "insulin")
texts = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join), max_size=6)


def index_of(*texts):
    index = LexicalIndex()
    index.put([(f"d{place}:0", text) for place, text in enumerate(texts)])
    return index


@pytest.mark.parametrize(
    ("question", "share"),
    [
        ("Which ward has the pump?", 0.0),
        ("Which ward has the pumps?", 0.0),  # a plural is the same word
        ("Which ward has the helicopter?", 0.5),
        ("How deep is the levee?", 1.0),
        ("Who is it?", 0.0),  # no word of meaning, so none is missing
        ("", 0.0),
    ],
)
def test_the_share_is_of_the_words_that_carry_meaning(question, share):
    assert index_of("The pump of the ward.", "Juniper Ward.").unknown(question) == share


def test_a_repeated_word_counts_once():
    assert index_of("ward").unknown("helicopter, helicopter, ward") == 0.5


def test_what_only_a_withheld_document_says_is_unknown():
    assert index_of("pump", "ward").unknown("pump ward", withheld={"d1"}) == 0.5


def test_an_empty_index_knows_no_word():
    assert index_of().unknown("pump") == 1.0


@given(before=texts, removed=st.sets(st.integers(0, 5)))
def test_after_removals_it_is_what_an_index_of_the_rest_says(before, removed):
    index = index_of(*before)
    index.drop([f"d{place}:0" for place in removed])
    left = index_of(*(text for place, text in enumerate(before) if place not in removed))
    assert index.unknown(" ".join(WORDS)) == left.unknown(" ".join(WORDS))


@given(before=texts, withheld=st.sets(st.integers(0, 5)))
def test_a_withheld_document_is_as_if_it_were_not_there(before, withheld):
    left = index_of(*(text for place, text in enumerate(before) if place not in withheld))
    assert index_of(*before).unknown(" ".join(WORDS), {f"d{place}" for place in withheld}) == left.unknown(" ".join(WORDS))


def test_a_question_in_a_script_without_blanks_is_not_unknown_for_that():
    index = LexicalIndex()
    index.put([("d:0", "机器学习使用数据。")])
    assert index.unknown("机器学习是什么") == 0.0
