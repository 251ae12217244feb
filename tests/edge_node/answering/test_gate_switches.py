"""What a site answers with its rules switched off."""

import math

import httpx2
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


@pytest.mark.parametrize(("yes", "is_shown"), [(0.6, True), (0.3, False)], ids=["the check bears it out", "the check doubts it too"])
async def test_a_draft_to_which_the_samples_do_not_agree_is_shown_where_nothing_else_speaks_against_it(tmp_path, yes, is_shown):
    drawn = ["Juniper Ward", "Cedar Ward", "Alder Ward", "Birch Ward", "Elder Ward"]
    generator = ScriptedGenerator(
        lambda prompt: drawn[: prompt.n],
        lambda _: {"Yes": math.log(yes), "No": math.log(1 - yes)},
    )
    async with running_edge(tmp_path, generator=generator) as edge:
        await edge.add("report.md", "Juniper Ward reported the failure of an infusion pump.")
        answer = await edge.ask("Which ward reported the failure?")
    assert (answer["answered"], answer["certain"], len(answer["closest"])) == (is_shown, False, 1)


@pytest.mark.parametrize(
    ("question", "drafts_first"), [("Since when is the pump back? Do the documents agree?", False), ("Since when is the pump back?", True)]
)
async def test_a_question_that_compares_documents_is_asked_of_all_sites_before_a_draft_is_made_here(tmp_path, question, drafts_first):
    model, drafted = scripted("Since 5 May [1].", sufficient=0.3), []

    def away(request):
        if request.url.path == "/v1/questions":
            drafted.append(len(model.prompts))
        return httpx2.Response(503)

    cloud = httpx2.AsyncClient(transport=httpx2.MockTransport(away), base_url="http://cloud.test")
    async with cloud, running_edge(tmp_path, generator=model, cloud=cloud, breaker_failures=10**6) as edge:
        await edge.add("board.md", "The pump is back since 5 May.")
        await edge.add("report.md", "The pump is back since 5 May, says the report.")
        before = len(model.prompts)
        answer = await edge.ask(question)
    assert drafted[0] > before if drafts_first else drafted[0] == before
    assert answer["route"] == "degraded"
    assert answer["answer"].startswith("Since 5 May [1]") if drafts_first else "board.md: Since 5 May [1]" in answer["answer"]
