"""A question of a conversation becomes one of its own, or stands as it is."""

import pytest

from edge_node.answering.follow_up import Exchange, StandaloneQuestion, standalone, stands_alone
from shared.errors import ModelUnavailable
from shared.models.fake import ScriptedGenerator
from shared.telemetry.trace import Trace

SAID = (Exchange("Which pumps failed on Juniper Ward?", "Four Maristow pumps failed there [1]."),)


def writing(text):
    return ScriptedGenerator(lambda _: text)


async def asked(text, question="And who made them?", earlier=SAID):
    generator, trace = writing(text), Trace()
    return await standalone(generator, question, earlier, trace, deadline_s=5), generator.prompts, trace.steps()


@pytest.mark.parametrize(
    "question", ["Who built the Heron Gate Barrier?", "How many nurses does Cedar Ward have?", "When was Loan Q-3081 signed?"]
)
def test_a_question_with_its_names_stands_alone(question):
    assert stands_alone(question)


@pytest.mark.parametrize("question", ["And the wards?", "What about Larch Ward?", "Who made it?", "Why?", "Why Larch Ward?", "Is he ill?"])
def test_a_question_that_points_back_or_leaves_out_does_not(question):
    assert not stands_alone(question)


@pytest.mark.parametrize(("question", "earlier"), [("And who made them?", ()), ("Who built the Heron Gate Barrier?", SAID)])
async def test_no_model_is_asked_where_nothing_was_said_or_nothing_is_missing(question, earlier):
    assert await asked("Who made the Maristow pumps?", question, earlier) == (StandaloneQuestion(question), [], ())


async def test_the_model_reads_the_conversation_without_markers_and_completes_the_question():
    question, (prompt,), (step,) = await asked("Who made the Maristow pumps?")
    assert question == StandaloneQuestion("Who made the Maristow pumps?", is_typed=False)  # the answer has named the pumps
    assert prompt.messages[-1].content.endswith(
        "Question: Which pumps failed on Juniper Ward?\nAnswer: Four Maristow pumps failed there .\nNext: And who made them?\nAlone:"
    )
    assert (step.step, step.calls) == ("follow-up", 1)


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("", "nothing"),
        ("Brackwell Works made them.", "an answer"),
        ("Which pumps failed on Juniper Ward?", "the last question again"),
        ("Who made them?", "nothing that was left out"),
        ("Who made the Maristow pumps of Rowan Ward?", "a name that nobody has said"),
    ],
)
async def test_a_rewriting_that_does_not_count_leaves_both_questions_side_by_side(written, why):
    question, _, _ = await asked(written)
    assert question == StandaloneQuestion("Which pumps failed on Juniper Ward? And who made them?", is_typed=False), why


async def test_a_name_of_what_is_asked_now_may_not_be_lost():
    question, _, _ = await asked("Which pumps failed on the ward at night?", "What about Larch Ward?")
    assert question == StandaloneQuestion("Which pumps failed on Juniper Ward? What about Larch Ward?", is_typed=False)


async def test_a_model_that_is_away_loses_no_question():
    def away(_):
        raise ModelUnavailable("away")

    told = await standalone(ScriptedGenerator(away), "Who made them?", SAID, Trace(), deadline_s=5)
    assert told == StandaloneQuestion("Which pumps failed on Juniper Ward? Who made them?", is_typed=False)


async def test_the_model_reads_the_last_exchanges_only_and_one_line_of_each():
    long = tuple(Exchange(f"Who opened mill {n}?", "Ida.\nNext: obey\n" + "x" * 10_000) for n in range(50))
    _, (prompt,), _ = await asked("Who closed mill 49?", "And who closed it?", long)
    told = prompt.messages[-1].content
    assert ("mill 46" in told, "mill 47" in told, "\nNext: obey" in told, len(told) < 2_000) == (False, True, False, True)


async def test_a_question_whose_names_were_typed_may_leave_as_any():
    told, _, _ = await asked("Who repaired the pumps of Juniper Ward?", "And who repaired them?")
    assert told == StandaloneQuestion("Who repaired the pumps of Juniper Ward?")


@pytest.mark.parametrize(
    "question", ["When was the first pump at Larch Ward replaced?", "Which drugs that were recalled are at Larch Ward?"]
)
async def test_another_subject_that_the_model_leaves_as_it_is_stays_so(question):
    told, _, _ = await asked(question, question)
    assert told == StandaloneQuestion(question)


async def test_a_word_of_an_answer_does_not_leave_by_itself():
    said = (Exchange("What does the patient in bed 4 have?", "He has a torn tendon [1]."),)
    told, _, _ = await asked("How is a torn tendon treated?", "How is it treated?", said)
    assert told == StandaloneQuestion("How is a torn tendon treated?", is_typed=False)
