"""BM25 over an index that grows and shrinks."""

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.documents.lexical import LexicalIndex

WORDS = st.lists(st.sampled_from(["pump", "ward", "gate", "night", "the"]), max_size=6).map(" ".join)
KEYS = st.builds("{}:{}".format, st.sampled_from(["a", "b", "c"]), st.integers(0, 2))
STEPS = st.lists(st.tuples(KEYS, st.one_of(st.none(), WORDS)), max_size=25)  # None: dropped


def index_of(texts):
    index = LexicalIndex()
    index.put(texts.items())
    return index


def scores(index, question, **named):
    found = index.matches(question, **named)
    return {key: found.of(key) for key in found.rows if found.of(key) > 0}


def test_a_word_of_one_chunk_in_two_is_worth_its_bm25():
    """Two texts of two words: idf = ln(1 + 1.5/1.5), one occurrence in a text of average length counts 2.2 / 2.2."""
    found = scores(index_of({"d:0": "pump station", "d:1": "gate station"}), "Which pump?")
    assert found == {"d:0": pytest.approx(log(2), rel=1e-6)}


def test_case_plurals_and_small_words_make_no_difference():
    index = index_of({"d:0": "The Infusion Pumps were late."})
    assert scores(index, "infusion pump") == scores(index, "WHICH Infusion Pumps were it?")


def test_turkish_names_are_found_however_their_letters_are_typed():
    index = LexicalIndex()
    index.put([("d:0", "İzmir'de Işıl Çağlı çalışıyor."), ("d:1", "Nothing of the kind.")])
    for typed in ("izmir", "İZMİR", "Izmir", "isil", "IŞIL", "Işıl", "cagli"):
        assert [key for key, _ in index.matches(typed).top(5)] == ["d:0"], typed


def test_a_rare_word_is_worth_more_than_a_common_one():
    index = index_of({"d:0": "pump ward", "d:1": "gate ward", "d:2": "night ward"})
    assert [key for key, _ in index.matches("gate ward").top(2)] == ["d:1", "d:0"]


def test_no_shared_word_is_no_match():
    assert index_of({"d:0": "pump"}).matches("gate").top(3) == []


def test_an_empty_index_and_an_empty_question_match_nothing():
    assert LexicalIndex().matches("pump").top(3) == []
    assert index_of({"d:0": "pump"}).matches("the").top(3) == []


def test_a_key_that_is_put_again_has_its_new_words_only():
    index = index_of({"d:0": "pump"})
    index.put([("d:0", "gate")])
    assert (scores(index, "pump"), len(index)) == ({}, 1)


def test_a_chunk_that_is_gone_or_came_later_scores_nothing_in_what_was_found_before():
    index = index_of({"d:0": "pump", "d:1": "pump"})
    found = index.matches("pump")
    index.drop(["d:0", "d:1"])
    index.put([("d:2", "pump")])
    assert found.of("d:2") == 0
    assert [key for key, _ in found.top(5)] == ["d:0", "d:1"]


@given(STEPS, WORDS)
def test_whatever_came_and_went_it_equals_a_fresh_build(steps, question):
    index, left = LexicalIndex(), {}
    for key, text in steps:
        if text is None:
            index.drop([key])
            left.pop(key, None)
        else:
            index.put([(key, text)])
            left[key] = text
    assert len(index) == len(left)
    assert scores(index, question) == scores(index_of(left), question)


@given(st.dictionaries(KEYS, WORDS), WORDS, st.sets(st.sampled_from(["a", "b"])))
def test_withheld_documents_change_nothing(texts, question, withheld):
    open_texts = {key: text for key, text in texts.items() if key[0] not in withheld}
    assert scores(index_of(texts), question, withheld=withheld) == scores(index_of(open_texts), question)
