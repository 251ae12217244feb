"""Counting with a vocabulary of four words, and with the real one."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.models.wordpiece import WordPieceTokenizer

VOCABULARY = {"[UNK]": 0, "the": 1, "pump": 2, "##s": 3}
DEFINITION = {
    "version": "1.0",
    "truncation": {"max_length": 3, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
    "padding": None,
    "added_tokens": [],
    "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": None,
    "decoder": None,
    "model": {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": VOCABULARY,
    },
}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    path.write_text(json.dumps(DEFINITION))
    return WordPieceTokenizer(path)


def test_spans_cut_the_text_as_written(tokenizer):
    text = "The Pumps"
    assert [text[a:b] for a, b in tokenizer.spans(text)] == ["The", "Pump", "s"]


def test_a_text_is_not_truncated(tokenizer):
    assert tokenizer.count("the " * 1000) == 1000


@pytest.mark.parametrize("text", ["", "  \n"])
def test_a_blank_text_has_no_tokens(tokenizer, text):
    assert (tokenizer.count(text), list(tokenizer.spans(text))) == (0, [])


def test_an_endless_word_counts_a_token_each_four_characters(tokenizer):
    spans = tokenizer.spans("the " + "A" * 402)
    assert len(spans) == 1 + 101
    assert (spans[1], spans[-1]) == ((4, 8), (404, 406))


def test_half_a_surrogate_pair_is_counted_like_any_character(tokenizer):
    assert tokenizer.spans("\ud800 the") == [(0, 1), (2, 5)]


@given(st.text(max_size=300))
def test_spans_are_in_order_inside_the_text_and_as_many_as_counted(tokenizer, text):
    spans = tokenizer.spans(text)
    assert tokenizer.count(text) == len(spans)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(before[0] <= after[0] for before, after in pairwise(spans))


@given(st.lists(st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=64), max_size=20))
def test_words_have_the_size_that_they_have_in_a_text(tokenizer, words):
    assert list(tokenizer.sizes(words)) == list(tokenizer.sizes(words)) == [tokenizer.count(word) for word in words]
    assert sum(tokenizer.sizes(words)) == tokenizer.count(" ".join(words))


def test_no_more_words_are_remembered_than_fit(tokenizer, monkeypatch):
    monkeypatch.setattr("shared.models.wordpiece.MOST_WORDS", 2)
    for words in (["the", "pump", "pumps"], ["the"], ["pumps", "the"]):
        assert list(tokenizer.sizes(words)) == [tokenizer.count(word) for word in words]


@pytest.mark.model
def test_the_real_vocabulary_splits_rare_words(minilm):
    text = "Dunmoor's naïve pump"
    tokenizer = WordPieceTokenizer(minilm / "tokenizer.json")
    assert [text[a:b] for a, b in tokenizer.spans(text)] == ["Dun", "moor", "'", "s", "naïve", "pump"]
