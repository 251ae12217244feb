"""A threshold that everything reaches switches its step off, and its model call is saved."""

import pytest

from edge_node.answering.gate import Gate, Question
from edge_node.settings import GateSettings
from shared.limits import Deadline
from shared.models.fake import HashEmbedder, ScriptedGenerator
from shared.ports import Message
from shared.telemetry.trace import Trace
from tests.support.running_edge import running_edge, scripted

REFUSAL = "Insufficient information."
ALL = {"min_nearness": 0.4, "max_unknown": 0.2, "max_refusals": 0.4, "min_sufficiency": 0.5, "min_similarity": 0.6}
DIFFERENT = ("Juniper Ward reported it.", "Rowan Ward reported it.", "Juniper Ward reported the pump.")


async def judged(samples, **limits):
    """The report, and the tasks that the model was given, by their first words."""
    generator = scripted()
    gate = Gate(generator, HashEmbedder(), GateSettings(**{**ALL, **limits}))
    sufficiency = await gate.sufficiency((Message("user", "sufficient?"),), Trace(), Deadline(5))
    report = await gate.judge(Question("which ward?", samples, sufficiency, 0.8), Trace(), Deadline(5))
    ends = [prompt.messages[-1].content.splitlines()[-1] for prompt in generator.prompts]
    return report, ["probe" if end == "sufficient?" else "select" if "letter" in end else "compare" for end in ends]


async def test_with_all_steps_on_different_answers_cost_three_calls():
    assert (await judged(DIFFERENT))[1] == ["probe", "compare", "select"]


async def test_without_a_wanted_sufficiency_the_model_is_not_asked_for_it():
    report, calls = await judged(DIFFERENT, min_sufficiency=0.0)
    assert calls == ["compare", "select"]
    assert (report.decision, report.confidence.sufficiency) == ("local", None)


async def test_without_a_wanted_similarity_the_answers_are_not_compared_but_still_chosen_from():
    report, calls = await judged(DIFFERENT, min_similarity=0.0)
    assert calls == ["probe", "select"]
    assert (report.decision, report.similarity, report.selected) == ("local", None, 0)


async def test_one_sample_is_neither_compared_nor_chosen():
    report, calls = await judged(DIFFERENT[:1])
    assert calls == ["probe"]
    assert (report.decision, report.selected) == ("local", 0)


async def test_refusals_that_may_be_all_do_not_escalate():
    report, calls = await judged((REFUSAL,) * 3, max_refusals=1.0, min_sufficiency=0.0)
    assert (report.decision, report.confidence.refusals, calls) == ("local", 3, [])


async def test_an_answer_is_preferred_to_a_refusal_though_refusals_are_not_looked_for():
    report, _ = await judged((REFUSAL, REFUSAL, DIFFERENT[0]), max_refusals=1.0, min_sufficiency=0.0)
    assert report.selected == 2


@pytest.mark.parametrize(("refusals", "decision"), [(2, "local"), (3, "escalate")])
async def test_just_as_many_refusals_as_allowed_pass(refusals, decision):
    samples = (REFUSAL,) * refusals + (DIFFERENT[0],) * (5 - refusals)
    assert (await judged(samples, max_refusals=0.4))[0].decision == decision


OFF = {"min_nearness": -1.0, "max_unknown": 1.0, "max_refusals": 1.0, "min_sufficiency": 0.0, "min_similarity": 0.0}


async def test_local_rag_with_one_sample_and_all_steps_off_is_exactly_one_call(tmp_path):
    generator = scripted("Juniper Ward reported the failure [1].")
    async with running_edge(tmp_path, generator=generator, samples=1, **OFF) as edge:
        await edge.add("report.md", "Juniper Ward reported the failure. It replaced the pump.")
        generator.prompts.clear()
        answer = await edge.ask("Which ward reported the failure?")
        assert (answer["route"], answer["answered"]) == ("local", True)
        assert [prompt.n for prompt in generator.prompts] == [1]
        assert sum(step["calls"] for step in answer["trace"]) == 1


async def test_a_refusal_that_passes_is_told_as_no_answer(tmp_path):
    async with running_edge(tmp_path, generator=ScriptedGenerator(lambda prompt: [REFUSAL] * prompt.n), samples=1, **OFF) as edge:
        await edge.add("report.md", "Juniper Ward reported the failure of an infusion pump.")
        answer = await edge.ask("Which ward reported the failure?")
        assert (answer["route"], answer["answered"], answer["citations"]) == ("local", False, [])
        assert answer["answer"] == "The documents of this site do not answer this question."
