import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.policy.redaction import MASK, Redactor, blotted
from edge_node.policy.rules import Redact
from tests.support.planting import KINDS, planted, traces

PLANTED = 1_000


@pytest.mark.parametrize("kind", KINDS)
def test_of_1000_planted_identifiers_none_is_left(kind):
    rng, redactor = random.Random(7), Redactor.of(Redact(identifiers=[kind]))
    left = []
    for _ in range(PLANTED):
        code = planted(kind, rng)
        told = redactor.mask(f"The ward wrote {code} on the form, and went on.")
        if any(trace in told for trace in traces(kind, code)):
            left.append(code)
    assert left == []


@given(st.text(max_size=200), st.lists(st.text(min_size=1, max_size=20), max_size=4))
def test_a_masked_text_is_as_long_as_before(text, names):
    redactor = Redactor.of(Redact(identifiers=list(KINDS), names=names))
    assert len(redactor.mask(text)) == len(text)


def test_ordinary_figures_stay():
    text = "In 1999-2003, 12,000 of 3.14 million were sold on 2021-03-05 at 10:30; see pages 123-145 and pump P-204."
    assert Redactor.of(Redact(identifiers=list(KINDS))).mask(text) == text


def test_names_are_masked_in_any_case_with_or_without_accents_and_by_their_last_word():
    redactor = Redactor.of(Redact(names=["Acme Works"]), ["Anna Müller"])
    told = redactor.mask("ANNA MULLER's file; Müller, Muller, anna-müller of ACME works, not Works, Mullerton or Anna")
    assert told == "[name]█████'s file; ██████, ██████, [name]█████ of [name]████, not Works, Mullerton or Anna"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("The head nurse is Nurse.", "The head nurse is █████."),
        ("who is nurse?", "who is █████?"),
        ("WHO IS NURSE?", "WHO IS █████?"),
        ("Ask Bea Nurse on Rowan Ward, a ward", "Ask [name]███ on Rowan Ward, a ward"),
    ],
)
def test_a_last_word_that_is_a_common_word_too_is_masked_as_a_name_only(text, told):
    assert Redactor.of(Redact(), ["Bea Nurse", "Juniper Ward"], common=["ward"]).mask(text) == told


def test_a_name_as_long_as_its_label_is_seen_to_be_masked():
    told = Redactor.of(Redact(names=["Mortar"])).mask("Mortar")
    assert (told, blotted(told)) == ("██████", True)


def test_an_identifier_that_the_edge_of_a_passage_cuts_is_masked_in_it():
    context = "Call 212-555-0123 now."
    assert Redactor.of(Redact(identifiers=["phone"])).mask_within(context, 0, 9) == "Call ████"


def test_null_control_without_what_is_around_it_a_cut_identifier_stays():
    assert Redactor.of(Redact(identifiers=["phone"])).mask("Call 212-") == "Call 212-"


def test_a_policy_that_masks_nothing_is_idle():
    assert (Redactor.of(Redact()).idle, Redactor.of(Redact(names=["Ann"])).idle) == (True, False)


def test_what_is_only_a_mask_is_seen_as_such():
    assert (blotted(MASK * 3), blotted("[name]██"), blotted("[name]█ ward"), blotted("")) == (True, True, False, False)
