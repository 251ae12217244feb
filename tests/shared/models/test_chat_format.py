"""Ugly servers, without any server."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import ModelReplyError, ModelUnavailable
from shared.models.chat_format import ThinkingFilter, error_text, parse_event, parse_reply, request_body, without_thinking
from shared.ports import Message, Prompt

ASK = Prompt((Message("user", "Who?"),), max_tokens=8)
PROBE = Prompt((Message("user", "Who?"),), max_tokens=1, top_logprobs=5)


def choice(text="yes", *, tokens=None, finish="stop"):
    listed = None if tokens is None else {"content": tokens}
    return {"message": {"role": "assistant", "content": text}, "finish_reason": finish, "logprobs": listed}


def body(*choices, usage=(7, 3)):
    return json.dumps({"choices": choices, "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}}).encode()


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


@pytest.mark.parametrize("temperature", [0.0, 1e-6])
def test_samples_without_chance_are_one_that_is_made_once(temperature):
    prompt = Prompt(ASK.messages, 8, n=3, temperature=temperature)
    sent = request_body(prompt, model="m")
    assert (sent["n"], "logprobs" in sent) == (1, False)
    reply = parse_reply(body(choice("Ada", finish="length")), prompt)
    assert (reply.texts, reply.truncated, reply.tokens_out) == (("Ada",) * 3, (True,) * 3, 3)


def test_as_many_samples_as_were_asked_for_or_none():
    with pytest.raises(ModelReplyError, match="gave 2 samples, 3 were asked for"):
        parse_reply(body(choice(), choice()), Prompt(ASK.messages, 8, n=3, temperature=0.7))


def test_a_stream_is_one_sample_without_token_lists():
    sent = request_body(Prompt(ASK.messages, 8, n=5), model="m", stream=True)
    assert (sent["n"], sent["stream"], "logprobs" in sent) == (1, True, False)


def test_a_whole_reply_is_read():
    reply = parse_reply(body(choice("Ada", finish="length")), ASK)
    assert (reply.texts, reply.tokens_in, reply.tokens_out, reply.truncated) == (("Ada",), 7, 3, (True,))


def test_listed_tokens_beat_a_usage_that_counts_one_sample_only():
    token = {"token": "a", "logprob": -0.1}
    raw = body(choice(tokens=[token] * 3), choice(tokens=[token] * 4), usage=(7, 3))
    assert parse_reply(raw, Prompt(ASK.messages, 8, n=2, temperature=0.7)).tokens_out == 7


def test_a_right_usage_beats_an_absent_list():
    assert parse_reply(body(choice(), choice(), usage=(7, 9)), Prompt(ASK.messages, 8, n=2, temperature=0.7)).tokens_out == 9


def test_a_texts_probability_is_that_of_all_its_tokens_and_is_unknown_where_one_is_not_told():
    tokens = [{"token": "Ida", "logprob": -0.25}, {"token": " Tarrow", "logprob": -0.5}]
    assert parse_reply(body(choice(tokens=tokens)), PROBE).log_probability == -0.75
    assert parse_reply(body(choice(tokens=[*tokens, {"token": "."}])), PROBE).log_probability is None
    assert parse_reply(body(choice(tokens=[])), PROBE).log_probability is None
    assert parse_reply(body(choice(tokens=tokens)), ASK).log_probability is None


def test_the_first_tokens_distribution_is_read_and_the_best_of_equal_texts_kept():
    top = [{"token": "Yes", "logprob": -0.5}, {"token": "Yes", "logprob": -0.25}, {"token": "No", "logprob": None}]
    raw = body(choice(tokens=[{"token": "Yes", "top_logprobs": top}]))
    assert parse_reply(raw, PROBE).first_token == {"Yes": -0.25}


@pytest.mark.parametrize("tokens", [None, [], [{"token": "a"}]])
def test_a_server_without_distributions_gives_none(tokens):
    assert parse_reply(body(choice(tokens=tokens)), PROBE).first_token is None


def test_a_missing_usage_counts_nothing():
    reply = parse_reply(json.dumps({"choices": [choice()]}).encode(), ASK)
    assert (reply.tokens_in, reply.tokens_out) == (0, 0)


def test_a_usage_of_null_counts_nothing():
    reply = parse_reply(json.dumps({"choices": [choice()], "usage": None}).encode(), ASK)
    assert (reply.tokens_in, reply.tokens_out) == (0, 0)


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_a_sample_that_was_all_thinking_is_an_empty_text(finish):
    assert parse_reply(body(choice(None, finish=finish)), ASK).texts == ("",)


@pytest.mark.parametrize("finish", ["tool_calls", "content_filter", None])
def test_a_sample_without_text_that_did_not_end_is_a_reply_error(finish):
    with pytest.raises(ModelReplyError, match="gave no text"):
        parse_reply(body(choice(None, finish=finish)), ASK)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"null",
        b"[]",
        b"<html>bad gateway</html>",
        b'{"choices": [{"message": {"content": "half',
        b'{"choices": []}',
        b'{"usage": {}}',
        b'{"choices": [{"message": {"content": null}}]}',
        b'{"choices": [{"message": {}}]}',
        b'{"choices": [{"text": "old format"}]}',
        b'{"choices": [{"message": {"content": ["a"]}}]}',
        b'{"choices": [{"message": {"content": "a"}}], "usage": {"prompt_tokens": -1}}',
        b'{"choices": [{"message": {"content": "a"}}], "usage": {"prompt_tokens": NaN}}',
        b'{"choices": [{"message": {"content": "a"}}], "usage": {"prompt_tokens": 1e30}}',
        b'{"choices": [{"message": {"content": "a"}}], "usage": {"completion_tokens": 1' + b"0" * 40 + b"}}",
        b'{"choices": NaN}',
        b'{"choices": "none"}',
        b'{"choices": [null]}',
        b'{"choices": [{"message": {"content": "\xff"}}]}',
        b'{"choices": [{"message": {"content": "\\ud800"}}]}',
        body(choice(tokens=[{"token": "a", "top_logprobs": [{"token": "a", "logprob": float("nan")}]}])),
        body(choice(), choice()),
        b"[" * 100_000,
    ],
)
def test_what_is_not_the_format_is_a_reply_error(raw):
    with pytest.raises(ModelReplyError):
        parse_reply(raw, ASK)


@given(st.binary(max_size=200))
def test_no_bytes_end_in_another_error(raw):
    with pytest.raises(ModelReplyError):
        parse_reply(raw, ASK)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("plain", "plain"),
        ("<think>Hm.\nHm.</think>\n\nYes", "Yes"),
        ("Hm.</think>Yes", "Yes"),
        ("Yes<think>cut off", "Yes"),
        ("<think>a</think>b<think>c</think>d", "bd"),
        ("a < b and b > c", "a < b and b > c"),
    ],
)
def test_thinking_is_removed(text, left):
    assert without_thinking(text) == left


@given(st.lists(st.sampled_from(["<think>", "</think>", "<", "think", ">", "a ", "</"]), max_size=12), st.data())
def test_a_text_in_pieces_shows_what_the_whole_shows(parts, data):
    whole = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    in_pieces, at_once = ThinkingFilter(), ThinkingFilter()
    assert "".join(map(in_pieces.feed, pieces)) + in_pieces.rest() == at_once.feed(whole) + at_once.rest()


def test_an_event_holds_a_piece_of_text():
    assert parse_event('{"choices": [{"delta": {"content": "Ad"}}]}') == "Ad"


@pytest.mark.parametrize("data", ['{"choices": []}', '{"choices": [{"delta": {"role": "assistant"}}]}', '{"usage": {"prompt_tokens": 3}}'])
def test_an_event_may_hold_no_text(data):
    assert parse_event(data) == ""


def test_a_broken_event_is_a_reply_error():
    with pytest.raises(ModelReplyError):
        parse_event("{")


def test_an_event_may_tell_of_a_failure():
    with pytest.raises(ModelUnavailable, match="out of memory"):
        parse_event('{"error": {"message": "out of memory"}}')


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b'{"error": "busy"}', "busy"),
        (b"<h1>\n 502</h1>", "<h1> 502</h1>"),
        (b"", "no reason given"),
        (b"x" * 500, "x" * 200),
        (b"\xff", "�"),
    ],
)
def test_a_failure_is_told_on_one_short_line(raw, said):
    assert error_text(raw) == said
