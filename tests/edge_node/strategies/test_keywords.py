"""Keywords on two levels."""

import pytest

from edge_node.strategies.dgrag.search import Keywords, ModelKeywords, parse_keywords
from shared.models.fake import ScriptedGenerator

QUESTION = "Who built the mill?"


async def test_the_models_two_lists_are_taken():
    model = ScriptedGenerator(lambda prompt: '{"low": ["mill"], "high": ["builder"]}')
    assert await ModelKeywords(model).find(QUESTION) == Keywords(("mill",), ("builder",))


@pytest.mark.parametrize("reply", ["", "[]", "{", '{"low": 3, "high": null}', '{"low": ["", 7]}', "null"])
def test_an_unreadable_reply_leaves_the_question_itself(reply):
    assert parse_keywords(reply, QUESTION) == Keywords((QUESTION,), (QUESTION,))
