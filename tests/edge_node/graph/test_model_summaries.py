import pytest

from edge_node.graph.knowledge_graph import Graph
from edge_node.graph.summaries import described, extractive_summary, summarised
from shared.ports import Reply
from shared.records import ChunkId, Entity

PART = Graph({"ward": Entity("ward", "Ward", "place", "Text.", (ChunkId("d:0"),), 1)}, {})


def saying(text):
    return Reply((text,), tokens_in=1, tokens_out=1)


def test_the_models_sentences_are_the_summary():
    assert summarised(saying("It covers wards. They keep pumps. And th"), PART) == "It covers wards. They keep pumps."


@pytest.mark.parametrize("text", ["", " \n", "a ward of a ward of a ward of a ward of a ward of a ward of"])
def test_an_empty_or_circling_reply_falls_back(text):
    assert summarised(saying(text), PART) == summarised(None, PART) == extractive_summary(PART)


def test_a_summary_keeps_its_limit():
    assert len(summarised(saying("One long sentence about many wards."), PART, max_chars=20)) <= 20


def test_a_description_falls_back_to_what_fits():
    assert described(saying(""), ["It has beds.", "It has pumps."]) == "It has beds. It has pumps."
