import pytest

from edge_node.graph.knowledge_graph import Graph
from edge_node.graph.summaries import extractive_summary, model_description, model_summary
from shared.errors import ModelUnavailable
from shared.models.fake import ScriptedGenerator
from shared.records import ChunkId, Entity

PART = Graph({"ward": Entity("ward", "Ward", "place", "Text.", (ChunkId("d:0"),), 1)}, {})


def answering(text):
    return ScriptedGenerator(lambda prompt: text)


async def test_the_models_sentences_are_the_summary():
    written = await model_summary(answering("It covers wards. They keep pumps. And th"), PART, deadline_s=1)
    assert (written.text, written.by_model) == ("It covers wards. They keep pumps.", True)
    assert written.reply.tokens_out > 0


@pytest.mark.parametrize("text", ["", " \n", "a ward of a ward of a ward of a ward of a ward of a ward of"])
async def test_an_empty_or_circling_reply_falls_back(text):
    written = await model_summary(answering(text), PART, deadline_s=1)
    assert (written.text, written.by_model) == (extractive_summary(PART), False)


async def test_a_summary_keeps_its_limit():
    assert len((await model_summary(answering("One long sentence about many wards."), PART, deadline_s=1, max_chars=20)).text) <= 20


async def test_a_description_falls_back_to_what_fits():
    assert (
        await model_description(answering(""), "Ward", ["It has beds.", "It has pumps."], deadline_s=1)
    ).text == "It has beds. It has pumps."


async def test_a_model_that_is_away_is_an_error_of_the_caller():
    def away(prompt):
        raise ModelUnavailable("away")

    with pytest.raises(ModelUnavailable):
        await model_summary(ScriptedGenerator(away), PART, deadline_s=1)
