import pytest

from edge_node.extraction.facts import DATE, NUMBER, Fact
from edge_node.memory.templates import MOST_OF_CHUNK, MOST_OF_SENTENCE, asked_of


def fact(subject, verb, lemma, preposition, obj, **others):
    said = {"subject_type": "organization", "object_type": "concept", "negated": False, "start": 0, "end": 50, **others}
    return Fact(
        "d:0",
        said["start"],
        said["end"],
        subject,
        said["subject_type"],
        verb,
        lemma,
        preposition,
        obj,
        said["object_type"],
        said["negated"],
    )


def asked(*facts):
    return [(draft.question, draft.answer) for draft in asked_of(facts)]


@pytest.mark.parametrize(
    ("said", "question", "answer"),
    [
        (fact("Ann Lee", "directed", "direct", "", "the film Loom"), "Who directed the film Loom?", "Ann Lee"),
        (fact("Ann Lee", "directed", "direct", "", "the film Loom"), "What did Ann Lee direct?", "the film Loom"),
        (fact("Loom", "was directed", "direct", "by", "Ann Lee"), "Who directed Loom?", "Ann Lee"),
        (fact("Loom", "was written", "write", "by", "Ann Lee"), "Who wrote Loom?", "Ann Lee"),
        (fact("Loom", "was mown", "mow", "by", "Ann Lee", object_type="person"), "Who was Loom mown by?", "Ann Lee"),
        (fact("Pine Hill", "has been owned", "own", "by", "Ann Lee", object_type="person"), "Who has Pine Hill been owned by?", "Ann Lee"),
        (fact("Loom", "was released", "release", "on", "5 May 1997", object_type=DATE), "When was Loom released?", "5 May 1997"),
        (fact("Ann Lee", "won two cups", "win two cups", "in", "1992", object_type=DATE), "When did Ann Lee win two cups?", "1992"),
        (fact("Ann Lee", "was born", "bear", "in", "Leeds", object_type="place"), "Where was Ann Lee born?", "Leeds"),
        (fact("Cedar Ward", "is", "be", "in", "Leeds", object_type="place"), "Where is Cedar Ward?", "Leeds"),
        (fact("Cedar Ward", "has", "have", "", "22 beds", object_type=NUMBER), "How many beds does Cedar Ward have?", "22"),
        (fact("the spinal cord", "carries", "carry", "", "nerve signals"), "What does the spinal cord carry?", "nerve signals"),
        (fact("Cedar Ward", "is composed", "compose", "of", "six rooms"), "What is Cedar Ward composed of?", "six rooms"),
        (fact("Ann Lee", "is famous", "be famous", "for", "blue cups"), "What is Ann Lee famous for?", "blue cups"),
        (fact("Ann Lee", "is", "be", "", "an English actress"), "Who is Ann Lee?", "an English actress"),
        (fact("Ann Lee", "is", "be", "", "a song", subject_type="person"), None, None),
        (fact("Blue Ann", "is", "be", "", "a folk song", subject_type="person"), "What is Blue Ann?", "a folk song"),
        (fact("Leeds", "is", "be", "", "the largest city of Kent"), "What is the largest city of Kent?", "Leeds"),
        (fact("narcolepsy", "is", "be", "", "a sleep disorder"), "What is narcolepsy?", "a sleep disorder"),
    ],
)
def test_a_fact_answers_its_questions(said, question, answer):
    found = asked(said)
    assert found == [] if question is None else (question, answer) in found


@pytest.mark.parametrize(
    "said",
    [
        fact("Ann Lee", "did direct", "direct", "", "the film Loom", negated=True),
        fact("Ann Lee", "is", "be", "", "a general term"),
        fact("Sam", "is", "be", "", "an actress", subject_type="person"),
        fact("Ann Lee", "sold", "sell", "", "goods"),
        fact("Ann Lee", "sold", "sell", "", "a foul"),
        fact("Ann Lee", "had", "have", "", "the Blue Cup"),
        fact("Ann Lee", "is", "be", "", "the Ann Lee"),
        fact("Ann Lee", "won", "win", "in", "Tuesday", object_type=DATE),
        fact("Ann Lee", "died", "die", "before", "1992", object_type=DATE),
        fact("Ann Lee", "died", "die", "at", "the age of 66 in 1997", object_type=DATE),
        fact("Ann Lee", "raised", "raise", "in", "1992", object_type=DATE),
        fact("Ann Lee", "took the cup", "take the cup", "in", "1992", object_type=DATE),
        fact("Cedar Ward", "lost", "lose", "", "28 per cent", object_type=NUMBER),
        fact("Ann Lee", "guest", "guest", "", "the Star"),
        fact("Sam", "buys", "buy", "", "the Blue Cup", subject_type="person"),
        fact("Sam", "works", "work", "after", "the big match"),
    ],
)
def test_what_has_no_one_answer_is_not_asked(said):
    assert asked(said) == []


def test_a_denied_fact_is_never_asked_about():
    assert asked(fact("Loom", "was directed", "direct", "by", "Ann Lee", negated=True)) == []


def test_a_question_with_two_answers_is_left_out():
    opened = fact("Cedar Ward", "was opened", "open", "in", "1990", object_type=DATE)
    again = fact("Cedar Ward", "was opened", "open", "in", "1995", object_type=DATE)
    assert asked(opened, again) == []
    assert asked(opened, opened) == [("When was Cedar Ward opened?", "1990")]


def test_a_draft_keeps_the_fact_that_it_is_made_of():
    opened = fact("Cedar Ward", "was opened", "open", "in", "1990", object_type=DATE, start=7, end=40)
    (draft,) = asked_of([opened])
    assert draft.fact is opened


def test_a_sentence_is_asked_about_a_few_times_with_names_and_dates_first():
    plain = [fact(f"the spinal cord {n}", "carries", "carry", "", "slow nerve signals") for n in range(6)]
    named = fact("Loom", "was directed", "direct", "by", "Ann Lee")
    found = asked(*plain, named)
    assert len(found) == MOST_OF_SENTENCE
    assert found[0] == ("Who directed Loom?", "Ann Lee")


def test_a_chunk_is_asked_about_a_dozen_times():
    facts = [fact(f"Ward {n}", "was opened", "open", "in", "1990", object_type=DATE, start=n, end=n + 1) for n in range(20)]
    assert len(asked(*facts)) == MOST_OF_CHUNK
