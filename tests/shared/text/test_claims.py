"""What an answer is cited for: never a passage that says something else while another one says it."""

import pytest

from shared.records import Evidence
from shared.text import claims
from shared.text.claims import cite_answer, closest_passages


def passage(edge, text, *, quotable=True):
    return Evidence(edge, f"{edge}-d", "aldrine.md", f"{edge}-d:0", (0, len(text)), text, 0.9, quotable, "Aldrine")


LIES = {
    "another figure": (
        "The maximum dose of Aldrine is 50 mg per day.",
        "The maximum dose of Aldrine is 5 mg per day. It is checked by two nurses.",
    ),
    "another unit": ("Give 5 g of Aldrine to each patient every morning.", "Give 5 mg of Aldrine to each patient every morning."),
    "another date": ("Aldrine came on 2 May 2026.", "Aldrine came on 3 May 2026."),
    "denied": ("Aldrine is not safe for patients.", "Aldrine is safe for patients. It was checked in May."),
    "no longer so": ("The pumps of Rowan Ward are no longer safe.", "The pumps of Rowan Ward are safe."),
    "not denied": ("Aldrine may be given with Betalin to patients.", "Aldrine must never be given with Betalin to patients."),
    "another order": ("Valve Anna feeds pump Berta.", "Pump Berta feeds valve Anna."),
    "its words around another's": (
        "Aldrine was withdrawn from Rowan Ward as two patients of the hospital died.",
        "Aldrine was introduced at Rowan Ward for the patients of the hospital.",
    ),
}


@pytest.mark.parametrize("markers", ["[1][2]", "[1, 2]", "[2]", ""])
@pytest.mark.parametrize(("lie", "truth"), LIES.values(), ids=LIES)
def test_what_a_lying_site_says_never_bears_the_citation_of_an_honest_one(lie, truth, markers):
    sent = [passage("mallory", lie), passage("hospital", truth)]
    _, citations = cite_answer("What is known of Aldrine?", f"{lie.rstrip('.')} {markers}".rstrip() + ".", sent)
    assert [one.edge for one in citations] == ["mallory"]


@pytest.mark.parametrize("markers", ["[1][2]", "[2]", ""])
def test_a_bare_figure_of_a_lying_site_never_bears_the_citation_of_an_honest_one(markers):
    sent = [passage("mallory", LIES["another figure"][0]), passage("hospital", LIES["another figure"][1])]
    _, citations = cite_answer("What is the maximum dose of Aldrine per day?", f"50 mg {markers}", sent)
    assert [one.edge for one in citations] == ["mallory"]


def test_null_control_without_the_check_the_honest_site_is_cited(monkeypatch):
    monkeypatch.setattr(claims, "without_contradicting", lambda claim, rows, evidence, **_: list(rows))
    wrong = 0
    for lie, truth in LIES.values():
        sent = [passage("mallory", lie), passage("hospital", truth)]
        _, citations = cite_answer("What is known of Aldrine?", f"{lie.rstrip('.')} [1][2].", sent)
        wrong += "hospital" in [one.edge for one in citations]
    assert wrong >= 2


def test_two_passages_that_each_hold_a_part_are_both_cited():
    sent = [passage("ward", "The loan pump fits type IS-200."), passage("pharmacy", "Article: IS-200; Stock: 340.")]
    text, citations = cite_answer("Which sets fit the loan pump, and how many are in stock?", "IS-200 [1], 340 in stock [2]", sent)
    assert {one.edge for one in citations} == {"ward", "pharmacy"}
    assert text == "IS-200, 340 in stock [1][2]"


def test_two_that_say_the_same_are_both_cited_where_the_model_names_both():
    sent = [passage("a", "The dose is 5 mg."), passage("b", "The dose is 5 mg.")]
    _, citations = cite_answer("What is the dose?", "5 mg [1][2]", sent)
    assert [one.edge for one in citations] == ["a", "b"]


def test_a_marker_of_a_passage_that_does_not_say_it_moves_to_the_one_that_does():
    sent = [passage("a", "Owls hunt by night."), passage("b", "The dose is 5 mg.")]
    text, citations = cite_answer("What is the dose?", "5 mg [1].", sent)
    assert (text, [one.edge for one in citations]) == ("5 mg [1].", ["b"])


def test_a_verdict_is_cited_by_what_the_model_names_and_a_translation_too():
    sent = [passage("a", "Goods above 8 °C for more than 12 hours are destroyed.")]
    assert [one.edge for one in cite_answer("Are goods destroyed?", "No [1].", sent)[1]] == ["a"]
    assert [one.edge for one in cite_answer("Was wird nach 12 Stunden vernichtet?", "Waren [1].", sent)[1]] == ["a"]


def test_a_figure_that_is_worked_out_is_cited_by_what_it_is_worked_out_from():
    sent = [passage("a", "Ward 3: 9 falls."), passage("b", "Ward 4: 8 falls."), passage("c", "Owls hunt by night.")]
    _, citations = cite_answer("How many falls were there in all wards?", "17 [1][2]", sent)
    assert [one.edge for one in citations] == ["a", "b"]


def test_what_the_model_names_is_cited_though_it_says_so_in_other_words():
    sent = [passage("a", "Pumps are seen by a technician once a year."), passage("b", "Owls hunt by night.")]
    assert [one.edge for one in cite_answer("How often are pumps serviced?", "Annually [1]", sent)[1]] == ["a"]


def test_a_figure_with_a_unit_is_not_cited_by_the_bare_figure_of_another_thing():
    sent = [passage("a", "Week 14: Marwede; deputy: Tewes.")]
    assert cite_answer("From which depth is a trench shored?", "14 m [1]", sent)[1] == ()
    sent = [passage("a", "Trench: east; Depth (m): 14.")]
    assert [one.edge for one in cite_answer("How deep is the east trench?", "14 m [1]", sent)[1]] == ["a"]


def test_a_bound_is_no_denial():
    sent = [passage("a", "Give not more than 5 mg of Aldrine a day."), passage("b", "Betalin: 5 mg a day.")]
    assert [one.edge for one in cite_answer("What is the maximum dose of Aldrine?", "5 mg [1]", sent)[1]] == ["a"]


def test_a_reason_behind_no_is_cited_by_each_passage_it_rests_on():
    fault = passage("a", "The fault lasted 4 hours; the insulin was not opened.")
    rule = passage("b", "Goods above 8 °C for more than 12 hours are destroyed.")
    _, citations = cite_answer("Must the insulin be destroyed?", "No, 4 hours are below the 12 hours [1][2]", [fault, rule])
    assert {one.edge for one in citations} == {"a", "b"}


def test_each_item_of_a_list_has_its_passage():
    rooms = [passage(f"s{n}", f"Room {n} has a pump.") for n in range(21, 26)]
    _, citations = cite_answer("Which rooms have a pump?", "Rooms 21, 22, 23, 24, 25 [1][2][3][4][5]", rooms)
    assert len(citations) == 5


def test_a_comparison_is_cited_by_what_names_its_sides_and_by_what_says_when():
    sent = [
        passage("a", "Far Hill is a film by Ann Orr."),
        passage("b", "Ann Orr was born in 1916."),
        passage("c", "Deep Well is a film by Bo Lind."),
        passage("d", "Bo Lind was born in 1879."),
    ]
    question = "Which film has the director who was born later, Far Hill or Deep Well?"
    for answer in ("Far Hill [1][2][3][4]", "Far Hill (Ann Orr 1916 [1][2]; Bo Lind 1879 [3][4])"):
        assert {one.edge for one in cite_answer(question, answer, sent)[1]} == {"a", "b", "c", "d"}


def test_closest_passages_are_the_sentences_nearest_the_question_and_never_a_quote_of_what_is_not_to_be_quoted():
    sent = [passage("kept", "The dose is secret.", quotable=False), passage("a", "Owls hunt. The dose is 5 mg. It rains.")]
    found = closest_passages("What is the dose?", sent)
    assert [(one.n, one.edge, one.quote) for one in found] == [(1, "a", "The dose is 5 mg.")]


def test_a_first_hop_that_the_model_names_is_cited_beside_the_passage_with_the_answer():
    mill = passage("a", "Orrin Mill was founded by Ida Lund.")
    ida = passage("b", "Ida Lund was born in Delft.")
    other = passage("c", "Many a founder was born in a town, and Delft has several.")
    _, citations = cite_answer("In which town was the founder of Orrin Mill born?", "Delft [1][2]", [mill, ida, other])
    assert {one.edge for one in citations} >= {"a", "b"}


def test_the_quote_is_a_sentence_with_a_word_of_the_answer_though_another_has_more_of_the_question():
    sent = [passage("a", "Neighbours is a soap opera of television in Australia. It was made by Reg Watson.")]
    _, citations = cite_answer("Who made the television soap opera Neighbours of Australia?", "Reg Watson [1]", sent)
    assert citations[0].quote == "It was made by Reg Watson."
