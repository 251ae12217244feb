"""The gate's three steps, on a scripted model and a hashing embedder."""

import math

import pytest

from edge_node.answering.gate import Gate, Question
from edge_node.settings import GateSettings
from shared.limits import Deadline
from shared.models.fake import HashEmbedder, ScriptedGenerator
from shared.ports import Message
from shared.telemetry.trace import Trace

LIMITS = GateSettings(min_nearness=0.4, max_unknown=0.2, max_refusals=0.4, min_sufficiency=0.5, min_similarity=0.6)
PROBE = (Message("user", "sufficient?"),)
REFUSAL = "Insufficient information."


def model(*, sufficient=0.9, same=0.9, letter="A"):
    """Answers each probe with the given probability of yes, the selection with the letter."""

    def first_token(prompt):
        text = prompt.messages[-1].content
        if "letter" in text:
            return {letter: -0.1}
        yes = sufficient if text == "sufficient?" else same
        return {"Yes": math.log(yes), "No": math.log(1 - yes)}

    return ScriptedGenerator(lambda prompt: "?", first_token)


async def judge(samples, generator, trace=None):
    gate, trace, deadline = Gate(generator, HashEmbedder(), LIMITS), trace or Trace(), Deadline(5)
    sufficiency = await gate.sufficiency(PROBE, trace, deadline)
    return await gate.judge(Question("which ward?", tuple(samples), sufficiency, 0.8), trace, deadline)


async def test_equal_answers_stay_local_and_cost_one_probe():
    generator = model()
    report = await judge(["Juniper Ward."] * 3, generator)
    assert (report.decision, report.selected) == ("local", 0)
    assert report.similarity.mean == 1.0
    assert len(generator.prompts) == 1


async def test_five_equal_refusals_agree_perfectly_and_still_escalate_uncompared():
    generator = model()
    report = await judge([REFUSAL] * 5, generator)
    assert report.decision == "escalate"
    assert report.confidence.refusals == 5
    assert report.similarity is None
    assert len(generator.prompts) == 1


async def test_more_refusals_than_allowed_escalate():
    assert (await judge(["Juniper Ward."] * 2 + [REFUSAL] * 3, model())).decision == "escalate"
    assert (await judge(["Juniper Ward."] * 3 + [REFUSAL] * 2, model())).decision == "local"


async def test_passages_that_do_not_hold_the_answer_escalate_however_well_the_answers_agree():
    report = await judge(["Juniper Ward."] * 3, model(sufficient=0.2))
    assert report.decision == "escalate"
    assert report.confidence.sufficiency == pytest.approx(0.2)
    assert "probability 0.2, below 0.5" in report.reason


async def test_answers_that_differ_escalate_with_all_three_scores():
    report = await judge(["Juniper Ward leads.", "Juniper Ward leads it.", "Rowan Ward led it"], model(same=0.1))
    assert report.decision == "escalate"
    assert report.similarity.semantic == pytest.approx(0.1)
    assert report.similarity.mean == pytest.approx((report.similarity.cosine + report.similarity.jaccard + 0.1) / 3, abs=1e-3)


@pytest.mark.parametrize(
    ("samples", "decision"), [(("Juniper Ward reported it", "Juniper Ward reported it!"), "local"), (("yes", "Rowan unit"), "escalate")]
)
async def test_where_cosine_and_words_decide_no_model_is_asked_whether_the_answers_agree(samples, decision):
    generator = model(same=0.01 if decision == "local" else 0.99)
    report = await judge(samples, generator)
    assert (report.decision, report.similarity.semantic) == (decision, None)
    bound = report.similarity.cosine + report.similarity.jaccard + (decision == "escalate")
    assert report.similarity.mean == pytest.approx(bound / 3, abs=1e-3)
    assert not any("same" in prompt.messages[-1].content.splitlines()[-1] for prompt in generator.prompts[1:])


def test_passages_that_do_not_hold_the_answer_escalate_before_anything_is_sampled():
    gate = Gate(model(), HashEmbedder(), LIMITS)
    assert gate.too_little(0.4, 0.8, 0.0).confidence.sufficiency == 0.4
    assert gate.too_little(0.5, 0.8, 0.0) is None
    assert gate.too_little(None, 0.8, 0.0) is None


async def test_the_model_picks_among_the_answers_that_are_no_refusals():
    report = await judge([REFUSAL, "Juniper Ward it was.", "Juniper Ward it was indeed."], model(letter="B"))
    assert report.selected == 2


async def test_an_unusable_letter_falls_back_to_the_answer_nearest_to_all():
    report = await judge(["Juniper Ward it was.", "Juniper Ward it was.", "Juniper Ward it was then."], model(letter="?"))
    assert report.selected == 0


async def test_every_step_that_ran_is_in_the_trace():
    trace = Trace()
    await judge(["Juniper Ward.", "Juniper Ward!"], model(), trace)
    assert [step.step for step in trace.steps()] == ["gate: confidence", "gate: similarity", "gate: selection"]


def test_what_is_about_something_else_escalates_before_anything_is_sampled():
    report = Gate(model(), HashEmbedder(), LIMITS).too_far(0.3, 0.0)
    assert report.decision == "escalate"
    assert (report.confidence.nearness, report.confidence.min_nearness, report.samples) == (0.3, 0.4, ())


def test_what_is_near_goes_on():
    assert Gate(model(), HashEmbedder(), LIMITS).too_far(0.4, 0.2) is None


def test_what_names_things_that_no_document_here_names_escalates_before_anything_is_sampled():
    report = Gate(model(), HashEmbedder(), LIMITS).too_far(0.8, 0.25)
    assert (report.decision, report.confidence.unknown, report.confidence.max_unknown) == ("escalate", 0.25, 0.2)
    assert report.reason == "25% of the question's words stand in no document here, over 20%"


async def test_the_report_tells_how_much_of_the_question_is_unknown_here():
    question = Question("which ward?", ("Juniper Ward.",), 0.9, 0.8, unknown=0.1)
    report = await Gate(model(), HashEmbedder(), LIMITS).judge(question, Trace(), Deadline(5))
    assert report.confidence.unknown == 0.1
