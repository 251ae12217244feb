"""What a site answers with its rules switched off."""

import pytest

from shared.models.fake import ScriptedGenerator
from tests.support.running_edge import running_edge, scripted

REFUSAL = "Insufficient information."
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
        assert (answer["answered"], answer["citations"]) == (False, [])
        assert answer["answer"] == "The documents of this site do not answer this question."
        assert [one["quote"] for one in answer["closest"]] == ["Juniper Ward reported the failure of an infusion pump."]


@pytest.mark.parametrize("show_uncertain", [True, False])
async def test_an_answer_that_is_not_certain_is_shown_as_such_or_not_at_all(tmp_path, show_uncertain):
    generator = scripted("Juniper Ward [1].", sufficient=0.3)
    async with running_edge(tmp_path, generator=generator, show_uncertain=show_uncertain) as edge:
        await edge.add("report.md", "Juniper Ward reported the failure of an infusion pump.")
        answer = await edge.ask("Which ward reported the failure?")
    assert (answer["answered"], answer["certain"], bool(answer["citations"])) == (show_uncertain, False, show_uncertain)
    assert len(answer["closest"]) == 1
