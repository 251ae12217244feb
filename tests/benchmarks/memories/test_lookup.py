"""The measurement itself, at a size at which it says nothing."""

from benchmarks.memories.lookup import measured
from benchmarks.stand_ins import InstantEmbedder, Models


async def test_every_question_that_is_remembered_is_answered_and_no_other_is(tmp_path):
    found = await measured(200, 20, tmp_path, InstantEmbedder(Models()))
    assert (found["memories"], found["remembered"]["answered"], found["not_remembered"]["answered"]) == (200, 1.0, 0.0)
    assert found["remembered"]["late"] == found["not_remembered"]["late"] == 0
