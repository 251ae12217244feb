"""The edge's client of the cloud: whatever the cloud does, it is CloudUnavailable or CloudRefused."""

import asyncio

import httpx
import pytest

from edge_node.link.cloud_client import MAX_BODY_BYTES, CloudClient, cloud_http
from shared.errors import CloudRefused, CloudUnavailable, Unsendable
from shared.records import Summary, SummaryDelta


def client(handler):
    return CloudClient(httpx.AsyncClient(transport=httpx.MockTransport(handler), base_url="http://cloud"), "ward")


class Dripping(httpx.AsyncByteStream):
    """A body that never ends."""

    async def __aiter__(self):
        while True:
            yield b" "
            await asyncio.sleep(0.005)


class Endless(httpx.AsyncByteStream):
    """A body without an end, as fast as it can be read."""

    async def __aiter__(self):
        while True:
            yield b"x" * 2**20


@pytest.mark.parametrize(
    "response",
    [
        httpx.Response(503),
        httpx.Response(200, content=b"not json"),
        httpx.Response(200, json={"edge": "ward", "version": "many"}),
        httpx.Response(200, json=[]),
    ],
)
async def test_a_cloud_that_fails_or_babbles_is_unavailable(response):
    with pytest.raises(CloudUnavailable):
        await client(lambda request: response).enrol()


async def test_a_cloud_that_says_no_is_quoted_with_its_reason():
    problem = httpx.Response(409, json={"code": "resync", "detail": "send a snapshot"})
    with pytest.raises(CloudRefused, match="send a snapshot") as caught:
        await client(lambda request: problem).enrol()
    assert (caught.value.status, caught.value.reason) == (409, "resync")


async def test_a_refusal_without_a_problem_document_is_a_refusal_still():
    with pytest.raises(CloudRefused):
        await client(lambda request: httpx.Response(404, content=b"<html>")).enrol()


async def test_a_dripping_cloud_is_cut_at_the_total_deadline():
    with pytest.raises(CloudUnavailable, match="no answer"):
        await client(lambda request: httpx.Response(200, stream=Dripping())).enrol(deadline_s=0.05)


async def test_an_endless_body_is_cut_at_the_byte_cap():
    with pytest.raises(CloudUnavailable, match=str(MAX_BODY_BYTES)):
        await client(lambda request: httpx.Response(200, stream=Endless())).enrol()


async def test_every_call_tells_its_remaining_time():
    seen = []

    def handler(request):
        seen.append(request.headers["deadline-ms"])
        return httpx.Response(200, json={"edge": "ward", "epoch": "", "version": 0})

    await client(handler).enrol(deadline_s=2.5)
    assert seen == ["2500"]


async def test_what_is_not_of_the_agreed_form_is_not_sent_and_not_quoted():
    empty = SummaryDelta("e1", 0, 1, (Summary("s1", "", 1, 0),), ())
    with pytest.raises(Unsendable, match="text"):
        await client(lambda request: httpx.Response(200)).push(empty)
    with pytest.raises(Unsendable) as caught:
        await client(lambda request: httpx.Response(200)).ask("secret" * 1000, query_id="q", deadline_s=1)
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    ("url", "through_proxy"), [("http://127.0.0.1:8099", False), ("http://[::1]:1", False), ("http://cloud.site", True)]
)
async def test_a_cloud_on_this_machine_is_not_asked_through_a_proxy(url, through_proxy):
    async with cloud_http(url) as http:
        assert http.trust_env is through_proxy
