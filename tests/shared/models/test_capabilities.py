"""Refusals in the words of real servers."""

from dataclasses import replace

import pytest

from shared.models.capabilities import Capabilities, Refusal, adapted, is_overflow, plainer
from shared.models.chat_format import request_body
from shared.models.server_errors import refusal_of
from shared.ports import Message, Prompt

ANY = Capabilities()
SYSTEM = {"role": "system", "content": "Be brief."}
BODY = {
    "model": "m",
    "messages": [SYSTEM, {"role": "user", "content": "Who?"}],
    "max_tokens": 96,
    "temperature": 0.7,
    "n": 5,
    "stop": ["\nQuestion:"],
    "seed": 7,
    "logprobs": True,
    "top_logprobs": 10,
    "response_format": {"type": "json_schema"},
}


@pytest.mark.parametrize(
    ("message", "learned"),
    [
        ("'n' : number must be at most 1", {"samples": 1}),
        ("Only n=1 is supported", {"samples": 1}),
        ("n must be between 1 and 4, got 5", {"samples": 4}),
        ("This provider does not support multiple completions.", {"samples": 1}),
        ("property 'n' is unsupported", {"samples": 1}),
        ("`logprobs` is not supported with this model", {"logprobs": False}),
        ("Log probabilities are not available", {"logprobs": False}),
        ("logprobs and top_logprobs are not supported", {"logprobs": False}),
        ("top_logprobs must be less than or equal to 5", {"top_logprobs": 5}),
        ("Invalid value for 'top_logprobs': must be between 0 and 5", {"top_logprobs": 5}),
        ("Input validation error: `top_n_tokens` must be >= 0 and <= 5", {"top_logprobs": 5}),
        ("top_logprobs is not supported", {"top_logprobs": 5}),
        ("Requested sample logprobs of 10, which is greater than max allowed: 5", {"top_logprobs": 5}),
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            {"limit_field": "max_completion_tokens"},
        ),
        ("max_tokens must be at least 128", {"least_tokens": 128}),
        ("max_tokens is too large: 96. This model supports at most 64 completion tokens", {"most_tokens": 64}),
        (
            "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) value is supported.",
            {"temperature": "default"},
        ),
        ("Unsupported parameter: 'stop' is not supported with this model.", {"stop": 0}),
        ("stop sequences are not supported", {"stop": 0}),
        ("Unknown field: seed", {"seed": False}),
        ("seed: Extra inputs are not permitted", {"seed": False}),
        ("response_format of type json_schema is not supported", {"response_format": "json_object"}),
        ("This model does not support structured outputs", {"response_format": "json_object"}),
        ("Invalid schema for response_format 'reply': 'additionalProperties' is required", {"response_format": "json_object"}),
        ("System role not supported", {"instructions": "user"}),
        ("Unknown role: system", {"instructions": "user"}),
        ("'messages[0].role' does not support 'system' with this model, use 'developer'", {"instructions": "developer"}),
        ("Conversation roles must alternate user/assistant/user/assistant/... (no system role)", {"instructions": "user"}),
        ("messages.0.content: Input should be a valid list", {"content_parts": True}),
        ("Got an unknown parameter: seed. Supported parameters are: n, stop, temperature, max_tokens", {"seed": False}),
    ],
)
def test_a_refusal_in_words_changes_the_field_that_it_names(message, learned):
    assert adapted(ANY, Refusal(400, message), BODY) == replace(ANY, **learned)


@pytest.mark.parametrize(
    ("raw", "learned"),
    [
        (b'{"error": {"message": "Unsupported", "param": "seed"}}', {"seed": False}),
        (b'{"detail": [{"type": "extra_forbidden", "loc": ["body", "n"], "msg": "Extra inputs are not permitted"}]}', {"samples": 1}),
        (b'{"error": {"message": "Unsupported value", "param": "messages[0].role"}}', {"instructions": "user"}),
        (b'{"error": {"message": "not here", "param": "response_format.json_schema"}}', {"response_format": "json_object"}),
    ],
)
def test_a_refusal_may_name_its_field_outside_of_its_words(raw, learned):
    assert adapted(ANY, refusal_of(422, raw), BODY) == replace(ANY, **learned)


def test_a_refusal_of_zero_is_no_refusal_of_a_temperature():
    body = BODY | {"temperature": 0.0}
    words = Refusal(422, "`temperature` must be strictly positive")
    assert adapted(ANY, words, body).temperature == "positive"
    assert adapted(replace(ANY, temperature="positive"), words, body | {"temperature": 0.01}).temperature == "default"


def test_a_refusal_of_blank_stops_leaves_the_others():
    body = BODY | {"stop": ["\n", "\nQuestion:"]}
    words = "stop_sequences: each stop sequence must contain non-whitespace"
    learned = adapted(ANY, Refusal(400, words), body)
    assert learned == replace(ANY, blank_stops=False)
    prompt = Prompt((Message("user", "Who?"),), 96, stop=tuple(body["stop"]))
    assert request_body(prompt, model="m", capabilities=learned)["stop"] == ["\nQuestion:"]


def test_a_limit_may_have_a_minimum():
    words = "Invalid 'max_tokens': integer below minimum value. Expected a value >= 16, but got 1 instead."
    assert adapted(ANY, Refusal(400, words), BODY | {"max_tokens": 1}).least_tokens == 16


@pytest.mark.parametrize(
    "message",
    [
        "the prompt holds forbidden words",
        "Invalid API key",
        "An internal system error occurred",
        "the model is overloaded",
        "unknown parameter: top_k",
    ],
)
def test_what_names_no_field_that_was_sent_changes_nothing(message):
    assert adapted(ANY, Refusal(400, message), BODY) is None


def test_only_fields_that_were_sent_count():
    assert adapted(ANY, Refusal(400, "seed and n are not supported"), {"model": "m", "messages": [], "temperature": 0.0}) is None


def test_what_can_be_left_out_ends():
    known, refusal = (
        ANY,
        Refusal(400, "response_format, temperature, stop, seed, logprobs, top_logprobs, n, max_tokens, max_completion_tokens: no"),
    )
    for _ in range(30):
        body = {field: value for field, value in BODY.items() if field != "max_tokens"} | (
            {known.limit_field: 96} if known.limit_field else {}
        )
        learned = adapted(known, refusal, body)
        if learned is None:
            break
        known = learned
    assert (learned, known.limit_field, known.response_format) == (None, "", "prompt")


def test_a_refusal_without_a_reason_is_answered_by_less_and_then_by_the_least():
    less = plainer(ANY, BODY)
    assert (less.samples, less.logprobs, less.seed) == (1, False, True)
    least = plainer(less, {field: BODY[field] for field in ("max_tokens", "temperature", "seed")})
    assert (least.seed, least.temperature, least.response_format) == (False, "default", "prompt")
    assert plainer(least, {"max_completion_tokens": 96}) is None


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
        "Requested tokens (600) exceed context window of 512",
        "the request exceeds the available context size, try increasing it",
        "Input is too long for requested model.",
        "prompt is too long: 213462 tokens > 200000 maximum",
        "Prompt contains 9000 tokens, too large for model with 8192 maximum context length",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 256 `max_new_tokens`",
        "Input validation error: `inputs` must have less than 4000 tokens. Given: 5000",
        "Trying to keep the first 9000 tokens when context the overflows. However, the model is"
        " loaded with context length of only 8192 tokens, which is not enough.",
        "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
        "Requested token count exceeds the model's maximum context length of 8192 tokens.",
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context"
        " length is 4096 tokens and your request has 2104 input tokens (2000 > 4096 - 2104).",
        "prompt too long; exceeded max context length by 5 tokens",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        "Too many input tokens. Max input tokens: 8192, request input token count: 9000",
        "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        "prompt token count of 100000 exceeds the limit of 64000",
        "Your request exceeded model token limit: 262144",
        "Range of input length should be [1, 30720]",
        "Prompt exceeds max length",
        "Request length 9000 is greater than max_seq_len 4096",
        "the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model",
        "too many tokens: total number of tokens in the prompt cannot exceed 4081",
    ],
)
def test_a_context_that_is_too_small_is_known_by_its_words(message):
    assert is_overflow(Refusal(400, message))


def test_a_context_that_is_too_small_is_known_by_its_code():
    raw = b'{"error": {"message": "Current length is 9000", "code": "context_length_exceeded"}}'
    assert is_overflow(refusal_of(400, raw))


@pytest.mark.parametrize(
    "message",
    [
        "n must be 1",
        "max_tokens is too large",
        "temperature is not supported",
        "max_tokens exceeds the output limit of 4096 tokens",
        "max_tokens: 9000 > 8192, which is the maximum allowed number of output tokens",
        "This model supports at most 4096 completion tokens",
        "Input validation error: `max_new_tokens` must be strictly positive",
        "Input validation error: `temperature` must be strictly positive",
        "Expected a string with maximum length 64 for the parameter `user`",
    ],
)
def test_other_refusals_are_no_overflow(message):
    assert not is_overflow(Refusal(400, message))
