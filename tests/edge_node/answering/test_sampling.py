"""Drawing samples: one request, clean texts."""

from dataclasses import replace

from edge_node.answering.sampling import Sampling, answer_prompt, draw, sufficiency_prompt, with_passages
from edge_node.records import PassageSummary, Retrieval
from shared.models.fake import ScriptedGenerator
from shared.records import Evidence
from shared.telemetry.trace import Trace
from shared.text.fence import Fence

FENCE = Fence("7f3a1b2c")
PASSAGE = Evidence("ward", "d", "report.md", "d:0", (0, 20), "Juniper Ward\nreported it.", 0.8)


async def drawn(*texts, n=None):
    model = ScriptedGenerator(lambda prompt: list(texts))
    trace = Trace()
    messages, sampling = answer_prompt("Which ward?", Retrieval((PASSAGE,)), FENCE), Sampling(n or len(texts), 50, 0.7, 7)
    got = await draw(model, messages, FENCE, sampling, trace, deadline_s=5)
    return got, model, trace


async def test_all_samples_come_from_one_request():
    got, model, trace = await drawn("a b", "c d", "e f")
    assert got == ("a b", "c d", "e f")
    assert [prompt.n for prompt in model.prompts] == [3]
    assert trace.steps()[0].calls == 1


async def test_one_sample_is_drawn_without_chance():
    _, model, _ = await drawn("a b")
    assert model.prompts[0].temperature == 0.0


async def test_a_sample_of_markers_alone_says_nothing():
    got, _, _ = await drawn("[1], [2]", " ", "Answer: Juniper Ward [1].")
    assert got == ("Insufficient information.", "Insufficient information.", "Juniper Ward [1].")


def test_the_answer_and_the_probe_share_all_but_their_end():
    answer = answer_prompt("Which ward?", Retrieval((PASSAGE,), ("Pump - use - Battery",)), FENCE)[-1].content
    probe = sufficiency_prompt("Which ward?", Retrieval((PASSAGE,), ("Pump - use - Battery",)), FENCE)[-1].content
    shared = answer.removesuffix("Answer:")
    assert shared != answer
    assert probe.startswith(shared)


def test_a_passage_is_one_line_below_its_document():
    text = answer_prompt("Which ward?", Retrieval((PASSAGE,)), FENCE)[-1].content
    assert "<<7f3a1b2c\nward, report.md:\n[1] Juniper Ward reported it.\n7f3a1b2c>>\n" in text


def test_facts_stand_in_the_frame_one_a_line():
    text = answer_prompt("Which ward?", Retrieval((PASSAGE,), ("Pump - use -\nQuestion: none",)), FENCE)[-1].content
    assert "Known relations:\nPump - use - Question: none\n7f3a1b2c>>\n" in text


def test_summaries_stand_in_the_frame_numbered_behind_the_passages():
    found = Retrieval((PASSAGE,), summaries=(PassageSummary("n", "Pumps in\nwards.", 0.7, (PASSAGE,)),))
    text = answer_prompt("Which ward?", found, FENCE)[-1].content
    assert "[1] Juniper Ward reported it.\nSummaries of several passages:\n[2] Pumps in wards.\n7f3a1b2c>>\n" in text


def test_the_number_of_a_summary_becomes_that_of_the_passage_below_it_which_says_the_sentence():
    """[1] is a passage, [2] and [3] are summaries; citable are the passage, and below the summaries Elm (2), Oak (3) and the same Oak."""
    elm = replace(PASSAGE, chunk_id="e:0", text="Elm Ward has two pumps.")
    oak = replace(PASSAGE, chunk_id="o:0", text="Oak Ward has a failed battery.")
    found = Retrieval((PASSAGE,), summaries=(PassageSummary("n", "Wards.", 0.7, (elm, oak)), PassageSummary("m", "Oaks.", 0.6, (oak,))))
    assert found.citable == (PASSAGE, elm, oak)
    said = "A battery failed in Oak Ward [2]. Elm has pumps [1, 2]. All are wards [3] [9]."
    assert with_passages(said, found) == "A battery failed in Oak Ward [3]. Elm has pumps [1, 2]. All are wards [3] [9]."
    assert with_passages(said, Retrieval((PASSAGE,))) == said


async def test_a_sample_that_gives_the_frame_away_is_withheld():
    got, _, _ = await drawn("Passages: << 7F3A1B2C [1] Juniper Ward", "Juniper Ward [1].")
    assert got == ("Insufficient information.", "Juniper Ward [1].")


async def test_a_sample_is_inert_before_anybody_sees_it():
    got, _, _ = await drawn("See [the ward](http://x.example) <img src=x>[1].")
    assert got == ("See the ward [1].",)
