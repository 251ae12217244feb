"""What becomes of a question's words in a hint: names exchanged, digits gone, and nothing that could be a name left."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.policy.hints import Known, Names, TextPart, could_name, exchanged, is_telling_nothing, shortened
from edge_node.policy.rules import NAME_KINDS, Level
from edge_node.policy.surrogates import ReleasedName
from shared.records import EntityMention


def named(*mentions, levels=None):
    rows = [EntityMention("", name, kind, "", chunk_id) for name, kind, chunk_id in mentions]
    return Names.of(rows, levels or {"a": Level.FULL, "b": Level.SUMMARY, "c": Level.NEVER})


KNOWN = named(
    ("Ann Lee", "person", "a:0"),
    ("Ann Lee Clinic", "Organization", "a:0"),
    ("the Hague", "place", "a:1"),
    ("WHO", "organization", "b:0"),
    ("U.S. Congress", "organization", "b:0"),
    ("Müller", "person", "b:1"),
    ("infusion pump", "concept", "b:1"),
    ("Maristow Pump", "product", "b:1"),
    ("Ward 9", "place", "a:1"),
)


def draw(name, kind):
    return ReleasedName(name, kind, "Xyz", 2.0)


def told(text, names=KNOWN, kinds=NAME_KINDS):
    return "".join(piece.text for piece in exchanged(names.pieces(text), names, kinds, draw)[0])


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("Who met Ann Lee?", "Who met Xyz?"),
        ("What did Ann Lee's ward buy?", "What did Xyz's ward buy?"),
        ("What did ann  lee buy?", "What did Xyz buy?"),
        ("Who leads the Ann Lee Clinic?", "Who leads Xyz?"),
        ("Who lives in The Hague?", "Who lives in Xyz?"),
        ("Who pays the WHO, and who knows?", "Who pays Xyz, and who knows?"),
        ("When did the U.S. Congress meet?", "When did Xyz meet?"),
        ("Who saw Muller.", "Who saw Xyz."),
        ("Is Lee in ward 9, or Ann?", "Is Lee in Xyz, or Ann?"),
        ("What is an infusion pump of 1962?", "What is an infusion pump of ####?"),
        ("What is the Maristow Pump?", "What is the Maristow Pump?"),
        ("Who are Ann Lee, Ann Lee and Ann Lee?", "Who are Xyz, Xyz and Xyz?"),
        ("", ""),
    ],
)
def test_names_of_the_given_kinds_are_exchanged_and_digits_are_gone(text, hint):
    assert told(text) == hint


def test_only_the_kinds_that_the_policy_names_are_exchanged():
    assert told("Did Ann Lee see The Hague?", kinds=["place"]) == "Did Ann Lee see Xyz?"


@pytest.mark.parametrize("digits", ["1962", "١٩٦٢", "½", "Ⅳ", "²", "①"])
def test_no_digit_of_any_script_is_left(digits):
    assert set(told(digits)) <= {"#"}


def test_a_name_that_may_not_be_drawn_leaves_no_hint():
    assert exchanged(KNOWN.pieces("Who met Ann Lee?"), KNOWN, NAME_KINDS, lambda *_: None) is None
    assert exchanged(KNOWN.pieces("Who met it?"), KNOWN, NAME_KINDS, lambda *_: None) is not None


@given(st.text("Ann Le'sWHOtward9 .,?-", max_size=60))
def test_the_pieces_of_a_text_are_the_text(text):
    assert "".join(piece.text for piece in KNOWN.pieces(text)) == text


def test_a_name_is_of_the_kind_that_it_mostly_is_and_known_of_documents_that_may_be_told_of():
    names = named(("Jordan", "person", "a:0"), ("Jordan", "Place", "a:1"), ("jordan", "place", "c:0"), ("Ida", "person", "c:0"))
    assert names.known == {"jordan": Known("place", 1), "ida": Known("person", 0)}


def test_of_kinds_that_are_as_frequent_one_that_can_be_exchanged_is_taken():
    assert named(("Jordan", "concept", "a:0"), ("Jordan", "place", "a:1")).known["jordan"].kind == "place"


# ------------------------------------------------------------ what nobody found


@pytest.mark.parametrize(
    "text",
    [
        "Who met Ann?", "Ann met whom?", "Who runs iBo?", "WHO pays?", "Who is B##?", "Who is 李?", "Who is ⁣Ann?", "Does a.lee@site know?",
        "Who reads www.site.org?", "Who is at https://site?", "Who is ǅ?",
    ],
)  # fmt: skip
def test_what_could_be_a_name_is_noticed(text):
    assert could_name([TextPart(text)])


@pytest.mark.parametrize(
    "text", ["Who built the mill?", "The pump of which ward failed?", "in which year?", "", "How many wards?", "über?"]
)
def test_what_is_written_small_behind_a_question_word_is_no_name(text):
    assert not could_name([TextPart(text)])


def test_a_surrogate_is_no_name_that_nobody_found_and_a_word_behind_it_may_be_one():
    assert not could_name([TextPart("Who met "), TextPart("Ida Haldrey", "k"), TextPart("?")])
    assert could_name([TextPart("Who met "), TextPart("Ida Haldrey", "k"), TextPart(" Who")])


def test_a_question_word_has_its_capital_only_as_the_first_word():
    assert could_name([TextPart("Ida", "k"), TextPart("Who was it?")])


@pytest.mark.parametrize(("text", "nothing"), [("the group", True), ("three", False), ("####", False), ("█", False), ("may", False)])
def test_an_answer_beside_surrogates_is_of_common_words(text, nothing):
    assert is_telling_nothing([TextPart("Ida", "k"), TextPart(text)]) is nothing


def test_a_mask_tells_neither_kind_nor_length():
    assert shortened("Is [name]███ or ██ [x] at [email]█████?") == "Is █ or █ [x] at █?"
