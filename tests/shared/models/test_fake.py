"""The fakes keep the ports' promises."""

import numpy as np
import pytest

from shared.errors import ModelReplyError
from shared.models.fake import HashEmbedder, ScriptedGenerator, WordTokenizer
from shared.ports import Message, Prompt

ASK = Prompt((Message("user", "Who runs it?"),), max_tokens=8)


async def test_texts_that_share_words_are_near_and_others_are_not():
    same, near, far = await HashEmbedder(256).embed(["the pump is broken", "the pump is old", "bread needs flour"])
    assert same @ near > 0.6
    assert abs(same @ far) < 0.3


async def test_vectors_are_unit_and_the_same_in_every_process():
    rows = await HashEmbedder().embed(["", "pump", "pump"])
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1, 1])
    assert (rows[1] == rows[2]).all()
    assert HashEmbedder().fingerprint == HashEmbedder().fingerprint != HashEmbedder(32).fingerprint


async def test_no_texts_give_no_rows():
    assert (await HashEmbedder().embed([])).shape == (0, 64)


def test_words_and_signs_are_tokens():
    assert list(WordTokenizer().spans("Ward 7!")) == [(0, 4), (5, 6), (6, 7)]


async def test_one_scripted_text_serves_all_samples_and_the_prompt_is_kept():
    model = ScriptedGenerator(lambda prompt: "Ada Lovelace")
    reply = await model.generate(Prompt(ASK.messages, 8, n=3), deadline_s=1)
    assert (reply.texts, reply.tokens_in, reply.tokens_out) == (("Ada Lovelace",) * 3, 4, 6)
    assert model.prompts[0].n == 3


async def test_a_script_may_answer_each_sample():
    reply = await ScriptedGenerator(lambda prompt: ["a", "b"]).generate(Prompt(ASK.messages, 8, n=2), deadline_s=1)
    assert reply.texts == ("a", "b")


async def test_a_script_with_too_few_texts_fails_as_a_server_would():
    with pytest.raises(ModelReplyError):
        await ScriptedGenerator(lambda prompt: ["a"]).generate(Prompt(ASK.messages, 8, n=2), deadline_s=1)


async def test_the_first_token_is_scripted_for_those_who_ask():
    model = ScriptedGenerator(lambda prompt: "Yes", lambda prompt: {"Yes": -0.1})
    assert (await model.generate(Prompt(ASK.messages, 1, top_logprobs=5), deadline_s=1)).first_token == {"Yes": -0.1}
    assert (await model.generate(ASK, deadline_s=1)).first_token is None


async def test_a_stream_adds_up_to_the_text():
    pieces = [piece async for piece in ScriptedGenerator(lambda prompt: " Ada  Lovelace.\n").stream(ASK, deadline_s=1)]
    assert (len(pieces), "".join(pieces)) == (3, " Ada  Lovelace.\n")
