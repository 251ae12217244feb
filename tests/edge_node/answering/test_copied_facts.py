"""The fast path that asks the model for a few words: a whole edge, its routes and store, with a scripted model."""

import math

import pytest

from shared.errors import ModelUnavailable
from shared.limits import Deadline
from shared.models.fake import ScriptedGenerator
from shared.models.fingerprint import PROBE, Measured
from shared.telemetry.trace import Trace
from tests.support.measured import measured_words, words_of_another
from tests.support.running_edge import running_edge

TEXT = "Orrin Mill was built by Ann Lee in 1881. It has 40 looms. The weir beside it is older."
QUESTION = "Who built Orrin Mill?"
SLOW = "Ann Lee built it [1]."


def model(span, *, name="standard", sure=0.9, first_words=measured_words):
    """Copies ``span`` where it is asked for one, and answers ``SLOW`` otherwise."""

    def reply(prompt):
        is_span = prompt.messages[0].content.startswith("You copy the answer")
        return span() if is_span and callable(span) else [span if is_span else SLOW] * prompt.n

    def first_token(prompt):
        return first_words() if prompt == PROBE else {"Yes": math.log(sure), "No": math.log(1 - sure)}

    return ScriptedGenerator(reply, first_token, name=name, log_probability=math.log(sure))


async def asked(folder, generator, question=QUESTION, *, ask=(), **settings):
    async with running_edge(folder, generator=generator, **{"memory": "off", "memory_fast": "model", **settings}) as edge:
        await edge.add("mill.md", TEXT)
        return await edge.ask(question, **dict(ask))


async def test_a_fact_that_a_sentence_states_is_answered_by_two_short_calls_and_cited(tmp_path):
    generator = model("Ann Lee")
    answer = await asked(tmp_path, generator)
    assert (answer["answer"], answer["route"], answer["answered"]) == ("Ann Lee [1]", "memory+model", True)
    assert answer["citations"][0]["quote"] == "Orrin Mill was built by Ann Lee in 1881."
    assert [step["step"] for step in answer["trace"]] == ["tables", "which model", "retrieve", "narrow", "span", "span check"]
    assert [prompt.max_tokens for prompt in generator.prompts if prompt != PROBE] == [14, 1]


def unavailable():
    raise ModelUnavailable("the model server is away")


@pytest.mark.parametrize(
    ("generator", "question", "settings"),
    [
        (model("Bo Orr"), QUESTION, {}),
        (model("Ann Lee", sure=0.6), QUESTION, {}),
        (model("Ann Lee"), "Who built Orrin Mill and when was the weir built?", {}),
        (model("Ann Lee"), "Who built Fenlow Mill?", {}),
        (model("Ann Lee", name="another"), QUESTION, {}),
        (model("Ann Lee", first_words=words_of_another), QUESTION, {}),
        (model("Ann Lee", first_words=dict), QUESTION, {}),
        (model("Ann Lee"), QUESTION, {"memory_fast": "on"}),
        (model("Ann Lee"), QUESTION, {"ask": {"memory": False}}),
        (model(unavailable), QUESTION, {}),
    ],
    ids=[
        "what no sentence says",
        "an unsure model",
        "two questions",
        "another mill",
        "a model that was not measured",
        "another model behind the measured one's name",
        "a server that tells no probabilities",
        "without the setting",
        "a client that wants none",
        "a model that fails once",
    ],
)
async def test_all_else_goes_the_slow_way(tmp_path, generator, question, settings):
    answer = await asked(tmp_path, generator, question, **settings)
    assert answer["route"] != "memory+model"
    assert answer["answer"] == SLOW or not answer["answered"]


async def test_a_corpus_of_one_sentence_answers_what_it_says_and_nothing_else(tmp_path):
    async with running_edge(tmp_path, generator=model("Ann Lee"), memory="off", memory_fast="model") as edge:
        await edge.add("mill.md", "Orrin Mill was built by Ann Lee.")
        assert (await edge.ask(QUESTION))["route"] == "memory+model"
        assert (await edge.ask("Who built Fenlow Mill?"))["route"] != "memory+model"


async def test_which_model_answers_is_looked_at_once_and_again_after_a_while(tmp_path, monkeypatch):
    words = [measured_words(), words_of_another(), measured_words()]
    async with running_edge(
        tmp_path, generator=model("Ann Lee", first_words=lambda: words.pop(0)), memory="off", memory_fast="model"
    ) as edge:
        await edge.add("mill.md", TEXT)
        assert [(await edge.ask(QUESTION))["route"] for _ in range(3)] == ["memory+model"] * 3
        monkeypatch.setattr(Deadline, "left_s", lambda _: 0.0)
        measured = Measured(model("Ann Lee", first_words=lambda: words.pop(0)))
        assert [await measured.certainties(Trace(), Deadline(5)) is None for _ in range(2)] == [True, False]


async def test_a_model_that_cannot_be_asked_which_it_is_is_left_alone_for_a_while(tmp_path):
    def away():
        raise ModelUnavailable("the model server is away")

    generator = model("Ann Lee", first_words=away)
    async with running_edge(tmp_path, generator=generator, memory="off", memory_fast="model") as edge:
        await edge.add("mill.md", TEXT)
        assert {(await edge.ask(QUESTION))["route"] for _ in range(3)} == {"local"}
        assert generator.prompts.count(PROBE) == 1


async def test_a_person_may_set_the_certainty_for_a_model_of_their_own(tmp_path):
    answer = await asked(tmp_path, model("Ann Lee", name="another"), memory_certainty=0.5)
    assert answer["route"] == "memory+model"
