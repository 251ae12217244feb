"""Requests as servers take them."""

import json

import pytest

from shared.models.capabilities import Capabilities
from shared.models.chat_format import as_sent, request_body
from shared.ports import Message, Prompt

ASK = Prompt((Message("user", "Who?"),), max_tokens=8)
VERDICT = Prompt((Message("system", "Be brief."), Message("user", "Yes or No?")), max_tokens=1, top_logprobs=10, choices=("yes", "no"))


def test_a_plain_prompt_asks_for_nothing_optional():
    assert request_body(ASK, model="m") == {
        "model": "m",
        "messages": [{"role": "user", "content": "Who?"}],
        "max_tokens": 8,
        "temperature": 0.0,
        "n": 1,
    }


def test_schema_stop_seed_and_distribution_are_passed_on():
    sent = request_body(Prompt(ASK.messages, 8, schema={"type": "object"}, stop=("\n",), seed=4, top_logprobs=5), model="m")
    assert sent["response_format"] == {"type": "json_schema", "json_schema": {"name": "reply", "schema": {"type": "object"}}}
    assert (sent["stop"], sent["seed"], sent["logprobs"], sent["top_logprobs"]) == (["\n"], 4, True, 5)


def test_several_samples_ask_for_their_tokens_so_that_they_can_be_counted():
    sent = request_body(Prompt(ASK.messages, 8, n=5, temperature=0.7), model="m")
    assert (sent["n"], sent["logprobs"], sent["top_logprobs"]) == (5, True, 1)


def test_a_stream_is_one_sample_without_token_lists():
    sent = request_body(Prompt(ASK.messages, 8, n=5), model="m", stream=True)
    assert (sent["n"], sent["stream"], "logprobs" in sent) == (1, True, False)


@pytest.mark.parametrize("temperature", [0.0, 1e-6])
def test_samples_without_chance_are_one(temperature):
    sent = request_body(Prompt(ASK.messages, 8, n=3, temperature=temperature), model="m")
    assert (sent["n"], "logprobs" in sent) == (1, False)


@pytest.mark.parametrize(
    ("known", "left"),
    [
        (Capabilities(samples=1), {"n": None}),
        (Capabilities(logprobs=False), {"logprobs": None, "top_logprobs": None}),
        (Capabilities(top_logprobs=3), {"logprobs": True, "top_logprobs": 3}),
        (Capabilities(top_logprobs=0), {"logprobs": True, "top_logprobs": None}),
        (Capabilities(limit_field="max_completion_tokens"), {"max_tokens": None, "max_completion_tokens": 8}),
        (Capabilities(limit_field=""), {"max_tokens": None, "max_completion_tokens": None}),
        (Capabilities(least_tokens=16), {"max_tokens": 16}),
        (Capabilities(most_tokens=4), {"max_tokens": 4}),
        (Capabilities(temperature="default"), {"temperature": None}),
        (Capabilities(temperature="positive"), {"temperature": 0.01}),
        (Capabilities(stop=0, seed=False), {"stop": None, "seed": None}),
        (Capabilities(thinking="tags"), {"max_tokens": 108, "stop": None}),
        (Capabilities(thinking=""), {"max_tokens": 8, "stop": ["\n"]}),
        (Capabilities(response_format="json_object"), {"response_format": {"type": "json_object"}}),
        (Capabilities(response_format="prompt"), {"response_format": None}),
    ],
)
def test_what_a_server_does_not_take_is_left_out_or_put_otherwise(known, left):
    prompt = Prompt(ASK.messages, 8, schema={"type": "object"}, stop=("\n",), seed=4, top_logprobs=5)
    sent = request_body(prompt, model="m", capabilities=known, samples=1, thinking_tokens=100)
    assert {field: sent.get(field) for field in left} == left


def test_a_schema_that_a_server_cannot_obey_stands_in_the_prompt():
    prompt = Prompt(ASK.messages, 8, schema={"type": "array"})
    [message] = request_body(prompt, model="m", capabilities=Capabilities(response_format="json_object"))["messages"]
    assert message["content"].startswith("Who?\n\n")
    assert '{"type": "array"}' in message["content"]
    assert "JSON" in message["content"]  # which OpenAI's json_object wants to read


@pytest.mark.parametrize(("role", "sent"), [("system", ["system", "user"]), ("developer", ["developer", "user"]), ("user", ["user"])])
def test_instructions_are_said_in_the_role_that_the_server_knows(role, sent):
    messages = request_body(VERDICT, model="m", capabilities=Capabilities(instructions=role))["messages"]
    assert [message["role"] for message in messages] == sent
    assert "Be brief." in messages[0]["content"]
    assert "Yes or No?" in messages[-1]["content"]


def test_content_may_be_sent_in_parts():
    messages = request_body(ASK, model="m", capabilities=Capabilities(content_parts=True))["messages"]
    assert messages == [{"role": "user", "content": [{"type": "text", "text": "Who?"}]}]


def test_half_of_a_surrogate_pair_is_replaced_so_that_the_body_can_be_sent():
    sent = request_body(Prompt((Message("user", "a \ud83d pump"),), 8), model="m")
    assert json.dumps(sent, ensure_ascii=False).encode()
    assert sent["messages"][0]["content"] == "a \ufffd pump"


def test_a_verdict_is_several_short_replies_where_no_distribution_is_listed():
    sent = as_sent(VERDICT, Capabilities(logprobs=False))
    assert (sent.n, sent.temperature, sent.top_logprobs, sent.max_tokens > 1) == (3, 1.0, 0, True)
    assert as_sent(VERDICT, Capabilities()) is VERDICT


def test_a_model_that_thinks_is_asked_for_a_verdict_once():
    sent = as_sent(VERDICT, Capabilities(thinking="apart"))
    assert (sent.n, sent.temperature, sent.top_logprobs) == (1, 0.0, 0)
