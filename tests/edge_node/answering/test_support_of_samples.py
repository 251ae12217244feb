"""What the gate makes of samples that no passage says: an invention that cites is worth as much as a refusal."""

import math

import pytest

from shared.models.fake import ScriptedGenerator
from tests.support.running_edge import running_edge

SERIALS = "Larch Ward has the Maristow Infusion Pumps. Their serial numbers are MR-2232 to MR-2241."
FAILING = "Larch Ward's pumps with serial numbers MR-2232 to MR-2241 are failing, leading to reduced blood flow [1]."
TRUE = "Larch Ward has the Maristow Infusion Pumps [1]."
OFF = {"min_nearness": -1.0, "max_unknown": 1.0, "min_sufficiency": 0.0, "min_similarity": 0.0, "samples": 1}
QUESTION = "Which pumps does Larch Ward have?"


def saying(answer, *, said):
    """A model that gives this answer, and finds it in the passages with this probability."""
    return ScriptedGenerator(lambda prompt: [answer] * prompt.n, lambda prompt: {"Yes": math.log(said), "No": math.log(1 - said)})


async def answered(folder, generator, **changes):
    async with running_edge(folder, generator=generator, **{**OFF, **changes}) as edge:
        await edge.add("pumps.md", SERIALS)
        return await edge.ask(QUESTION)


async def test_an_invention_escalates_and_is_no_answer_where_nobody_else_can_be_asked(tmp_path):
    answer = await answered(tmp_path, saying(FAILING, said=0.1))
    assert (answer["gate"]["decision"], answer["answered"], answer["citations"]) == ("escalate", False, [])
    assert "no sentence of the model's answer" in answer["gate"]["reason"]
    assert "failing" not in answer["answer"]


async def test_null_control_a_check_that_finds_everything_shows_the_invention_with_its_citation(tmp_path):
    answer = await answered(tmp_path, saying(FAILING, said=0.99))
    assert (answer["gate"]["decision"], answer["answered"], answer["answer"]) == ("local", True, FAILING)


async def test_of_an_answer_the_supported_sentence_stays_and_the_reason_counts_the_other(tmp_path):
    answer = await answered(tmp_path, saying(f"{TRUE} {FAILING}", said=0.1))
    assert (answer["answered"], answer["answer"]) == (True, TRUE)
    assert answer["reason"] == "1 sentence of the model's left out: no passage supports it"
    assert [step["calls"] for step in answer["trace"] if step["step"] == "support"] == [1]


@pytest.mark.parametrize(
    "answer", ["Larch Ward has the Maristow Infusion Pumps MR-9000 [1].", "Rowan Ward has Maristow Infusion Pumps [1].", "Yes."]
)
async def test_samples_that_no_passage_can_say_by_their_words_are_refusals_without_a_call(tmp_path, answer):
    generator = saying(answer, said=0.99)
    found = await answered(tmp_path, generator)
    assert (found["gate"]["decision"], found["answered"]) == ("escalate", False)
    assert found["gate"]["confidence"]["refusals"] == 1
    assert len(generator.prompts) == 1


async def test_an_answer_that_cites_nothing_gets_the_citation_of_the_passage_that_says_it(tmp_path):
    answer = await answered(tmp_path, saying("Larch Ward has the Maristow Infusion Pumps.", said=0.1))
    assert (answer["answered"], answer["answer"], len(answer["citations"])) == (True, TRUE, 1)


async def test_where_the_selected_sample_says_nothing_that_stands_another_one_is_told_if_words_support_it(tmp_path):
    model = ScriptedGenerator(lambda prompt: [FAILING, TRUE][: prompt.n], lambda prompt: {"No": -0.1, "A": -0.2})
    answer = await answered(tmp_path, model, samples=2)
    assert (answer["gate"]["decision"], answer["gate"]["selected"], answer["answer"]) == ("local", 0, TRUE)


async def test_where_the_selected_sample_says_nothing_that_stands_another_one_is_told_that_the_model_supports(tmp_path):
    """Three samples, two of them alike: what is said twice is asked once."""
    samples = [FAILING, FAILING, "The Maristow Infusion Pumps are at Larch Ward [1]."]

    def first_token(prompt):
        return {"No": -0.1, "A": -0.2} if "failing" in prompt.messages[-1].content else {"Yes": -0.1, "A": -0.2}

    answer = await answered(tmp_path, ScriptedGenerator(lambda prompt: samples[: prompt.n], first_token), samples=3)
    assert (answer["gate"]["decision"], answer["gate"]["selected"], answer["answer"]) == ("local", 0, samples[2])
    assert sum(step["calls"] for step in answer["trace"] if step["step"] == "support") == 2
