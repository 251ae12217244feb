"""What speaks against an answer that stands in its passages."""

from dataclasses import replace

import pytest

from shared.records import Citation, Evidence
from shared.text.doubts import doubt_about, passed_by


def passage(name, text):
    return Evidence("ward", name, f"{name}.md", f"{name}:0", (0, len(text)), text, 0.8)


def citation_of(one):
    return Citation(1, one.edge, one.document_id, one.document, one.chunk_id, one.span, one.text, 0.8)


HYGIENE = passage("hygiene", "The guideline was approved by the infection committee on 12 January 2026.")
HANDOVER = passage("handover", "The handover protocol: handover takes place at 06:00 in room 7.03.")


def test_an_answer_from_a_passage_about_something_else_passes_by_what_was_asked():
    question = "Who approved the handover protocol?"
    read, answer = [HYGIENE, HANDOVER], "The infection committee"
    assert passed_by(question, answer, [citation_of(HYGIENE)], read) == ["handover", "protocol"]
    assert passed_by(question, answer, [citation_of(HYGIENE)], [HYGIENE]) == []  # no other passage speaks of it
    assert passed_by("Where is the handover?", "In room 7.03", [citation_of(HANDOVER)], read) == []


def test_a_passage_that_only_repeats_the_question_does_not_make_the_answer_its_own():
    answer = "The handover protocol was approved by the infection committee."
    both = [citation_of(HYGIENE), citation_of(HANDOVER)]
    assert passed_by("Who approved the handover protocol?", answer, both, [HYGIENE, HANDOVER]) == ["handover", "protocol"]


def test_a_passage_that_shares_a_year_with_the_answer_does_not_tell_it():
    handover = passage("handover", "The handover protocol, version 4, is valid from 1 February 2026.")
    hygiene = passage("hygiene", "The guideline was approved by the infection committee on 12 January 2026.")
    answer, both = "The infection committee, on 12 January 2026", [citation_of(hygiene), citation_of(handover)]
    assert passed_by("Who approved the handover protocol?", answer, both, [hygiene, handover]) == ["handover", "protocol"]


def test_a_second_hop_over_a_name_or_a_code_tells_the_answer_too():
    loans = passage("loans", "The loan pump may be used with the infusion sets IS-200.")
    stock = passage("stock", "Article: IS-200; Stock: 340.")
    question, both = "How many infusion sets for the loan pump are in stock?", [citation_of(loans), citation_of(stock)]
    assert passed_by(question, "340", both, [loans, stock]) == []
    assert passed_by(question, "340", both[1:], [loans, stock]) == ["infusion", "loan", "pump", "set"]


@pytest.mark.parametrize(
    ("question", "answer", "is_doubted"),
    [
        ("When is the handover?", "In the ward's office", True),
        ("When is the handover?", "At 06:00", False),
        ("Wann wird die Isolierung aufgehoben?", "Wenn drei Abstriche negativ sind", False),
        ("How many approved it?", "The infection committee", True),
        ("How many approved it?", "twelve", False),
        ("How many approved it?", "None of them", False),
        ("How many approved it?", "One", False),
        ("Who approves it when a member is ill?", "The infection committee", False),
        ("When is it approved?", "On admission", False),
        ("Was it approved?", "Yes, by the infection committee", False),
        ("From what daily demand does the plan apply?", "Daily demand", True),
        ("When was the order of 12 January delivered?", "2026-01-12", True),
        ("When was the order of 11 January delivered?", "2026-01-12", False),
        ("Who was first, Ida Lund or Bo Orr?", "Ida Lund", False),
        ("Is the valve open or closed?", "Closed", False),
        ("Which nurses agree to the rota of ward 3 and in ward 4?", "Ida Lund", False),
    ],
)
def test_an_answer_of_another_form_than_the_question_asks_for_is_doubted(question, answer, is_doubted):
    doubt = doubt_about(question, answer, [citation_of(HYGIENE), citation_of(HANDOVER)], [HYGIENE, HANDOVER])
    assert bool(doubt) == is_doubted


def test_a_bare_verdict_is_doubted_unless_several_passages_bear_it():
    read = [HYGIENE, HANDOVER]
    assert doubt_about("Was it approved?", "Yes", [citation_of(HYGIENE)], read)
    assert not doubt_about("Was it approved?", "Yes", [citation_of(HYGIENE), citation_of(HANDOVER)], read)


def test_of_a_question_with_names_everyday_words_raise_no_doubt():
    born = passage("ida", "Ida Lund came into the world in Delft.")
    other = passage("mill", "Orrin Mill stands at the birth place of the river; children were born there.")
    assert passed_by("In which place was Ida Lund born?", "Delft", [citation_of(born)], [born, other]) == []
    assert passed_by("Who was born at Orrin Mill?", "Ida Lund", [citation_of(born)], [born, other]) == ["mill", "orrin"]


def test_of_a_question_with_names_many_everyday_words_do():
    contract = passage("contract", "Contract with Halden: the liability is limited to 500,000 EUR per case.")
    offer = passage("offer", "The minimum order of prefilled syringes is on the price list.")
    question = "What is the minimum order of prefilled syringes under the Halden contract?"
    missing = ["minimum", "order", "prefilled", "syringe"]
    assert passed_by(question, "500,000 EUR", [citation_of(contract)], [contract, offer]) == missing


def test_what_compares_sources_needs_two_of_them():
    question = "Since when is it back, according to the board and according to the report?"
    read = [HYGIENE, HANDOVER]
    assert doubt_about(question, "12 January 2026", [citation_of(HYGIENE)], read)
    assert not doubt_about(question, "12 January 2026 and 06:00", [citation_of(HYGIENE), citation_of(HANDOVER)], read)
    assert not doubt_about("When was it approved in the ward and by whom?", "On 12 January 2026", [citation_of(HYGIENE)], [HYGIENE])


def test_a_figure_that_no_cited_passage_has_is_doubted_unless_it_is_worked_out():
    cited = [citation_of(HYGIENE)]
    assert doubt_about("Which guideline was approved?", "Guideline 17", cited, [HYGIENE])
    assert not doubt_about("How many days is the guideline approved?", "17", cited, [HYGIENE])
    assert not doubt_about("Was the guideline approved on 17 January?", "No, on 12 January", cited, [HYGIENE])


def test_an_answer_far_from_all_words_of_the_question_is_doubted_though_its_passage_has_them():
    text = "Two tank trailers stand at the school. The notice is lifted on Friday. The bakery was called. Dairy Holm was phoned at 7."
    mail = passage("mail", text)
    start = text.index("Dairy")
    holm = replace(citation_of(mail), span=(start, len(text)))
    school = replace(citation_of(mail), span=(0, text.index("The notice")))
    assert doubt_about("Who built the tank trailer?", "Holm", [holm], [mail])
    assert not doubt_about("Where do the tank trailers stand?", "At the school", [school], [mail])
