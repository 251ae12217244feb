"""Windows of tokens: cover, bound, spans, and where they begin and end."""

import re
import tracemalloc
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.documents.chunking import split
from shared.records import Chunk, Document, DocumentId


class Words:
    """One token a run of word characters, one each other sign."""

    def count(self, text: str) -> int:
        return len(self.spans(text))

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]

    def sizes(self, words: Sequence[str]) -> Sequence[int]:
        return [self.count(word) for word in words]


class OnlyLetters(Words):
    """A tokenizer that skips all signs."""

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"[a-z]+", text)]


class Bytes(Words):
    """Several tokens may share one character, as in byte-level vocabularies."""

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        return [(at, at + 1) for at, sign in enumerate(text) for _ in range(len(sign.encode())) if not sign.isspace()]


def chunks_of(text: str, *, size: int = 200, overlap: int = 30, tokenizer: Words | None = None) -> list[Chunk]:
    return split(Document(DocumentId("d"), "d.txt", "D", text), tokenizer or Words(), size=size, overlap=overlap)


def texts(text: str, *, size: int, overlap: int) -> list[str]:
    return [chunk.text for chunk in chunks_of(text, size=size, overlap=overlap)]


def test_a_short_text_is_one_chunk_without_outer_blanks():
    (chunk,) = chunks_of("\n The pump is old. \n")
    assert chunk == Chunk(chunk_id="d:0", document_id="d", ordinal=0, text="The pump is old.", start=2, end=18, tokens=5)


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_a_blank_text_has_no_chunk(text: str):
    assert chunks_of(text) == []


def test_windows_end_with_sentences_and_begin_with_them():
    """Five tokens a sentence: four fill 20; the overlap of 5 is the last sentence."""
    text = "A b c d. E f g h. I j k l. M n o p. Q r s t. U v w x."
    assert texts(text, size=20, overlap=5) == ["A b c d. E f g h. I j k l. M n o p.", "M n o p. Q r s t. U v w x."]


def test_without_overlap_no_word_comes_twice():
    text = "A b c d. E f g h. I j k l. M n o p. Q r s t."
    assert texts(text, size=10, overlap=0) == ["A b c d. E f g h.", "I j k l. M n o p.", "Q r s t."]


def test_a_sentence_end_before_the_final_quarter_does_not_shorten_the_window():
    """20 tokens: a sentence of 5, then words; the final quarter (tokens 15 to 20) has no end, so the window is full."""
    assert texts("A b c d. " + "word " * 30, size=20, overlap=0)[0] == "A b c d. " + "word " * 14 + "word"


def test_a_window_does_not_end_after_a_heading():
    text = "Aa bb cc dd ee.\n\n# Wards\n\nJuniper has many beds and is big."
    assert texts(text, size=8, overlap=0)[0] == "Aa bb cc dd ee."


def test_the_next_window_begins_at_its_heading_if_that_is_near():
    text = "Aa bb cc dd ee ff gg hh.\n\n# Ward\n\nIi jj kk ll mm. Nn oo pp qq rr."
    assert [found.splitlines()[0] for found in texts(text, size=18, overlap=8)] == ["Aa bb cc dd ee ff gg hh.", "# Ward"]


def test_a_list_items_number_is_not_a_sentence():
    text = "Aa bb cc dd ee.\n1. Ff gg hh ii."
    assert texts(text, size=8, overlap=0) == ["Aa bb cc dd ee.", "1. Ff gg hh ii."]


def test_list_items_without_full_stops_are_whole():
    assert texts("List:\n- aa bb\n- cc dd\n- ee ff", size=8, overlap=0) == ["List:\n- aa bb\n- cc dd", "- ee ff"]


@pytest.mark.parametrize("abbreviation", ["Dr.", "e.g.", "J.", "Fig.", "(cf."])
def test_an_abbreviation_ends_no_sentence(abbreviation: str):
    """The window of 8 would end after the abbreviation; the sentence ends before it."""
    assert texts(f"Aa bb cc dd ee. {abbreviation} Ff gg hh ii jj kk", size=8, overlap=0)[0] == "Aa bb cc dd ee."


def test_a_stop_before_a_small_letter_ends_no_sentence():
    assert texts("aa bb cc dd ee. ff gg hh ii", size=7, overlap=0)[0] == "aa bb cc dd ee. ff"


def test_chinese_text_ends_at_its_full_stops():
    text = "甲乙丙丁戊。己庚辛壬癸。子丑寅卯辰。"
    found = split(Document(DocumentId("d"), "d", "", text), Bytes(), size=36, overlap=0)
    assert [chunk.text for chunk in found] == ["甲乙丙丁戊。己庚辛壬癸。", "子丑寅卯辰。"]


def test_a_word_longer_than_the_window_is_cut():
    found = chunks_of("x" * 1000, size=5, overlap=0)
    assert [len(chunk.text) for chunk in found] == [320, 320, 320, 40]


def test_a_word_that_the_tokenizer_skips_counts_as_one_token():
    assert [chunk.tokens for chunk in chunks_of("- - - - -", size=2, overlap=0, tokenizer=OnlyLetters())] == [2, 2, 1]


def test_the_overlap_is_about_what_was_asked():
    text = " ".join(f"Word{number} is here." for number in range(400))
    found = chunks_of(text, size=100, overlap=20)
    assert all(b.start < a.end for a, b in pairwise(found))
    shared = [Words().count(text[b.start : a.end]) for a, b in pairwise(found)]
    assert set(shared) == {20}


def test_the_same_text_gives_the_same_chunks():
    text = "The pump is old. " * 100
    assert chunks_of(text) == chunks_of(text)


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (5, 5), (5, 6), (5, -1), (-3, -4)])
def test_an_overlap_outside_the_window_is_refused(size: int, overlap: int):
    with pytest.raises(ValueError, match="overlap must be in"):
        chunks_of("text", size=size, overlap=overlap)


def test_blocks_longer_than_one_tokenizer_call_are_seamless():
    text = "The pump is old. " * 10_000
    found = chunks_of(text, size=100, overlap=0)
    assert sum(chunk.tokens for chunk in found) == 50_000
    assert all(chunk.text.startswith("The") and chunk.text.endswith("old.") for chunk in found)


PROSE = st.lists(
    st.sampled_from(
        ["pump", "Ward", "old.", "e.g.", "\n", "\n\n", "# Head", "- item", "1.", "x" * 150, "漢字。", "ü", "“No!”", "\t", "…", "🙂"]
    ),
    max_size=120,
).map(" ".join)


@settings(max_examples=200, deadline=None)
@given(
    text=PROSE | st.text(max_size=300),
    size=st.integers(min_value=1, max_value=40),
    share=st.floats(min_value=0, max_value=0.99),
    tokenizer=st.sampled_from([Words(), OnlyLetters()]),
)
def test_chunks_cover_the_text_in_bounded_windows_that_move_on(text: str, size: int, share: float, tokenizer: Words):
    found = chunks_of(text, size=size, overlap=int(size * share), tokenizer=tokenizer)
    covered: set[int] = set()
    for ordinal, chunk in enumerate(found):
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.text == chunk.text.strip() != ""
        assert (chunk.chunk_id, chunk.ordinal) == (f"d:{ordinal}", ordinal)
        assert tokenizer.count(chunk.text) <= chunk.tokens <= size
        covered.update(range(chunk.start, chunk.end))
    assert all(sign.isspace() or at in covered for at, sign in enumerate(text))
    assert all(a.start < b.start and a.end < b.end for a, b in pairwise(found))


@settings(max_examples=50, deadline=None)
@given(text=st.text(max_size=100), overlap=st.integers(min_value=0, max_value=5))
def test_tokens_that_share_a_character_stay_together(text: str, overlap: int):
    """Size 6 holds any one character of at most four bytes."""
    found = chunks_of(text, size=6, overlap=overlap, tokenizer=Bytes())
    assert all(chunk.tokens <= 6 and chunk.text for chunk in found)


def test_of_a_text_of_short_words_no_object_is_kept_for_each_word() -> None:
    """The interpreter's lock is held while millions of objects are looked through or freed."""
    words = 120_000
    tracemalloc.start()
    try:
        cut = chunks_of("a\n" * words)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(cut) > 500
    assert peak_bytes < 120 * words
