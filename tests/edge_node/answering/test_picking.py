"""Sentences of reports are picked by one token each, and learnt from."""

import math

import numpy as np
import pytest

from edge_node.answering.picking import ANYTHING, SentencePicker, contrasted, subject
from edge_node.communities.elements import Finding
from edge_node.communities.reports import Report
from shared.errors import ModelUnavailable
from shared.limits import Deadline
from shared.models.fake import ScriptedGenerator
from shared.telemetry.trace import Trace

BROKEN = [f"Pump {number} broke in the {place}." for number, place in enumerate(("ward", "plant", "lab", "yard"))]
OTHER = [f"Room {number} has a table." for number in range(20)]
QUESTION = "What went wrong?"


class Embedder:
    """One direction for what broke, one for rooms, and a little of another for each; the question is nearer to rooms, as words mislead."""

    dimensions, fingerprint = 16, "test"

    async def embed(self, texts):
        rows = []
        for text in texts:
            vector = np.zeros(16)
            vector[:2] = (0.5, 0.7) if text == QUESTION else (1.0, 0.0) if "broke" in text else (0.0, 1.0)
            vector[2 + sum(map(ord, text)) % 14] += 0.6
            rows.append(vector / np.linalg.norm(vector))
        return np.array(rows, dtype=np.float32)


def model(chance, *, distribution=True):
    """P(yes) as ``chance`` says of a question and a sentence."""

    def first_token(prompt):
        lines = prompt.messages[-1].content.splitlines()
        yes = chance(lines[0].removeprefix("Question: "), lines[1].removeprefix("Sentence: "))
        return {"Yes": math.log(yes), "No": math.log(1 - yes)} if distribution else None

    return ScriptedGenerator(lambda prompt: "Yes", first_token)


def honest(question, sentence):
    return 0.5 if question == ANYTHING else 0.9 if "broke" in sentence else 0.2


def report(texts):
    return Report("r1", 0, "", "", 1, "", tuple(Finding(text, ("d:0",), ()) for text in texts), by_model=False, content="")


async def picked(generator, texts=(*OTHER, *BROKEN), *, most=12, deadline_s=9.0):
    picker = SentencePicker(generator, Embedder(), at_once=1)
    return await picker.pick(QUESTION, [report(texts)], Trace(), Deadline(deadline_s), most=most)


async def test_what_the_model_says_yes_to_draws_the_next_sentences_near():
    """The first six hold one or two of what broke; feedback finds the others before the rooms that are left."""
    generator = model(honest)
    found = await picked(generator)
    assert {point.text for point in found.points} == set(BROKEN)
    assert {point.score for point in found.points} == {0.9}
    assert found.judged == 12


async def test_null_control_without_feedback_some_are_missed():
    assert {point.text for point in (await picked(model(lambda *_: 0.9))).points} != set(BROKEN)


async def test_a_sentence_that_gets_a_yes_to_anything_is_not_told():
    def chance(question, sentence):
        return (0.97 if question == ANYTHING else 0.9) if sentence in OTHER[:2] else honest(question, sentence)

    assert {point.text for point in (await picked(model(chance), most=24)).points} == set(BROKEN)


async def test_what_a_sentence_gets_whatever_is_asked_is_asked_once():
    generator, picker = model(honest), None
    picker = SentencePicker(generator, Embedder(), at_once=1)
    for _ in range(2):
        await picker.pick(QUESTION, [report(BROKEN)], Trace(), Deadline(9.0), most=4)
    assert sum(ANYTHING in prompt.messages[-1].content for prompt in generator.prompts) == 2


@pytest.mark.parametrize("most", [1, 2, 7, 50])
async def test_no_more_are_judged_than_were_asked_for_or_are_there(most):
    found = await picked(model(honest), most=most)
    assert found.judged == min(most, 24)
    assert len(found.points) <= (most + 1) // 2


async def test_a_server_without_probabilities_judges_nothing():
    found = await picked(model(honest, distribution=False))
    assert (found.points, found.judged, found.failure) == ((), 0, None)


async def test_a_model_that_fails_on_the_way_is_told_and_what_was_judged_counts():
    calls = iter(range(100))

    def chance(question, sentence):
        if next(calls) == 6:
            raise ModelUnavailable("gone")
        return honest(question, sentence)

    found = await picked(model(chance))
    assert found.judged == 6
    assert isinstance(found.failure, ModelUnavailable)


async def test_a_model_that_is_gone_in_the_end_has_judged_nothing():
    """Else a site would say that its documents do not answer."""

    def chance(question, sentence):
        if question == ANYTHING:
            raise ModelUnavailable("gone")
        return honest(question, sentence)

    found = await picked(model(chance))
    assert (found.points, found.judged, str(found.failure)) == ((), 0, "gone")


async def test_reports_without_a_finding_need_no_model():
    generator = model(honest)
    assert (await picked(generator, ())).points == ()
    assert generator.prompts == []


@pytest.mark.parametrize(("asked", "anything"), [(0.0, 0.0), (1.0, 1.0), (0.0, 1.0), (1.0, 0.0)])
def test_certain_probabilities_stay_probabilities(asked, anything):
    assert 0.0 <= contrasted(asked, anything) <= 1.0


@pytest.mark.parametrize("question", ["", "?", "What are the main themes?", "the the the"])
def test_a_question_without_a_subject_stays_as_it_is(question):
    assert subject(question) == question
