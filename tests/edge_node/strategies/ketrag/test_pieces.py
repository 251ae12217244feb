"""Sub-chunks, and which of them an element of the skeleton links to."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.strategies.ketrag.pieces import pieces_naming, pieces_of


def test_without_a_split_the_text_is_one_piece():
    assert pieces_of("one two", 0) == [(0, 7)]


def test_two_pieces_are_cut_at_the_word_nearest_the_middle():
    """Words begin at 2, 4 and 6, and the middle is 3.5."""
    assert pieces_of("a b c d", 1) == [(0, 4), (4, 7)]


def test_of_two_words_equally_near_the_earlier_one_begins_the_piece():
    """Words begin at 2 and 4, and the middle is 3."""
    assert pieces_of("a b cd", 1) == [(0, 2), (2, 6)]


def test_a_text_of_few_words_has_fewer_pieces_and_no_word_is_cut():
    assert pieces_of("Hydroelectricity", 3) == [(0, 16)]
    assert pieces_of("Hydro electricity", 3) == [(0, 6), (6, 17)]


@pytest.mark.parametrize("text", ["", " ", "\n\n"])
def test_an_empty_text_has_no_words_to_cut_at(text):
    assert pieces_of(text, 2) == ([(0, len(text))] if text else [])


@settings(max_examples=25, deadline=None)
@given(st.text(alphabet="ab \n.", max_size=60), st.integers(0, 4))
def test_pieces_cover_the_text_and_each_begins_with_a_word(text, tau):
    spans = pieces_of(text, tau)
    assert "".join(text[start:end] for start, end in spans) == text
    assert len(spans) <= 2**tau
    assert all(end == start for (_, end), (start, _) in pairwise(spans))
    assert all(not text[start].isspace() and text[start - 1].isspace() for start, _ in spans[1:])


def test_a_long_text_has_all_its_pieces_about_equally_long():
    spans = pieces_of("word " * 400, 3)
    assert len(spans) == 8
    assert {end - start for start, end in spans} == {250}


def test_an_element_links_to_the_pieces_that_hold_the_most_of_its_names():
    texts = {"c.0": "Ann lives here.", "c.1": "Ann built ORRIN MILL.", "c.2": "It turns."}
    assert pieces_naming(["Ann", "Orrin Mill"], texts) == ["c.1"]
    assert pieces_naming(["ann"], texts) == ["c.0", "c.1"]


def test_an_element_that_no_piece_names_links_to_all():
    assert pieces_naming(["she"], {"c.0": "Ann.", "c.1": "Bea."}) == ["c.0", "c.1"]
