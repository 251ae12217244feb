"""Keywords on two levels."""

import asyncio

import pytest

from edge_node.strategies.dgrag.search import Keywords, ModelKeywords, parse_keywords
from shared.models.fake import ScriptedGenerator
from shared.telemetry.trace import Trace

QUESTION = "Who built the mill?"


async def test_the_models_two_lists_are_taken_and_the_call_counts_in_the_step_that_is_under_way():
    model = ScriptedGenerator(lambda prompt: '{"low": ["mill"], "high": ["builder"]}')
    trace = Trace()
    with trace.step("retrieve"):
        assert await asyncio.create_task(ModelKeywords(model).find(QUESTION)) == Keywords(("mill",), ("builder",))
    assert [(step.step, step.calls) for step in trace.steps()] == [("retrieve", 1)]


@pytest.mark.parametrize("reply", ["", "[]", "{", '{"low": 3, "high": null}', '{"low": ["", 7]}', "null"])
def test_an_unreadable_reply_leaves_the_question_itself(reply):
    assert parse_keywords(reply, QUESTION) == Keywords((QUESTION,), (QUESTION,))
