"""Figures, dates and codes as values, in the forms that people write."""

import pytest

from shared.text.short_answers import same_answer
from shared.text.values import values_held, values_in


def missing_values(answer, texts):
    held = values_held(texts)
    return [value for value in values_in(answer) if not value.is_in(held)]


SAME = [
    ("1,250", "1250"),
    ("1.250", "1250"),
    ("1\u202f250", "1250"),
    ("1'250 EUR", "1250 euros"),
    ("1.290,00 €", "EUR 1290"),
    ("5mg", "5 mg"),
    ("74 %", "74%"),
    ("twelve", "12"),
    ("zwölf Wochen", "12 weeks"),
    ("27 April 2026", "2026-04-27"),
    ("April 27, 2026", "27.04.2026"),
    ("27. April 2026", "27 April 2026"),
    ("3 de mayo de 2026", "3 May 2026"),
    ("IS-200", "IS200"),
    ("0.50", "0.5"),
    ("14-day", "14 days"),
    ("8am", "8 am"),
    ("230V", "230 V"),
    ("the 4th", "4"),
    ("27.04.26", "27 April 2026"),
    ("04/27/2026", "27 April 2026"),
    ("twenty-one", "21"),
    ("-18 °C", "\u221218 °C"),
    ("minus 18 °C", "-18 °C"),
    ("No more than 5 mg", "5 mg"),
    ("Zimmer 7.03.", "7.03"),
]
DIFFERENT = [
    ("1,251", "1250"),
    ("5 g", "5 mg"),
    ("27 April 2026", "28 April 2026"),
    ("IS-310", "IS-200"),
    ("2.15", "2.51"),
    ("510 mg", "5–10 mg"),
    ("-18 °C", "18 °C"),
    ("twenty-one", "20"),
    ("8 am", "8 pm"),
    ("No more than 5 mg", "No more than 50 mg"),
    ("No. 7", "No. 9"),
    ("The stock is 1400 infusion sets", "The stock is 1600 infusion sets"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_forms_of_one_value_are_one(one, other):
    assert not missing_values(one, [other])
    assert same_answer(one, other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_other_values_are_missed(one, other):
    assert missing_values(one, [other])
    assert not same_answer(one, other)


@pytest.mark.parametrize("part", ["27 April", "April 2026", "2026", "27"])
def test_the_parts_of_a_date_stand_in_it(part):
    assert not missing_values(part, ["Out of use before 27 April 2026."])


def test_words_without_a_value_have_none():
    assert values_in("It may be one of them, in march order.") == frozenset()


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("Yes, it is.", "Yes.", True),
        ("Ja", "Nein", False),
        ("the Ghent plant was flooded", "flooding: the plant was flooded", True),
        ("Ada Vale", "Berta Vale", False),
        ("It is not stored cold", "It is stored cold", False),
        ("F-26-03, F-26-05", "F-26-03, F-26-06", False),
        ("April 2026", "27 April 2026", True),
        ("in 2026", "27 April 2026", True),
        ("May 2026", "27 April 2026", False),
    ],
)
def test_answers_without_values_are_compared_by_their_words(one, other, is_same):
    assert same_answer(one, other) == is_same


def test_values_of_two_kinds_do_not_make_two_answers_differ():
    first = "Because of the tuberculosis that was diagnosed in 1917."
    assert same_answer(first, "Because of tuberculosis, which was diagnosed when she was 34.")
    assert not same_answer("It was diagnosed in 1917.", "It was diagnosed in 1918.")
