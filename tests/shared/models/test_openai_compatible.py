"""The adapter against servers that fail in every way."""

import asyncio
import json
from dataclasses import replace

import httpx2
import pytest

from shared.errors import ModelReplyError, ModelTimeout, ModelUnavailable
from shared.limits import RetryBudget
from shared.models.openai_compatible import OpenAIGenerator
from shared.ports import Message, Prompt

ASK = Prompt((Message("user", "Who?"),), max_tokens=8)
GOOD = {"choices": [{"message": {"content": "Ada"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 5, "completion_tokens": 1}}


class Body(httpx2.AsyncByteStream):
    """Sends its blocks, then hangs or breaks if told so."""

    def __init__(self, *blocks, hang=False, fail=None):
        self.blocks, self.hang, self.fail, self.closed = blocks, hang, fail, False

    async def __aiter__(self):
        for block in self.blocks:
            yield block
        if self.hang:
            await asyncio.Event().wait()
        if self.fail:
            raise self.fail

    async def aclose(self):
        self.closed = True


def generator(handler, **options):
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(handler), base_url="http://model/v1")
    return OpenAIGenerator(http, model="m", retry_wait_s=0.0, **options)


def answers(*responses):
    """Each request gets the next response; the list of requests is kept."""
    left, seen = list(responses), []

    def handler(request):
        seen.append(request)
        return left.pop(0)

    return handler, seen


def event(text):
    return f"data: {json.dumps({'choices': [{'delta': {'content': text}}]})}\n\n".encode()


async def test_a_request_goes_to_the_chat_route_with_the_key():
    handler, seen = answers(httpx2.Response(200, json=GOOD))
    model = generator(handler, api_key="s3cret")
    reply = await model.generate(ASK, deadline_s=5)
    assert (model.name, reply.texts, reply.tokens_in) == ("m", ("Ada",), 5)
    assert (seen[0].method, seen[0].url, seen[0].headers["Authorization"]) == ("POST", "http://model/v1/chat/completions", "Bearer s3cret")


async def test_without_a_key_no_authorization_is_sent():
    handler, seen = answers(httpx2.Response(200, json=GOOD))
    await generator(handler).generate(ASK, deadline_s=5)
    assert "Authorization" not in seen[0].headers


async def test_a_dripping_body_ends_at_the_deadline_and_is_closed():
    body = Body(b'{"cho', hang=True)
    with pytest.raises(ModelTimeout):
        await generator(lambda _: httpx2.Response(200, stream=body)).generate(ASK, deadline_s=0.02)
    assert body.closed


async def test_a_server_that_never_answers_ends_at_the_deadline():
    async def handler(request):
        await asyncio.Event().wait()

    with pytest.raises(ModelTimeout):
        await generator(handler).generate(ASK, deadline_s=0.02)


async def test_no_time_left_is_a_timeout():
    async def handler(request):
        await asyncio.Event().wait()

    with pytest.raises(ModelTimeout):
        await generator(handler).generate(ASK, deadline_s=0)


async def test_a_body_over_the_cap_is_refused_before_it_is_read():
    body = Body(*[b"x" * 600] * 3, hang=True)
    with pytest.raises(ModelReplyError, match="over 1000 bytes"):
        await generator(lambda _: httpx2.Response(200, stream=body), max_reply_bytes=1000).generate(ASK, deadline_s=5)
    assert body.closed


async def test_a_line_that_breaks_is_unavailable():
    body = Body(b'{"cho', fail=httpx2.ReadError("reset"))
    with pytest.raises(ModelUnavailable, match="reset"):
        await generator(lambda _: httpx2.Response(200, stream=body)).generate(ASK, deadline_s=5)


async def test_a_body_that_is_not_the_promised_compression_is_unavailable():
    response = httpx2.Response(200, headers={"Content-Encoding": "gzip"}, stream=Body(b"plain"))
    with pytest.raises(ModelUnavailable):
        await generator(lambda _: response).generate(ASK, deadline_s=5)


async def test_a_server_that_is_down_is_unavailable_with_its_address():
    def handler(request):
        raise httpx2.ConnectError("refused")

    with pytest.raises(ModelUnavailable, match="http://model/v1") as caught:
        await generator(handler).generate(ASK, deadline_s=5)
    assert caught.value.next_step


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_busy_or_failing_server_is_asked_again(status):
    handler, seen = answers(httpx2.Response(status, headers={"Retry-After": "0"}), httpx2.Response(200, json=GOOD))
    assert (await generator(handler).generate(ASK, deadline_s=5)).texts == ("Ada",)
    assert len(seen) == 2


async def test_a_server_that_stays_busy_is_given_up_after_three_requests():
    handler, seen = answers(*[httpx2.Response(503, json={"error": {"message": "Loading model"}})] * 3)
    with pytest.raises(ModelUnavailable, match="Loading model"):
        await generator(handler).generate(ASK, deadline_s=5)
    assert len(seen) == 3


@pytest.mark.parametrize(("schema", "hint"), [({"type": "object"}, True), (None, False)])
@pytest.mark.parametrize(("status", "error"), [(500, ModelUnavailable), (400, ModelReplyError)])
async def test_a_server_that_fails_on_a_schema_is_said_to_need_structured_outputs(status, error, schema, hint):
    handler, _ = answers(*[httpx2.Response(status)] * 3)
    with pytest.raises(error, match="no reason given") as caught:
        await generator(handler).generate(replace(ASK, schema=schema), deadline_s=5)
    assert ("structured outputs" in caught.value.next_step) is hint


async def test_a_wait_beyond_the_deadline_is_not_begun():
    handler, seen = answers(httpx2.Response(429, headers={"Retry-After": "60"}))
    with pytest.raises(ModelUnavailable) as caught:
        await generator(handler).generate(ASK, deadline_s=5)
    assert (len(seen), caught.value.retry_after_s) == (1, 60.0)


async def test_a_date_to_come_back_at_is_kept_too():
    headers = {"Date": "Wed, 21 Oct 2026 07:28:00 GMT", "Retry-After": "Wed, 21 Oct 2026 07:30:00 GMT"}
    handler, seen = answers(httpx2.Response(503, headers=headers))
    with pytest.raises(ModelUnavailable) as caught:
        await generator(handler).generate(ASK, deadline_s=5)
    assert (len(seen), caught.value.retry_after_s) == (1, 120.0)


async def test_a_server_that_names_no_time_leaves_the_wait_to_the_caller():
    with pytest.raises(ModelUnavailable) as caught:
        await generator(lambda _: httpx2.Response(503)).generate(ASK, deadline_s=5)
    assert caught.value.retry_after_s == 0.0


async def test_a_server_is_asked_again_only_while_the_budget_lasts():
    handler, seen = answers(*[httpx2.Response(503)] * 5)
    model = generator(handler, retries=RetryBudget(share=0.0, reserve=1))
    for _ in range(2):
        with pytest.raises(ModelUnavailable):
            await model.generate(ASK, deadline_s=5)
    assert len(seen) == 3


async def test_calls_that_go_well_earn_repeats():
    handler, seen = answers(*[httpx2.Response(200, json=GOOD)] * 5, httpx2.Response(503), httpx2.Response(200, json=GOOD))
    model = generator(handler, retries=RetryBudget(share=0.2, reserve=0))
    for _ in range(6):
        await model.generate(ASK, deadline_s=5)
    assert len(seen) == 7


async def test_an_endless_body_of_small_blocks_ends_at_the_cap():
    class Endless(Body):
        async def __aiter__(self):
            while True:
                yield b" " * 100

    body = Endless()
    with pytest.raises(ModelReplyError, match="over 1000 bytes"):
        await generator(lambda _: httpx2.Response(200, stream=body), max_reply_bytes=1000).generate(ASK, deadline_s=5)
    assert body.closed


@pytest.mark.parametrize("value", ["Wed, 21 Oct 2026 07:28:00 GMT", "-1", "1e9", "", "²"])
async def test_a_strange_retry_after_counts_as_none(value):
    handler, seen = answers(httpx2.Response(429, headers={"Retry-After": value.encode()}), httpx2.Response(200, json=GOOD))
    await generator(handler).generate(ASK, deadline_s=5)
    assert len(seen) == 2


@pytest.mark.parametrize(("status", "asked"), [(500, 3), (502, 3), (504, 3), (302, 1)])
async def test_a_server_that_goes_on_failing_is_unavailable(status, asked):
    handler, seen = answers(*[httpx2.Response(status, text="<h1>oops</h1>")] * 3)
    with pytest.raises(ModelUnavailable, match=str(status)):
        await generator(handler).generate(ASK, deadline_s=5)
    assert len(seen) == asked


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_wrong_key_or_name_is_unavailable_and_the_key_is_not_told(status):
    with pytest.raises(ModelUnavailable) as caught:
        await generator(lambda _: httpx2.Response(status), api_key="s3cret").generate(ASK, deadline_s=5)
    assert "s3cret" not in str(caught.value) + caught.value.next_step


async def test_a_prompt_that_the_server_refuses_is_a_reply_error_with_its_words():
    refusal = httpx2.Response(400, json={"error": {"message": "exceeds the context size"}})
    with pytest.raises(ModelReplyError, match="exceeds the context size"):
        await generator(lambda _: refusal).generate(ASK, deadline_s=5)


async def test_an_endless_error_page_is_not_read_to_its_end():
    body = Body(*[b"x" * 50_000] * 2, hang=True)
    with pytest.raises(ModelUnavailable):
        await generator(lambda _: httpx2.Response(500, stream=body), retries=RetryBudget(reserve=0)).generate(ASK, deadline_s=5)


async def stream_of(*blocks, deadline_s=5, **body):
    sent = Body(*blocks, **body)
    model = generator(lambda _: httpx2.Response(200, stream=sent))
    return [text async for text in model.stream(ASK, deadline_s=deadline_s)]


async def test_a_stream_yields_pieces_and_hides_thinking():
    pieces = await stream_of(event("<thi"), event("nk>Hm</think>Ad"), event("a"), event(""), b"data: [DONE]\n\n")
    assert pieces == ["Ad", "a"]


async def test_events_may_be_cut_anywhere_and_end_with_carriage_returns():
    raw = (b": ping\r\n\r\n" + event("Müll") + event("er < 5 <") + b"data: [DONE]\r\n\r\n").replace(b"\n\n", b"\r\n\r\n")
    assert "".join(await stream_of(*[raw[i : i + 3] for i in range(0, len(raw), 3)])) == "Müller < 5 <"


async def test_a_stream_that_stops_before_its_end_is_a_reply_error():
    with pytest.raises(ModelReplyError, match="broke off"):
        await stream_of(event("Ad"))


async def test_a_stream_that_hangs_ends_at_the_deadline():
    with pytest.raises(ModelTimeout):
        await stream_of(event("Ad"), hang=True, deadline_s=0.02)


async def test_a_reader_that_stops_early_closes_the_stream():
    body = Body(event("Ad"), hang=True)
    pieces = generator(lambda _: httpx2.Response(200, stream=body)).stream(ASK, deadline_s=5)
    assert await anext(pieces) == "Ad"
    await pieces.aclose()
    assert body.closed


async def test_a_busy_server_is_asked_again_for_a_stream():
    handler, seen = answers(httpx2.Response(503), httpx2.Response(200, content=event("Ada") + b"data: [DONE]\n"))
    assert [text async for text in generator(handler).stream(ASK, deadline_s=5)] == ["Ada"]
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("failure", "error", "said"),
    [
        (httpx2.ConnectError("refused"), ModelUnavailable, "no model server at http://model/v1/ (refused)"),
        (httpx2.ReadTimeout("slow"), ModelTimeout, "5.0 s"),
        (httpx2.Response(401), ModelUnavailable, "answers with 401"),
        (httpx2.Response(503), ModelUnavailable, "answers with 503"),
    ],
)
async def test_a_server_is_there_when_it_lists_its_models_and_else_it_is_said_what_is_wrong(failure, error, said):
    handler, seen = answers(httpx2.Response(200, json={"data": []}))
    await generator(handler, api_key="s3cret").reach(deadline_s=5)
    assert (seen[0].url.path, seen[0].headers["authorization"]) == ("/v1/models", "Bearer s3cret")

    def fails(request):
        if isinstance(failure, httpx2.Response):
            return failure
        raise failure

    with pytest.raises(error) as raised:
        await generator(fails).reach(deadline_s=5)
    assert said in str(raised.value)
