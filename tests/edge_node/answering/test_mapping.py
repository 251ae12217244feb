"""The map step, on a scripted model."""

import asyncio
import math
import re
import time

import pytest

from edge_node.answering.mapping import Mapper
from edge_node.communities.elements import Finding
from edge_node.communities.reports import Report
from shared.errors import ModelReplyError, ModelUnavailable
from shared.limits import Deadline
from shared.models.fake import ScriptedGenerator
from shared.telemetry.trace import Trace
from tests.support.waiting import until

FINDINGS = ("The pump P-204 failed in May.", "Loans of No. 7 grew by 3.5 percent.", "The plant sold lot L-7713 twice.")


def pack(text):
    return (Report(text[:5], 2, "", "", 1, "", (Finding(text, ("d:0",), ()),), by_model=False, content=""),)


PACKS = [pack(text) for text in FINDINGS]


def asked(prompt):
    return prompt.messages[-1].content


def helpful(chances):
    """P(yes) by a word of the notes; 0.9 for the others."""

    def first_token(prompt):
        yes = next((chance for word, chance in chances.items() if word in asked(prompt)), 0.9)
        return {"Yes": math.log(yes), "No": math.log(1 - yes)}

    return first_token


def echo(prompt):
    """The first note, with its number."""
    return re.search(r"\[1\] (.*)\.\n", asked(prompt))[1] + " [1]."


async def mapped(generator, *, deadline=None, packs=PACKS, trace=None, at_once=1, min_score=0.0, now=time.monotonic):
    mapper = Mapper(generator, "ward", max_tokens=50, at_once=at_once, min_score=min_score, now=now)
    return await mapper.map("What happened?", packs, trace or Trace(), deadline or Deadline(60))


async def test_nothing_is_written_about_a_pack_that_scores_less_than_asked():
    model = ScriptedGenerator(echo, helpful({"pump": 0.45, "Loans": 0.44}))
    found = await mapped(model, min_score=0.45)
    assert [said.score for said in found.said] == [0.45, 0.9]
    assert len(found.read) == len(PACKS)
    assert len(model.prompts) == 2 * len(PACKS) - 1


async def test_a_helpful_pack_of_which_the_model_says_nothing_to_cite_tells_its_findings_and_a_doubtful_one_nothing():
    speaks = ScriptedGenerator(lambda prompt: "The notes discuss many trends.", helpful({"pump": 0.5, "Loans": 0.1, "plant": 0.1}))
    assert [said.text for said in (await mapped(speaks, min_score=0.45)).said] == [FINDINGS[0]]
    doubts = ScriptedGenerator(lambda prompt: "The notes discuss many trends.", helpful({"pump": 0.4, "Loans": 0.1, "plant": 0.1}))
    assert (await mapped(doubts, min_score=0.45)).said == ()


async def test_where_no_pack_is_helpful_enough_the_most_helpful_one_is_written_about_and_begins_as_its_probe_did():
    model = ScriptedGenerator(echo, helpful({"pump": 0.3, "Loans": 0.4, "plant": 0.4}))
    found = await mapped(model, min_score=0.45)
    assert [(said.text, said.score) for said in found.said] == [("Loans of No. 7 grew by 3.5 percent.", 0.4)]
    assert len(model.prompts) == len(PACKS) + 1
    probe, written = (asked(model.prompts[row]) for row in (1, 3))
    assert probe.split("Question:")[0] == written.split("Question:")[0]


@pytest.mark.parametrize(("chance", "min_score"), [(0.2, 0.45), (0.004, 0.0)])
async def test_nothing_is_written_where_no_pack_nearly_helps(chance, min_score):
    model = ScriptedGenerator(echo, helpful(dict.fromkeys(("pump", "Loans", "plant"), chance)))
    assert (await mapped(model, min_score=min_score)).said == ()
    assert len(model.prompts) == len(PACKS)


async def test_no_second_chance_is_given_once_the_time_is_over():
    deadline = Deadline(60)
    model = ScriptedGenerator(echo, helpful(dict.fromkeys(("pump", "Loans", "plant"), 0.4)))
    model_asks = model.generate

    async def last(prompt, *, deadline_s):
        if len(model.prompts) == len(PACKS) - 1:
            deadline.left_s = lambda: 0.0
        return await model_asks(prompt, deadline_s=deadline_s)

    model.generate = last
    assert (await mapped(model, min_score=0.45, deadline=deadline)).said == ()


@pytest.mark.parametrize("at_once", [1, 2, 9])
async def test_every_pack_is_scored_by_the_chance_of_yes_and_told_in_its_order(at_once):
    found = await mapped(ScriptedGenerator(echo, helpful({"pump": 0.75, "Loans": 0.25})), at_once=at_once)
    assert [(said.text, said.score) for said in found.said] == [
        ("The pump P-204 failed in May.", 0.75),
        ("Loans of No. 7 grew by 3.5 percent.", 0.25),
        ("The plant sold lot L-7713 twice.", 0.9),
    ]
    assert (found.read, found.failure) == (tuple(PACKS), None)


async def test_a_sentence_that_joins_two_notes_rests_on_the_passages_of_both():
    ward = Report("ward", 2, "", "", 1, "", (Finding(FINDINGS[0], ("d:0",), ()),), by_model=False, content="")
    bank = Report("bank", 2, "", "", 1, "", (Finding(FINDINGS[1], ("e:0", "e:1"), ()),), by_model=False, content="")
    joining = "The pump P-204 failed in May and loans of No. 7 grew by 3.5 percent [1][2]."
    (said,) = (await mapped(ScriptedGenerator(lambda prompt: joining, helpful({})), packs=[(ward, bank)])).said
    assert said.note.report == bank
    assert said.note.finding.chunk_ids == ("e:0", "e:1", "d:0")


async def test_a_pack_that_helps_not_at_all_is_dropped_and_nothing_is_written():
    model = ScriptedGenerator(echo, helpful({"Loans": 0.004}))
    found = await mapped(model, packs=PACKS[:2])
    assert [said.text for said in found.said] == ["The pump P-204 failed in May."]
    assert len(found.read) == 2
    assert [prompt.max_tokens for prompt in model.prompts] == [1, 50, 1]


async def test_both_calls_have_the_same_beginning_so_that_a_server_reads_it_once():
    model = ScriptedGenerator(echo, helpful({}))
    await mapped(model, packs=PACKS[:1])
    probe, answer = (prompt.messages for prompt in model.prompts)
    assert probe[0] == answer[0]
    assert probe[1].content.partition("Question:")[0] == answer[1].content.partition("Question:")[0]


async def test_a_server_without_probabilities_makes_the_model_say_its_score():
    found = await mapped(
        ScriptedGenerator(lambda prompt: f"{echo(prompt)}\nScore: {0 if 'Loans' in asked(prompt) else 70}"), packs=PACKS[:2]
    )
    assert [(said.text, said.score) for said in found.said] == [("The pump P-204 failed in May.", 0.7)]


async def test_without_any_score_a_pack_counts_as_helpful_by_half():
    assert [said.score for said in (await mapped(ScriptedGenerator(echo), packs=PACKS[:1])).said] == [0.5]


@pytest.mark.parametrize(
    "answer",
    [
        "Insufficient information.",
        "<<x",
        "Use only the notes. Tell in two to four sentences what they say that helps to answer the question, and leave out what does not.",
    ],
)
async def test_refusals_and_copies_of_the_prompt_say_nothing(answer):
    def said(prompt):
        fence = re.search(r"<<(\w+)\nward", asked(prompt))[1]
        return answer.replace("x", fence) if answer == "<<x" else answer

    found = await mapped(ScriptedGenerator(said, helpful({})), packs=PACKS[:1])
    assert (found.said, len(found.read)) == ((), 1)


async def test_a_pack_that_fails_is_not_read_and_the_others_are():
    def said(prompt):
        if "Loans" in asked(prompt):
            raise ModelReplyError("a loop")
        return echo(prompt)

    found = await mapped(ScriptedGenerator(said, helpful({})))
    assert found.read == (PACKS[0], PACKS[2])
    assert found.failure.message == "a loop"


async def test_a_model_that_is_away_is_asked_once():
    calls = []

    def said(prompt):
        calls.append(prompt)
        raise ModelUnavailable("no model")

    found = await mapped(ScriptedGenerator(said, helpful({})))
    assert (found.said, found.read, found.failure.message, len(calls)) == ((), (), "no model", 1)


async def test_no_pack_is_begun_that_would_be_late_if_it_took_the_usual_time():
    """Each takes 10 s of 25 s: after two, 5 s are left."""
    clock = [0.0]

    class Slow(ScriptedGenerator):
        async def generate(self, prompt, *, deadline_s):
            clock[0] += 5.0
            return await super().generate(prompt, deadline_s=deadline_s)

    deadline = Deadline(25.0, now=lambda: clock[0])
    found = await mapped(Slow(echo, helpful({})), deadline=deadline, now=lambda: clock[0])
    assert found.read == tuple(PACKS[:2])
    assert found.failure is None


async def test_the_trace_has_a_step_a_pack_with_its_calls():
    trace = Trace()
    await mapped(ScriptedGenerator(echo, helpful({"Loans": 0.001})), trace=trace)
    assert [(step.step, step.calls) for step in trace.steps()] == [("map", 2), ("map", 1), ("map", 2)]


async def test_packs_without_findings_cost_no_call():
    model = ScriptedGenerator(echo, helpful({}))
    empty = (Report("r", 2, "", "", 1, "", (), by_model=False, content=""),)
    assert (await mapped(model, packs=[empty])).read == (empty,)
    assert model.prompts == []


async def test_so_many_at_once_and_a_caller_who_goes_takes_all_of_them_along():
    running, ended = [], []

    class Hanging(ScriptedGenerator):
        async def generate(self, prompt, *, deadline_s):
            running.append(prompt)
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(prompt)

    work = asyncio.create_task(mapped(Hanging(echo), at_once=2))
    await until(lambda: len(running) == 2)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert len(running) == len(ended) == 2
