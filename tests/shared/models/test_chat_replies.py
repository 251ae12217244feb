"""Ugly replies, without any server."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import ModelReplyError, ModelUnavailable
from shared.models.capabilities import Capabilities
from shared.models.chat_replies import observed, parse_completion, reply_of, stopped
from shared.models.chat_streams import EventLines, TextStream, parse_event
from shared.models.server_errors import error_text, refusal_of, refused_in
from shared.ports import Message, Prompt

ASK = Prompt((Message("user", "Who?"),), max_tokens=8)
PROBE = Prompt((Message("user", "Who?"),), max_tokens=1, top_logprobs=5)
THREE = Prompt(ASK.messages, 8, n=3, temperature=0.7)


def choice(text="yes", *, tokens=None, finish="stop", **more):
    listed = None if tokens is None else {"content": tokens}
    return {"message": {"role": "assistant", "content": text} | more, "finish_reason": finish, "logprobs": listed}


def body(*choices, usage=(7, 3)):
    return json.dumps({"choices": choices, "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}}).encode()


def reply(raw, prompt=ASK, sent=None):
    return reply_of(prompt, sent or prompt, [parse_completion(raw)])


def test_a_whole_reply_is_read():
    read = reply(body(choice("Ada", finish="length")))
    assert (read.texts, read.tokens_in, read.tokens_out, read.truncated) == (("Ada",), 7, 3, (True,))


def test_samples_of_several_requests_are_one_reply_and_what_is_too_many_is_left_out():
    found = reply_of(THREE, THREE, [parse_completion(body(choice("a"))), parse_completion(body(*map(choice, "bcd")))])
    assert (found.texts, found.tokens_in) == (("a", "b", "c"), 14)


def test_one_sample_stands_for_all_where_they_cannot_differ():
    read = reply(body(choice("Ada", finish="length")), Prompt(ASK.messages, 8, n=3))
    assert (read.texts, read.truncated, read.tokens_out) == (("Ada",) * 3, (True,) * 3, 3)


def test_a_sample_without_text_is_left_out_and_all_of_them_are_a_failure():
    assert reply(body(choice("a"), choice(None), choice(" ")), THREE).texts == ("a",)
    with pytest.raises(ModelReplyError, match="gave no text") as caught:
        reply(body(choice(None), choice(""), choice(" ")), THREE)
    assert caught.value.next_step


def test_a_line_that_ends_at_once_may_be_an_answer():
    line = Prompt(ASK.messages, 8, stop=("\n",))
    assert reply(body(choice("")), line).texts == ("",)
    with pytest.raises(ModelReplyError):
        reply(body(choice("", reasoning_content="Hm.")), line)


@pytest.mark.parametrize("finish", ["tool_calls", "content_filter", None])
def test_a_sample_without_text_that_did_not_end_is_named_by_its_reason(finish):
    with pytest.raises(ModelReplyError, match=f"gave no text .finish reason {finish or 'none given'}"):
        reply(body(choice(None, finish=finish)))


def test_listed_tokens_beat_a_usage_that_counts_one_sample_only():
    token = {"token": "a", "logprob": -0.1}
    raw = body(choice(tokens=[token] * 3), choice(tokens=[token] * 4), usage=(7, 3))
    assert reply(raw, Prompt(ASK.messages, 8, n=2, temperature=0.7)).tokens_out == 7


def test_a_texts_probability_is_that_of_all_its_tokens_and_is_unknown_where_one_is_not_known():
    tokens = [{"token": "Ida", "logprob": -0.25}, {"token": " Tarrow", "logprob": -0.5}]
    assert reply(body(choice(tokens=tokens)), PROBE).log_probability == -0.75
    assert reply(body(choice(tokens=[*tokens, {"token": "."}])), PROBE).log_probability is None
    assert reply(body(choice(tokens=[*tokens, {"token": ".", "logprob": math.nan}])), PROBE).log_probability is None
    assert reply(body(choice(tokens=[])), PROBE).log_probability is None
    assert reply(body(choice(tokens=tokens)), ASK).log_probability is None


def test_the_first_tokens_distribution_is_read_and_the_best_of_equal_texts_kept():
    top = [
        {"token": "Yes", "logprob": -0.5},
        {"token": "Yes", "logprob": -0.25},
        {"token": "No", "logprob": None},
        {"token": "Maybe", "logprob": math.inf},
    ]
    assert reply(body(choice(tokens=[{"token": "Yes", "top_logprobs": top}])), PROBE).first_token == {"Yes": -0.25}


def test_a_token_without_alternatives_is_a_distribution_of_one():
    assert reply(body(choice(tokens=[{"token": "Yes", "logprob": -0.1}])), PROBE).first_token == {"Yes": -0.1}


def test_log_probabilities_may_come_in_the_form_of_completions():
    listed = {"tokens": ["Yes"], "token_logprobs": [-0.1], "top_logprobs": [{"Yes": -0.1, "No": -2.0}]}
    raw = json.dumps({"choices": [choice() | {"logprobs": listed}]}).encode()
    assert reply(raw, PROBE).first_token == {"Yes": -0.1, "No": -2.0}


@pytest.mark.parametrize("listed", [None, [], "odd", {"content": "odd"}, {"content": ["odd", {}]}, {"tokens": [1], "token_logprobs": None}])
def test_an_odd_list_of_log_probabilities_is_none(listed):
    raw = json.dumps({"choices": [choice() | {"logprobs": listed}]}).encode()
    assert reply(raw, PROBE).first_token is None


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        [],
        "many",
        {"prompt_tokens": -1},
        {"prompt_tokens": math.nan},
        {"prompt_tokens": 1e30},
        {"prompt_tokens": 10**40},
        {"prompt_tokens": None},
    ],
)
def test_an_odd_usage_counts_nothing(usage):
    raw = json.dumps({"choices": [choice()], "usage": usage}).encode()
    assert (reply(raw).tokens_in, reply(raw).tokens_out) == (0, 0)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "Ada"}, {"type": "text", "text": " Lee"}], "Ada Lee"),
        (["Ada", {"type": "output_text", "text": {"value": " Lee"}}], "Ada Lee"),
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, {"type": "text", "text": "Ada"}], "Ada"),
        ([{"type": "reasoning", "text": "Hm."}, {"type": "image_url"}, {"type": "text", "text": "Ada"}], "Ada"),
        ("Ada \ud83d Lee", "Ada \ufffd Lee"),
    ],
)
def test_a_content_of_any_form_is_a_text(content, text):
    assert reply(body(choice(content))).texts == (text,)


def test_bytes_that_are_no_text_are_replaced():
    assert reply(b'{"choices": [{"message": {"content": "a\xff"}}]}').texts == ("a\ufffd",)


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "thinking"])
def test_thoughts_in_a_field_are_no_answer_and_take_the_distribution_with_them(key):
    tokens = [{"token": "Hm", "logprob": -0.1, "top_logprobs": [{"token": "Hm", "logprob": -0.1}]}]
    found = reply(body(choice("Yes", tokens=tokens, **{key: "Hm."})), PROBE)
    assert (found.texts, found.first_token, found.log_probability) == (("Yes",), None, None)


def test_a_verdict_by_words_is_a_distribution():
    verdict = Prompt(ASK.messages, 1, top_logprobs=5, choices=("yes", "no"))
    sent = Prompt(ASK.messages, 16, n=3, temperature=1.0)
    found = reply(body(choice("Yes."), choice("**Yes**"), choice("No, it does not.")), verdict, sent)
    assert {word: round(math.exp(value), 3) for word, value in found.first_token.items()} == {"yes": 0.667, "no": 0.333}
    assert reply(body(choice("Who knows?"), choice("Hm"), choice("It may.")), verdict, sent).first_token is None


def test_a_text_is_cut_where_it_was_to_stop_for_a_server_that_cannot():
    [sample] = stopped(parse_completion(body(choice("Ada.\nQuestion: Who?", finish="length"))), ["\nQuestion:"]).samples
    assert (sample.text, sample.is_cut) == ("Ada.", False)


@pytest.mark.parametrize("text", ['```json\n{"a": 1}\n```', 'Sure:\n{"a": 1}\nDone.', '{"a": 1}', '```\n{"a": 1}'])
def test_json_is_read_out_of_what_stands_around_it(text):
    assert json.loads(reply(body(choice(text)), Prompt(ASK.messages, 8, schema={"type": "object"})).texts[0]) == {"a": 1}


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
        b'{"choices": [{"message": {"content": 7}}]}',
        b'{"choices": NaN}',
        b'{"choices": "none"}',
        b'{"choices": [null]}',
        b"[" * 100_000,
    ],
)
def test_what_is_not_the_format_is_a_reply_error(raw):
    with pytest.raises(ModelReplyError):
        reply(raw)


@given(st.binary(max_size=200))
def test_no_bytes_end_in_another_error(raw):
    with pytest.raises(ModelReplyError):
        reply(raw)


ASKED = {"n": 5, "logprobs": True}


@pytest.mark.parametrize(
    ("raw", "learned"),
    [
        (body(choice()), Capabilities(doubted_samples=1, doubts_logprobs=True, thinking="")),
        (body(*[choice(tokens=[{"token": "a", "logprob": -1.0}])] * 5), Capabilities(thinking="")),
        (body(*[choice(tokens=[{"token": "a", "logprob": math.nan}])] * 5), Capabilities(doubts_logprobs=True, thinking="")),
        (body(*[choice("<think>a</think>b", tokens=[{"token": "a", "logprob": -1.0}])] * 5), Capabilities(thinking="tags")),
        (body(*[choice("a", reasoning="b", tokens=[{"token": "a", "logprob": -1.0}])] * 5), Capabilities(thinking="apart")),
        (body(*[choice("", finish="length")] * 5), Capabilities(thinking="hidden")),
        (body(*[choice("a", finish="length", tokens=[{"token": "a", "logprob": -1.0}])] * 5), Capabilities()),
    ],
)
def test_a_reply_shows_what_its_server_leaves_out(raw, learned):
    assert observed(Capabilities(), ASKED, parse_completion(raw)) == learned


def test_what_one_reply_leaves_out_is_learned_from_the_second_one():
    short = parse_completion(body(choice()))
    once = observed(Capabilities(), ASKED, short)
    twice = observed(once, ASKED, short)
    assert (twice.samples, twice.logprobs, twice.has_doubts) == (1, False, False)
    whole = parse_completion(body(*[choice(tokens=[{"token": "a", "logprob": -1.0}])] * 5))
    assert observed(once, ASKED, whole) == Capabilities(thinking="")


def test_thoughts_that_were_only_supposed_are_taken_back_by_a_reply_without_any():
    supposed = Capabilities(thinking="hidden")

    def seen(text, *, tokens, finish="stop"):
        raw = body(choice(text, finish=finish), usage=(7, tokens))
        return observed(supposed, {}, parse_completion(raw)).thinking

    assert seen("Ada", tokens=1) == ""
    assert seen("Ada", tokens=300) == "hidden"  # they took the tokens
    assert seen("", tokens=8, finish="length") == "hidden"
    assert seen("Ada", tokens=1, finish="length") == "hidden"
    assert observed(Capabilities(thinking="apart"), {}, parse_completion(body(choice("Ada")))).thinks


def test_a_stop_at_a_line_may_end_a_text_among_its_thoughts():
    raw = body(choice("<think>Hm, the user"))
    assert parse_completion(raw, ends_early=True).samples[0].text == ""
    assert parse_completion(raw).samples[0].text == "<think>Hm, the user"


FAILED = {"finish_reason": "error", "error": {"code": 502, "message": "Provider returned error"}}


def test_a_choice_that_failed_is_no_sample_and_no_lesson():
    found = parse_completion(body(choice("Ada"), choice("") | FAILED))
    assert ([sample.text for sample in found.samples], found.failed) == (["Ada"], 1)
    assert observed(Capabilities(), {"n": 2}, found).doubted_samples is None


def test_a_reply_of_failures_only_is_a_refusal():
    refusal = refused_in(body(choice("") | FAILED))
    assert (refusal.status, refusal.message) == (502, "Provider returned error")
    assert refused_in(body(choice("", finish="error"))).status == 502


# ---------------------------------------------------------------- streams


def event(text, **more):
    return json.dumps({"choices": [{"delta": {"content": text} | more}]})


LAST = json.dumps({"choices": [{"delta": {}, "finish_reason": "stop"}]})
CUT_OFF = LAST.replace("stop", "length")


def streamed(*data, stops=(), thinking=None):
    text = TextStream(stops, thinking)
    return "".join(text.feed(one) for one in data) + text.rest()


def test_an_event_holds_a_piece_of_text():
    assert parse_event('{"choices": [{"delta": {"content": "Ad"}}]}').text == "Ad"


@pytest.mark.parametrize("data", ['{"choices": []}', '{"choices": [{"delta": {"role": "assistant"}}]}', '{"usage": {"prompt_tokens": 3}}'])
def test_an_event_may_hold_no_text(data):
    assert parse_event(data).text == ""


def test_a_broken_event_is_a_reply_error():
    with pytest.raises(ModelReplyError):
        parse_event("{")


def test_an_event_may_tell_of_a_failure():
    with pytest.raises(ModelUnavailable, match="out of memory"):
        parse_event('{"error": {"message": "out of memory"}}')
    with pytest.raises(ModelUnavailable, match="Provider returned error"):
        parse_event(json.dumps({"choices": [{"delta": {"content": ""}} | FAILED]}))


@pytest.mark.parametrize(
    ("raw", "data"),
    [
        (b'data: {"a": 1}\n\n', ['{"a": 1}']),
        (b'data:{"a": 1}\r\n\r\n', ['{"a": 1}']),
        (b': keep-alive\n\nevent: message\nid: 7\ndata: {"a": 1}\n\n', ['{"a": 1}']),
        (b'{"a": 1}\n{"b": 2}', ['{"a": 1}', '{"b": 2}']),
        (b"data: [DONE]", ["[DONE]"]),
    ],
)
def test_the_data_of_a_stream_is_found_however_it_is_written_and_cut(raw, data):
    for size in (1, 3, len(raw)):
        lines = EventLines()
        found = [one for at in range(0, len(raw), size) for one in lines.feed(raw[at : at + size])]
        assert found + lines.rest() == data


@pytest.mark.parametrize(
    "data",
    [
        (event("<th"), event("ink>Hm</think>Ad"), event("a"), "[DONE]"),
        (event("", reasoning_content="Hm"), event("Ada"), LAST),
        (event("Ada"), LAST, json.dumps({"choices": [], "usage": {}})),
        (event("Ada"), event("\nQues"), event("tion: Who?"), event(" More"), LAST),
        (json.dumps({"choices": [{"message": {"content": "Ada"}, "finish_reason": "stop"}]}),),
    ],
)
def test_a_stream_shows_the_answer_alone(data):
    assert streamed(*data, stops=("\nQuestion:",)) == "Ada"


def test_thoughts_without_an_opening_tag_are_known_of_a_model():
    assert streamed(event("Hm. So"), event(" yes</th"), event("ink>\n\nAda"), LAST, thinking="unopened") == "Ada"


def test_thoughts_that_were_taken_for_the_answer_are_taken_back():
    text = TextStream(())
    text.feed(event("Okay, the user asks."))
    with pytest.raises(ModelReplyError, match="without an opening tag"):
        text.feed(event("\n</think>\n\nAda"))
    assert text.thinking == "unopened"


@pytest.mark.parametrize("data", [(event("Ad"),), ()])
def test_a_stream_that_stops_before_its_end_broke_off(data):
    with pytest.raises(ModelReplyError, match="broke off"):
        streamed(*data)


@pytest.mark.parametrize("data", [(LAST,), (event("<think>Hm"), CUT_OFF), (event("", reasoning="Hm"), LAST)])
def test_a_stream_without_an_answer_is_the_models_failure(data):
    with pytest.raises(ModelReplyError, match="the model gave"):
        streamed(*data)


# ---------------------------------------------------------------- failures


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b'{"error": "busy"}', "busy"),
        (b'{"error": {"message": "busy", "code": 3}}', "busy"),
        (b'{"message": "busy"}', "busy"),
        (b'{"detail": "busy"}', "busy"),
        (b'{"detail": [{"loc": ["body", "n"], "msg": "busy"}, {"msg": "tired"}]}', "body.n: busy; tired"),
        (b'{"object": "error", "message": {"detail": [{"msg": "busy"}]}}', "busy"),
        (b'["busy", "tired"]', "busy; tired"),
        (b'"busy"', "busy"),
        (b"busy", "busy"),
        (b"<html><head><title>502</title></head><body><h1>\n Bad  Gateway</h1></body></html>", "Bad Gateway"),
        (b'{"error": {}}', "no reason given"),
        (b"[]", "no reason given"),
        (b"7", "no reason given"),
        (b"", "no reason given"),
        (b"x" * 500, "x" * 200),
        (b"\xff", "\ufffd"),
        (b'{"error": "a \\ud83d b"}', "a \ufffd b"),
        (b"[" * 100_000, "[" * 200),
    ],
)
def test_a_failure_of_any_shape_is_told_on_one_short_line(raw, said):
    assert error_text(raw) == said


@pytest.mark.parametrize(
    ("raw", "fields"),
    [
        (b'{"error": {"message": "no", "param": "max_tokens"}}', ("max_tokens",)),
        (b'{"detail": [{"loc": ["body", "n"], "msg": "no"}]}', ("body.n",)),
        (b'{"error": {"message": "no", "param": null}}', ()),
    ],
)
def test_the_fields_that_a_failure_names_are_known(raw, fields):
    assert refusal_of(400, raw).fields == fields


def test_a_refusal_may_come_with_a_status_of_success():
    assert refused_in(b'{"error": {"message": "no", "code": 422}}').status == 422
    assert refused_in(b'{"error": "no"}').status == 400
    assert refused_in(b'{"choices": [1], "error": "no"}') is None
    assert refused_in(b"<html>") is None
