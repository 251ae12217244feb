"""Drawing, choosing and checking short answers."""

import math
from dataclasses import replace

import pytest

from shared.drafts import CitedAnswer, Sampling, cited, draft, messages_over, select, together
from shared.models.fake import ScriptedGenerator
from shared.records import Evidence
from shared.telemetry.trace import Trace
from shared.text.fence import Fence

FENCE = Fence("7f3a1b2c")
REFUSAL = "Insufficient information."


def passage(text, *, edge="ward", quotable=True, title=""):
    return Evidence(edge, edge, "report.md", f"{edge}:0", (0, len(text)), text, 0.8, quotable, title)


WARD = passage("Juniper Ward has 1,250 pumps since 27 April 2026.")


async def drawn(*texts, passages=(WARD,), question="Which ward has pumps?", yes=0.9, is_checked=True):
    model = ScriptedGenerator(
        lambda prompt: list(texts) if prompt.n == len(texts) and prompt.max_tokens > 1 else texts[0],
        lambda _: {"Yes": math.log(yes), "No": math.log(1 - yes)},
    )
    trace, sampling = Trace(), Sampling(len(texts), 50, 0.4, 7)
    found = await draft(
        question,
        messages_over(question, passages, FENCE),
        passages,
        model,
        FENCE,
        sampling,
        trace,
        left_s=lambda: 5.0,
        is_checked=is_checked,
    )
    return found, model, trace


async def test_all_samples_come_from_one_request_and_the_check_from_a_second_one():
    found, model, trace = await drawn("Juniper Ward [1]", "Juniper Ward", "juniper ward.")
    assert (found.selected, found.agreement, found.refusals) == (0, 1.0, 0)
    assert found.shown == pytest.approx(0.9)
    assert [prompt.n for prompt in model.prompts] == [3, 1]
    assert [step.step for step in trace.steps()] == ["samples", "gate: confidence"]


async def test_one_sample_is_drawn_without_chance():
    _, model, _ = await drawn("Juniper Ward")
    assert model.prompts[0].temperature == 0.0


async def test_where_nothing_is_to_be_checked_one_call_is_enough():
    found, model, _ = await drawn("Juniper Ward", is_checked=False)
    assert (found.shown, len(model.prompts)) == (None, 1)


async def test_the_check_names_question_and_answer_and_sees_the_same_passages():
    _, model, _ = await drawn("Juniper Ward [1]")
    first, second = (prompt.messages[-1].content for prompt in model.prompts)
    assert second.startswith(first.removesuffix("Answer:"))
    assert "Proposed answer: Juniper Ward\n" in second


async def test_a_sample_of_markers_alone_says_nothing_and_an_inert_one_is_shown():
    found, _, _ = await drawn("[1], [2]", " ", "Answer: See [the ward](http://x.example) <img src=x>[1].")
    assert found.samples == (REFUSAL, REFUSAL, "See the ward [1].")


async def test_a_sample_that_gives_the_frame_away_counts_as_none():
    found, _, _ = await drawn("Passages: << 7F3A1B2C [1] Juniper Ward", "Juniper Ward [1].")
    assert found.samples == (REFUSAL, "Juniper Ward [1].")


@pytest.mark.parametrize(
    ("samples", "selected"),
    [
        (("Ward 5", "Ward 7", "Ward 7"), None),
        (("Juniper Ward", "Juniper Ward of 1999", "In 1999"), 0),
        (("In 1999", "In 1999", "Juniper Ward"), 2),
        (("1250", "1,251", "1251"), 0),
        (("April 27", "27.04.2026", "2026-04-28"), 0),
        ((REFUSAL, REFUSAL, "Juniper Ward"), None),
        ((REFUSAL, "Juniper Ward", "Juniper Ward"), 1),
        (("Rowan Ward", "Juniper Ward"), 1),
    ],
)
def test_the_answer_that_most_give_is_chosen_of_those_whose_figures_and_names_the_passages_bear(samples, selected):
    assert select("Which ward has pumps?", samples, [WARD]).selected == selected


def test_of_samples_that_say_the_same_the_fullest_that_most_bear_out_is_chosen():
    read = [passage("For each day of delay 2 % may be deducted, at most 10 %, within 3 weeks.")]
    assert select("How much?", ("2 %", "2 %, at most 10 %", "2 %, 10 % at most"), read).selected == 1
    assert select("How much?", ("2 %", "2 %", "2 % within 3 weeks"), read).selected == 0


def test_a_figure_that_may_have_to_be_worked_out_need_not_stand_there():
    assert select("How many pumps are there in all?", ("1300",), [WARD]).selected == 0
    assert select("Who has pumps?", ("1300",), [WARD]).selected is None


def test_a_copy_of_what_is_not_to_be_quoted_is_no_answer_but_a_value_of_it_is():
    hidden = [passage("The new head of the old harbour is Ida Lund since May.", quotable=False)]
    question = "Who is the head of the harbour?"
    assert select(question, ("The new head of the old harbour is Ida Lund since May.",), hidden).selected is None
    assert select(question, ("Ida Lund",), hidden).selected == 0


def test_an_answer_cites_the_passage_that_holds_its_value_and_quotes_the_sentence():
    loans = passage("A loan costs 4 percent.", edge="bank")
    answer = cited("How many pumps has Juniper Ward?", select("How many pumps?", ("1,250 [1]",), [loans, WARD]), [loans, WARD])
    assert (answer.text, [one.edge for one in answer.citations]) == ("1,250 [1]", ["ward"])
    assert answer.citations[0].quote == WARD.text


def test_nothing_is_shown_of_an_answer_of_which_no_passage_says_a_word():
    assert cited("Who did it?", select("Who did it?", ("nobody knows",), [WARD]), [WARD]) == CitedAnswer()


async def test_a_question_of_two_parts_is_answered_part_by_part_and_each_is_cited_for_itself():
    loans = passage("Norvane lends pumps since 3 May 2026.", edge="bank")
    question = "Which ward has pumps, and since when does Norvane lend them?"
    replies = {"Which ward has pumps?": "Juniper Ward", "since when does Norvane lend them?": "since 3 May 2026"}

    def reply(prompt):
        return next((text for part, text in replies.items() if f"now: {part}" in prompt.messages[-1].content), "Yes")

    model = ScriptedGenerator(reply, lambda _: {"Yes": 0.0})
    messages = messages_over(question, [WARD, loans], FENCE)
    sampling = Sampling(1, 50, 0.4, 7)
    found = await draft(question, messages, [WARD, loans], model, FENCE, sampling, Trace(), left_s=lambda: 5.0)
    answer = cited(question, found, [WARD, loans])
    assert (answer.text, answer.unanswered) == ("Juniper Ward [1]. Since 3 May 2026 [2].", ())
    assert [one.edge for one in answer.citations] == ["ward", "bank"]
    assert "Which ward has pumps? Juniper Ward" in model.prompts[1].messages[-1].content


async def test_a_part_without_an_answer_is_named_and_makes_the_answer_doubtful():
    parts = [
        replace(select("", ("Juniper Ward",), [WARD]), part="Which ward?"),
        replace(select("", (REFUSAL,), [WARD]), part="Since when?"),
    ]
    answer = cited("Which ward, and since when?", together(parts), [WARD])
    assert (answer.text, answer.unanswered) == ("Juniper Ward [1].", ("Since when?",))
    assert answer.doubt("Which ward, and since when?", [WARD]) == "no answer was found to “Since when?”"


async def test_a_part_that_repeats_the_answer_of_another_one_has_none():
    ward = select("", ("Juniper Ward",), [WARD])
    parts = [replace(ward, part="Which ward has pumps?"), replace(ward, part="And if it is full?")]
    answer = cited("Which ward has pumps? And if it is full?", together(parts), [WARD])
    assert (answer.text, answer.unanswered) == ("Juniper Ward [1].", ("And if it is full?",))


MINUTES = replace(passage("Pump P3 has been back in service since 19 March 2026."), document_id="same", document="minutes [7].docx")
REPORT = replace(passage("P3 returned to service on 12 March 2026.", edge="plant"), document_id="same", document="report.pdf")


async def said_by_documents(replies, otherwise="2026"):
    """The answer to a question that compares two documents, each of which is asked alone."""

    def reply(prompt):
        asked = prompt.messages[-1].content
        return next((text for said, text in replies.items() if said in asked and sum(other in asked for other in replies) == 1), otherwise)

    question = "Since when is pump P3 back in service, according to the board and according to the contractor?"
    strangers = [
        replace(passage(f"Meter {n} was exchanged.", edge="field"), document_id=f"meters-{n}", document=f"meters-{n}.md") for n in range(3)
    ]
    passages = [*strangers, MINUTES, REPORT]
    model = ScriptedGenerator(reply, lambda _: {"Yes": math.log(0.9), "No": math.log(0.1)})
    found = await draft(
        question, messages_over(question, passages, FENCE), passages, model, FENCE, Sampling(1, 50, 0.4, 7), Trace(), left_s=lambda: 5.0
    )
    return cited(question, found, passages), found


async def test_documents_that_a_question_compares_are_asked_one_by_one_and_stand_beside_each_other():
    answer, found = await said_by_documents({"19 March": "since 19 March 2026 [1]", "12 March": "on 12 March 2026 [1]"})
    assert answer.text == (
        "According to minutes.docx: Since 19 March 2026 [1]. According to report.pdf: On 12 March 2026 [2]. They do not say the same."
    )
    assert [one.edge for one in answer.citations] == ["ward", "plant"]
    assert found.shown == pytest.approx(0.9)


async def test_where_one_document_alone_says_something_the_question_is_answered_as_any_other():
    answer, found = await said_by_documents({"19 March": "since 19 March 2026"}, otherwise=REFUSAL)
    assert (found.parts, answer.text) == ((), "since 19 March 2026 [1]")
