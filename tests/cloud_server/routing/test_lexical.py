import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloud_server.routing.lexical import LOOKED_AT, MOST_NAMES, OF_ONE_EDGE, LexicalIndex
from shared.text.marks import mark_of, packed
from shared.text.sentences import names_in

TEXTS = {"bank/s": "Loans and gold of Marlow Bank", "ward/s": "Infusion pumps of Juniper Ward", "plant/s": "Battery packs, Juniper oil"}


@pytest.fixture
def lexicon():
    lexicon = LexicalIndex()
    lexicon.put(list(TEXTS), list(TEXTS.values()))
    return lexicon


def test_the_rarer_word_decides(lexicon):
    assert [key for key, _ in lexicon.top("juniper pump")] == ["ward/s", "plant/s"]


def test_small_words_and_words_that_nobody_has_find_nothing(lexicon):
    assert lexicon.top("Which of the?") == []
    assert lexicon.top("zebra") == []


def test_a_name_is_found_only_where_it_stands_word_by_word(lexicon):
    (found,) = lexicon.top_named("who works at Juniper Ward?")
    assert [key for key, _ in found] == ["ward/s"]


def test_a_replaced_text_is_found_by_its_new_words_only(lexicon):
    lexicon.put(["ward/s"], ["Telescopes"])
    assert lexicon.top("infusion") == []
    assert [key for key, _ in lexicon.top("telescope")] == ["ward/s"]


def test_what_is_dropped_is_gone_and_an_unknown_key_is_no_error(lexicon):
    lexicon.drop(["ward/s", "nobody/s"])
    assert [key for key, _ in lexicon.top("juniper pump")] == ["plant/s"]


@settings(deadline=None)
@given(st.text(max_size=60))
def test_no_question_is_a_query_language(text):
    lexicon = LexicalIndex()
    lexicon.put(["a/s"], ['said "AND" NEAR OR NOT said : * ^'])
    assert {key for key, _ in lexicon.top(text)} <= {"a/s"}
    assert len(lexicon.top_named(text)) <= MOST_NAMES


def test_names_are_runs_of_capitals_without_the_word_that_opens_a_question():
    assert names_in("Which film did Mary of Scotland see in Paris?") == ["Mary of Scotland", "Paris"]
    assert names_in("where is it?") == []


def test_many_summaries_of_one_edge_hide_no_other_edges(lexicon):
    lexicon.put([f"mallory/{n}" for n in range(LOOKED_AT + 1)], ["Juniper pump"] * (LOOKED_AT + 1))
    found = [key for key, _ in lexicon.top("juniper pump")]
    assert sum(key.startswith("mallory/") for key in found) == OF_ONE_EDGE
    assert {"ward/s", "plant/s"} <= set(found)


def test_barred_edges_are_not_looked_at(lexicon):
    assert [key for key, _ in lexicon.top("juniper pump", barred={"ward"})] == ["plant/s"]
    assert lexicon.top_named("Juniper Ward", barred={"ward"}) == [[]]


def test_who_has_a_document_is_found_by_the_mark_of_its_title_until_it_is_dropped(lexicon):
    marks = packed([mark_of("Orrin Mill"), mark_of("Gold Rain (film)")])
    lexicon.renew([((), {"films/s": ("Films", marks), "mills/s": ("Mills", packed([mark_of("Orrin Mill")]))})])
    assert lexicon.titled("orrin mill") == {"films", "mills"}
    assert lexicon.titled("orrin mill", {"films"}) == {"mills"}
    lexicon.drop(["films/s"])
    assert (lexicon.titled("Gold Rain: film"), lexicon.titled("Orrin Mill")) == (frozenset(), {"mills"})
