"""A learned answer to a question in other words: a whole edge with a scripted model that compares questions."""

import contextlib
import math

import pytest

from edge_node.answering.other_words import candidates, chosen_of
from edge_node.memory.records import Backing, Recalled, Scored
from shared.errors import ModelUnavailable
from shared.models.fake import ScriptedGenerator
from shared.models.fingerprint import PROBE
from tests.support.measured import measured_words, words_of_another
from tests.support.memories import chunk_of, memory_in
from tests.support.running_edge import running_edge

TEXT = "Orrin Mill was built by Ann Lee in 1881. It has 40 looms. The weir beside it is older."
QUESTION, OTHERWISE = "Who built Orrin Mill?", "Orrin Mill was built by who?"
SLOW = "Ann Lee built Orrin Mill [1]."


def model(*, sure=0.9, name="standard", fails=False, said=None, first_words=measured_words):
    """Answers ``SLOW``, and asked whether two questions have one answer, yes as surely as told."""
    told = {"Yes": math.log(sure), "No": math.log(1 - sure)} if said is None else said

    def reply(prompt):
        if fails and compares(prompt):
            raise ModelUnavailable("the model server is away")
        return [SLOW] * prompt.n

    def first_token(prompt):
        return first_words() if prompt == PROBE else told if compares(prompt) else {"Yes": math.log(0.9)}

    return ScriptedGenerator(reply, first_token, name=name)


def compares(prompt):
    return prompt.messages[0].content.startswith("You compare two questions.")


def compared(generator):
    return list(filter(compares, generator.prompts))


async def judge(edge, answer, verdict):
    said = await edge.http.post(f"/v1/queries/{answer['query_id']}/feedback", json={"verdict": verdict})
    return said.json()["outcome"]


@contextlib.asynccontextmanager
async def taught(folder, generator, **settings):
    """An edge that has learned the answer to ``QUESTION``."""
    async with running_edge(folder, generator=generator, **settings) as edge:
        await edge.add("mill.md", TEXT)
        assert await judge(edge, await edge.ask(QUESTION, memory=False, mode="local"), "right") == "learned"
        yield edge


async def asked(folder, generator, *, ask=(), **settings):
    async with taught(folder, generator, **settings) as edge:
        return await edge.ask(OTHERWISE, mode="local", **dict(ask))


async def test_a_learned_answer_is_given_to_other_words_for_two_tokens_and_cited(tmp_path):
    generator = model()
    answer = await asked(tmp_path, generator)
    assert (answer["answer"], answer["route"], answer["answered"]) == (SLOW, "memory+model", True)
    assert answer["citations"][0]["quote"] == "Orrin Mill was built by Ann Lee in 1881."
    assert (answer["memory"]["question"], answer["memory"]["why_not"]) == (QUESTION, "")
    assert [step["step"] for step in answer["trace"]] == ["remember", "which model", "same answer", "same answer"]
    there, back = compared(generator)
    assert (there.max_tokens, back.max_tokens) == (1, 1)
    assert f"First: {QUESTION}\nSecond: {OTHERWISE}" in there.messages[-1].content
    assert f"First: {OTHERWISE}\nSecond: {QUESTION}" in back.messages[-1].content


async def test_one_that_is_called_wrong_silences_the_memory_that_gave_it(tmp_path):
    async with taught(tmp_path, model()) as edge:
        assert await judge(edge, await edge.ask(OTHERWISE, mode="local"), "wrong") == "counted"
        assert (await edge.ask(OTHERWISE, mode="local"))["route"] == "local"


@pytest.mark.parametrize(
    ("generator", "settings"),
    [
        (model(sure=0.7), {}),
        (model(said={"Maybe": -0.1}), {}),
        (model(said={}), {}),
        (model(fails=True), {}),
        (model(name="another"), {}),
        (model(first_words=words_of_another), {}),
        (model(), {"memory_same": 1}),
        (model(), {"memory_threshold": {"learned": 1.5}}),
        (model(), {"memory_fast": "shadow"}),
        (model(), {"ask": {"memory": False}}),
    ],
    ids=[
        "an unsure model",
        "a model that says neither",
        "a server that tells no probabilities",
        "a model that fails once",
        "a model that was not measured",
        "another model behind the measured one's name",
        "a bar that nothing reaches",
        "learned answers that are never given",
        "a shadow",
        "a client that wants no memory",
    ],
)
async def test_all_else_goes_the_slow_way(tmp_path, generator, settings):
    answer = await asked(tmp_path, generator, **settings)
    assert (answer["answer"], answer["route"]) == (SLOW, "local")


async def test_a_bar_of_1_asks_the_model_nothing(tmp_path):
    generator = model(sure=1 - 1e-12)
    assert (await asked(tmp_path, generator, memory_same=1))["route"] == "local"
    assert compared(generator) == []


CHUNK = chunk_of(TEXT)


def found(question, answer, *, cosine=0.9, kind="learned", **backing):
    memory = memory_in(CHUNK, question, answer, kind=kind)
    return Recalled(Scored(memory, cosine, cosine, cosine), Backing((TEXT,), **backing))


WHO = found(QUESTION, "Ann Lee")


@pytest.mark.parametrize(
    "question",
    [
        "By whom was Fenlow Mill built?",
        "By whom was Orrin Mill built in 1871?",
        "By whom was the second Orrin Mill built?",
        "When was Orrin Mill built?",
        "Was Orrin Mill built by Bo Orr?",
        "Who did not build Orrin Mill?",
        "Who built Orrin Mill, Ann Lee?",
    ],
)
def test_another_name_or_number_or_type_is_never_put_to_the_model(question):
    assert candidates(OTHERWISE, [WHO]) == [WHO]
    assert candidates(question, [WHO]) == []


@pytest.mark.parametrize(
    "one",
    [
        found(QUESTION, "Ann Lee", cosine=0.74),
        found(QUESTION, "Ann Lee", kind="template"),
        found(QUESTION, "Ann Lee", bad=1),
        found(QUESTION, "Ann Lee", doubtful=True),
        found(QUESTION, "Ann Lee", barred=True),
        found(QUESTION, "Bo Orr"),  # no sentence says so any more
        found(QUESTION, "Orrin Mill"),
    ],
)
def test_what_is_far_or_not_learned_or_called_wrong_or_doubtful_or_gone_is_no_candidate(one):
    assert candidates(OTHERWISE, [one, WHO]) == [WHO]


def test_where_two_that_the_model_is_sure_of_or_a_rival_answer_otherwise_none_answers():
    year, rival = found("Who built Orrin Mill first?", "Lee in 1881", cosine=0.8), found(OTHERWISE, "weir", kind="template")
    assert chosen_of(OTHERWISE, [(WHO, 0.9), (year, 0.6)], [WHO, year], least=0.8) is WHO
    assert chosen_of(OTHERWISE, [(WHO, 0.9), (year, 0.85)], [WHO, year], least=0.8) is None
    assert chosen_of(OTHERWISE, [(WHO, 0.9)], [WHO, rival], least=0.8) is None
    assert chosen_of(OTHERWISE, [(WHO, None)], [WHO], least=0.0) is None
