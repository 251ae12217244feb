"""Copies told from sentences of one's own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.text.quoting import is_copy

TEXT = "Old. The pump P-204 of Juniper Ward failed in May. It was loud."


@pytest.mark.parametrize(
    "said",
    [
        "The pump P-204 of Juniper Ward failed in May.",
        "the PUMP P-204 of Juniper Ward, failed in May",
        "The pump P-204 of Juniper Ward broke in May.",  # one word changed
        "The pump P-204 of Chestnut Ward failed in May.",
        "Pump failed in May.",  # three of four words
        "As everybody knew by then, it was loud, which nobody had said in so many words.",  # a whole sentence, within another
        "They knew the pump P-204. Of Juniper Ward all spoke well.",  # six words, between which a sentence ends
        "All was well. The pump P-204 of Juniper Ward failed.",  # in the second sentence
    ],
)
def test_a_copy_is_one_with_a_word_changed_and_within_another_sentence_too(said):
    assert is_copy(said, TEXT)


def test_one_changed_word_does_not_hide_a_short_copy_and_two_do():
    """Of five words four are the text's, on both sides of the changed one; with two changed no row has more than two."""
    assert is_copy("Its pump broke in May.", "Its pump failed in May.")
    assert not is_copy("Its engine broke in June.", "Its pump failed in May.")


@pytest.mark.parametrize(
    "said",
    [
        "In May a pump of Juniper Ward failed.",  # four words in a row of seven
        "Juniper Ward had trouble with one of its pumps.",
        "There was an old pump.",  # the text's first sentence has one word only
        "",
        "…",
    ],
)
def test_a_sentence_of_ones_own_may_have_names_in_common(said):
    assert not is_copy(said, TEXT)


@given(st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=12), st.lists(st.sampled_from("klm"), max_size=4))
def test_what_is_cut_out_of_a_text_is_a_copy(words, around):
    said = " ".join(words)
    assert is_copy(said, " ".join([*around, said, *around]))
