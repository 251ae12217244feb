"""Pairs of questions that a sentence encoder takes for one, told apart by the small words that carry no meaning of their own."""

import pytest

from edge_node.memory import guards
from edge_node.memory.guards import rejection
from edge_node.memory.records import Backing, Scored, Support, memory_of
from edge_node.settings import MemorySettings
from shared.text.same_question import is_same_way

NEAR_MISSES = [  # asked, remembered, its answer
    ("When should valve V2 be opened?", "When was valve V2 opened?", "2 May 2021"),
    ("When will Orrin Mill be built?", "When was Orrin Mill built?", "1881"),
    ("Who moved to Leeds in 1962?", "Who moved from Leeds in 1962?", "Ann Lee"),
    ("What did Ann Lee buy for Bo Ray?", "What did Ann Lee buy from Bo Ray?", "a loom"),
    ("Who may enter hall 3?", "Who must enter hall 3?", "Ann Lee"),
    ("Who could have built Orrin Mill?", "Who built Orrin Mill?", "Ann Lee"),
    ("Who built most of Orrin Mill?", "Who built Orrin Mill?", "Ann Lee"),
    ("Who played Tarrow Mill?", "Who played with Tarrow Mill?", "Leeds"),
    ("Who is the director of Orrin Mill?", "Who was the director of Orrin Mill?", "Ann Lee"),
    ("What does Orrin Mill make?", "What did Orrin Mill make?", "Wool"),
]
SAME = [
    ("How many looms has Orrin Mill?", "How many looms does Orrin Mill have?"),
    ("By whom has Orrin Mill been built?", "Who was Orrin Mill built by?"),
    ("To whom was Ann Lee married?", "Who was Ann Lee married to?"),
    ("what is Orrin Mill known for", "What is the Orrin Mill known for?"),
]


@pytest.mark.parametrize(("asked", "told", "answer"), NEAR_MISSES)
def test_small_words_and_times_tell_questions_apart_both_ways(asked, told, answer):
    assert not is_same_way(asked, told)
    assert not is_same_way(told, asked)


@pytest.mark.parametrize(("asked", "told", "answer"), NEAR_MISSES)
def test_a_memory_never_answers_such_a_question_however_near_it_is(asked, told, answer):
    text = f"{told} {answer}."
    memory = memory_of("learned", told, f"{answer}.", [Support("d:0", 0, len(text))], [])
    limits = MemorySettings()
    assert rejection(told, Scored(memory, 0.99, 0.99, 0.99), (), Backing((text,)), limits) == ""
    assert rejection(asked, Scored(memory, 0.99, 0.99, 0.99), (), Backing((text,)), limits) != ""


@pytest.mark.parametrize(("asked", "told"), SAME)
def test_other_forms_of_one_question_pass(asked, told):
    assert is_same_way(asked, told)
    assert is_same_way(told, asked)


def test_only_the_checks_of_small_words_hold_some_of_them_back():
    """The null control: without it, the first of the pairs is answered with the day on which the valve was opened."""
    asked, told, answer = NEAR_MISSES[0]
    memory = memory_of("template", told, answer, [Support("d:0", 0, 9)], [])
    backing, limits = Backing((f"Valve V2 was opened on {answer}.",)), MemorySettings()
    assert rejection(asked, Scored(memory, 0.97, 0.97, 1.0), (), backing, limits) == guards.OTHER_WAY
