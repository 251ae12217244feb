"""Words copied from a sentence as the answer to a single fact (FD-RAG §4.3)."""

import math

import pytest

from edge_node.memory.spans import copied, cover, names_are_there, source_of, told
from shared.models.fake import ScriptedGenerator
from shared.records import ChunkId, DocumentId, EdgeId, Evidence
from shared.telemetry.trace import Trace
from shared.text.fence import Fence

QUESTION = "Who opened Merle Quarry?"
SURE = math.log(0.9)


def sentence(text, title=""):
    return Evidence(EdgeId("e"), DocumentId("d"), "d.md", ChunkId("d:0"), (0, len(text)), text, 0.5, title=title)


SAID = [sentence("It was opened in 1881 by Ida Tarrow’s father, John Tarrow.", "Merle Quarry"), sentence("Ida Tarrow was born in Dunmore.")]


def model(span, *, yes=0.8, log_probability=SURE):
    """Copies ``span``; asked whether a sentence states it, it says yes so often."""
    return ScriptedGenerator(
        lambda prompt: "Yes" if prompt.max_tokens == 1 else span,
        lambda _: {"Yes": math.log(yes), "No": math.log(1 - yes)} if yes is not None else {},
        log_probability=log_probability,
    )


async def span_of(generator, question=QUESTION):
    return await copied(generator, question, SAID, Fence("7f3a"), Trace(), deadline_s=5)


async def test_a_span_is_as_sure_as_its_words_its_check_and_its_sentence_are():
    span = await span_of(model("John Tarrow."))
    assert (span.text, span.sentence) == ("John Tarrow", SAID[0])
    assert (span.probability, span.stated, span.cover) == pytest.approx((0.9, 0.8, 1.0))  # the title counts for the sentence
    assert span.certainty == pytest.approx(0.72)


@pytest.mark.parametrize("said", ["none", "None.", "", "...", "Peter Vane", "Merle Quarry", "quarry", "Ida Tarrow was born in Larne"])
async def test_what_no_sentence_has_or_the_question_says_itself_is_no_answer(said):
    generator = model(said)
    assert await span_of(generator) is None
    assert len(generator.prompts) == 1  # and is not checked


async def test_a_sentence_has_a_name_in_the_genitive_too_and_half_a_word_is_none():
    assert source_of("Ida Tarrow", QUESTION, SAID) is SAID[0]
    assert source_of("Tarro", QUESTION, SAID) is None


@pytest.mark.parametrize("silent", [{"log_probability": None}, {"yes": None}])
async def test_a_server_that_tells_no_probabilities_leaves_the_question_to_the_slow_way(silent):
    assert await span_of(model("John Tarrow", **silent)) is None


async def test_rules_and_examples_stand_before_anything_that_differs_so_that_a_server_keeps_them():
    generator = model("John Tarrow")
    await span_of(generator)
    await span_of(generator, "When was Merle Quarry opened?")
    first, second = (generator.prompts[row].messages for row in (0, 2))
    assert first[0] == second[0]
    assert first[0].role == "system"
    assert "Merle Quarry: It was opened" in first[1].content


def test_a_sentence_of_somebody_else_lacks_a_name_of_the_question():
    assert names_are_there(QUESTION, SAID[0])
    assert not names_are_there(QUESTION, SAID[1])
    assert cover(QUESTION, SAID[1]) == 0.0
    assert told(sentence("It closed.\n[2] x", "Mill")) == "Mill: It closed. [2] x"
