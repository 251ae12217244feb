"""The question that a model writes of a sentence and words of it, and when it is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.extraction.facts import Fact
from edge_node.memory.records import Support
from edge_node.memory.writer import MOST_ANSWER_WORDS, ToAsk, answer_in, question_in, question_prompt
from shared.text.fence import Fence

TEXT = "It was opened in 1881 by Tarrow Estates, which sold its slate to the coast."


def asking(answer, text=TEXT, title="Merle Quarry"):
    return ToAsk(0, Support("d:0", 0, len(text)), title, text, answer)


def fact(thing, *, negated=False):
    return Fact("d:0", 0, len(TEXT), "the quarry", "place", "was opened", "open", "by", thing, "concept", negated)


@pytest.mark.parametrize(
    "reply",
    [
        "Who opened Merle Quarry in 1881?",
        "Question: Who opened Merle Quarry in 1881?",
        "**Who opened Merle Quarry in 1881?**",
        "- Who opened [Merle Quarry](http://x.example) in 1881 [1]?",
    ],
)
def test_small_slips_of_form_are_read_and_markup_is_taken_out(reply):
    assert question_in(reply, asking("Tarrow Estates")).replace(" ?", "?") == "Who opened Merle Quarry in 1881?"


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Who opened Merle Quarry in 1881", "Tarrow Estates"),  # no question
        ("Who opened it?", "Tarrow Estates"),  # what?
        ("Who opened the quarry in the valley?", "Tarrow Estates"),  # which?
        ("Who opened Merle Quarry in 1882?", "Tarrow Estates"),  # a number that the sentence has not
        ("Who opened Rowan Quarry in 1881?", "Tarrow Estates"),  # a name
        ("Did Tarrow Estates open Merle Quarry in 1881?", "Tarrow Estates"),  # holds the answer, and wants yes or no
        ("Which Tarrow Estates opened Merle Quarry?", "Tarrow Estates"),  # holds the answer
        ("Who opened Merle Quarry, and when was it?", "Tarrow Estates"),  # two questions
        ("When was Merle Quarry opened?", "Tarrow Estates"),  # asks for something else
        ("What does the sentence say of Merle Quarry?", "Tarrow Estates"),
        ("Why was Merle Quarry sold by soldiers near distant harbours?", "Tarrow Estates"),  # says what the sentence does not
        ("Who?", "Tarrow Estates"),
        ("Who opened Merle Quarry in 1881?", "the coast"),  # is nobody
        ("I cannot tell who opened Merle Quarry.", "Tarrow Estates"),
        ("", "Tarrow Estates"),
    ],
)
def test_what_the_sentence_does_not_say_or_nobody_could_ask_is_not_kept(reply, answer):
    assert question_in(reply, asking(answer)) == ""


@given(st.text(alphabet="QA:|[]12? MerleQuarry\n*", max_size=120))
def test_any_reply_is_read_without_an_error(reply):
    question = question_in(reply, asking("Tarrow Estates"))
    assert not question or question.endswith("?")


def test_names_and_numbers_are_asked_for_before_other_things():
    assert answer_in([fact("the coast"), fact("Tarrow Estates"), fact("1881")], TEXT) == "Tarrow Estates"
    assert answer_in([fact("the coast"), fact("1881")], TEXT) == "1881"
    assert answer_in([fact("the coast")], TEXT) == "the coast"


@pytest.mark.parametrize("one", [fact("1881", negated=True), fact("Rowan Estates"), fact("slate " * (MOST_ANSWER_WORDS + 1)), fact("...")])
def test_what_is_denied_or_is_not_there_word_by_word_or_is_long_is_not_asked_for(one):
    assert answer_in([one], TEXT) == ""


def test_the_prompt_has_the_sentence_in_one_line_of_a_frame_behind_its_title():
    prompt = question_prompt(asking("1881", "It was\nopened in 1881, tok3n."), Fence("tok3n"))
    assert "\nMerle Quarry: It was opened in 1881, " in prompt.messages[-1].content
    assert prompt.messages[-1].content.count("tok3n") == 2  # of the frame alone
