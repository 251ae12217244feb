"""The client of an edge against a server of this process: what it sends, what it repeats, and how errors come out."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from functools import partial
from types import SimpleNamespace

import httpx2
import pytest

from shared.client import (
    AsyncClient,
    BadReply,
    BadRequest,
    Client,
    Conflict,
    DeadlinePassed,
    Forbidden,
    InputError,
    NotBuilt,
    NotFound,
    Receipt,
    ServiceError,
    SettingsError,
    TooMany,
    Unauthenticated,
    Unavailable,
    Unreachable,
)
from shared.limits import Deadline

EDGE = "http://127.0.0.1:9"
BUSY = {"title": "Too Many Requests", "detail": "this key asks too fast", "code": "overloaded", "next_step": "wait", "request": "c0ffee"}
RECEIPT = {"document_id": "d1", "job_id": "j1"}


class Edge:
    """Answers one after the other; an exception is raised. Keeps the requests."""

    def __init__(self, *answers):
        self.answers, self.requests = list(answers), []

    def __call__(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, httpx2.Response):
            return answer
        raise answer("broken", request=request)


@pytest.fixture
def waits(monkeypatch):
    """How long the client waits, which nobody does here."""
    waited = []

    async def wait(seconds):
        waited.append(seconds)

    monkeypatch.setattr("shared.client.clients.time.sleep", waited.append)
    monkeypatch.setattr("shared.client.clients.asyncio.sleep", wait)
    return waited


def client(edge, **options):
    return Client(EDGE, http=httpx2.Client(base_url=EDGE, transport=httpx2.MockTransport(edge)), **options)


def awaited(edge):
    return AsyncClient(EDGE, http=httpx2.AsyncClient(base_url=EDGE, transport=httpx2.MockTransport(edge)))


def ready():
    return httpx2.Response(200, json={"ready": True})


def busy(after="2", status=429):
    return httpx2.Response(status, json=BUSY, headers={"Retry-After": after})


def test_a_call_that_may_be_repeated_waits_as_long_as_the_edge_asks_for_and_by_chance_somewhat_more(waits):
    assert client(Edge(busy("2"), busy("7"), ready())).health().ready
    assert (2 < waits[0] < 3, 7 < waits[1] < 8, len(waits)) == (True, True, 2)


async def test_the_other_client_waits_as_long(waits):
    assert (await awaited(Edge(busy("2"), httpx2.ConnectError, ready())).health()).ready
    assert 2 < waits[0] < 3
    assert 0 < waits[1] < 1


@pytest.mark.parametrize(
    "call",
    [
        lambda edge: edge.ask("Why?"),
        lambda edge: edge.overview("Why?"),
        lambda edge: edge.retrieve("Why?", mode="cloud"),
        lambda edge: edge.feedback("q", right=True),
        lambda edge: edge.delete_document("d"),
    ],
)
def test_what_would_happen_twice_is_not_repeated(waits, call):
    edge = Edge(busy(), ready())
    with pytest.raises(TooMany) as caught:
        call(client(edge))
    assert (len(edge.requests), waits, caught.value.retry_after_s) == (1, [], 2.0)


def test_a_document_is_sent_again_for_the_same_bytes_are_a_duplicate(waits):
    edge = Edge(httpx2.ReadError, busy(), httpx2.Response(202, json=RECEIPT))
    assert client(edge).add_document("a.pdf", b"%PDF", labels=["public", "x"]) == Receipt("d1", "j1")
    assert all(b"%PDF" in request.content and b"public,x" in request.content for request in edge.requests)


def test_a_label_with_a_comma_does_not_become_two_in_a_form():
    with pytest.raises(InputError, match="the label 'ward 7, night' has a comma"):
        client(Edge()).add_document("a.md", b"A pump.", labels=["public", "ward 7, night"])


def test_after_the_last_try_the_error_of_the_edge_comes_out(waits):
    edge = Edge(*[busy("1")] * 9)
    with pytest.raises(TooMany, match="asks too fast"):
        client(edge, retries=2).status()
    assert (len(edge.requests), len(waits)) == (3, 2)


def test_nobody_waits_beyond_the_deadline(waits):
    edge = Edge(*[busy("60")] * 2)
    with pytest.raises(TooMany):
        client(edge, deadline_s=30).status()
    with pytest.raises(TooMany):
        client(edge).within(59).status()
    assert (len(edge.requests), waits) == (2, [])
    with pytest.raises(DeadlinePassed):
        client(edge, deadline_s=0).status()


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadRequest),
        (401, Unauthenticated),
        (403, Forbidden),
        (404, NotFound),
        (409, Conflict),
        (413, BadRequest),
        (422, BadRequest),
        (429, TooMany),
        (501, NotBuilt),
        (503, Unavailable),
        (500, ServiceError),
        (418, ServiceError),
    ],
)
def test_an_error_of_the_edge_is_a_type_with_its_words(status, kind):
    with pytest.raises(ServiceError) as caught:
        client(Edge(httpx2.Response(status, json=BUSY)), retries=0).status()
    error = caught.value
    assert type(error) is kind
    assert (error.message, error.status, error.code) == ("this key asks too fast", status, "overloaded")
    assert (error.next_step, error.title, error.request) == ("wait", "Too Many Requests", "c0ffee")


@pytest.mark.parametrize(
    "answer", [httpx2.Response(200, text="<html>"), httpx2.Response(200, json=[1]), httpx2.Response(502, text="proxy")]
)
def test_what_is_no_reply_of_an_edge_is_told_so(answer):
    with pytest.raises(BadReply, match="does not answer"):
        client(Edge(answer), retries=0).status()


def test_a_line_that_breaks_is_told_with_its_address(waits):
    with pytest.raises(Unreachable, match=r"nothing answers at http://127\.0\.0\.1:9/v1/status"):
        client(Edge(*[httpx2.ConnectError] * 4)).status()
    assert len(waits) == 3
    with pytest.raises(Unreachable, match="no answer in time"):
        next(client(Edge(httpx2.ReadTimeout)).ask_stream("Why?"))


def events(*told):
    content = "".join(f"event: {kind}\ndata: {json.dumps(data)}\n\n" for kind, data in told)
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=content)


async def test_an_error_within_a_stream_and_a_stream_that_is_cut_are_errors():
    late = events(("text", "Pumps"), ("error", {"code": "model_timeout", "detail": "the model is late"}))
    with pytest.raises(ServiceError, match="the model is late"):
        list(client(Edge(late)).ask_stream("Why?"))
    with pytest.raises(BadReply, match="half-way"):
        [news async for news in awaited(Edge(events(("text", "Pumps"), ("hint", 1)))).ask_stream("Why?")]
    with pytest.raises(TooMany):
        list(client(Edge(busy())).overview_stream("Why?"))


class Talk(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A stream that says the same for ever; with it the time goes by."""

    def __init__(self, said, clock):
        self.said, self.clock, self.closed = said, clock, False

    def __iter__(self):
        while True:
            self.clock.now += 3
            yield self.said

    async def __aiter__(self):
        for piece in self:
            yield piece

    def close(self):
        self.closed = True

    async def aclose(self):
        self.closed = True


class Silence(Talk):
    async def __aiter__(self):
        await asyncio.Event().wait()
        yield self.said


@pytest.fixture
def clock(monkeypatch):
    """The clock of the client's deadlines."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("shared.client.clients.Deadline", partial(Deadline, now=lambda: clock.now))
    return clock


@pytest.mark.parametrize("said", [b'event: text\ndata: "pump"\n\n', b": ping\n\n", b"event: hint\ndata: 1\n\n"])
async def test_an_edge_that_talks_for_ever_is_left_at_the_deadline(clock, said):
    talks = [Talk(said, clock), Talk(said, clock)]
    waiting, awaiting = (httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=talk) for talk in talks)
    with pytest.raises(DeadlinePassed, match=r"20\.0 s"):
        list(client(Edge(waiting)).within(20).ask_stream("Why?"))
    assert clock.now == 21
    with pytest.raises(DeadlinePassed):
        [news async for news in awaited(Edge(awaiting)).within(20).ask_stream("Why?")]
    assert [talk.closed for talk in talks] == [True, True]


async def test_an_edge_that_is_silent_within_a_stream_is_left_at_the_deadline_where_it_is_awaited():
    silence = httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Silence(b"", None))
    with pytest.raises(DeadlinePassed):
        [news async for news in awaited(Edge(silence)).within(0.01).ask_stream("Why?")]


@pytest.mark.parametrize("told", [("step", {"name": 1}), ("answer", {"answer": "Pumps"}), ("answer", None)])
async def test_an_event_of_another_form_is_a_bad_reply(told):
    with pytest.raises(BadReply, match=f"the event '{told[0]}' is not as agreed"):
        list(client(Edge(events(told))).ask_stream("Why?"))
    with pytest.raises(BadReply):
        [news async for news in awaited(Edge(events(told))).ask_stream("Why?")]


def shown(edge, **options):
    """The credentials of a client."""
    with Client(edge, **options) as made:
        auth = made._http.auth
    return None if auth is None else next(auth.auth_flow(httpx2.Request("GET", edge))).headers["authorization"]


def test_the_key_comes_from_the_argument_or_the_environment(monkeypatch):
    monkeypatch.delenv("DGRAG_API_KEY", raising=False)
    assert shown(EDGE) is None
    monkeypatch.setenv("DGRAG_API_KEY", "dgk_env")
    assert (shown(EDGE), shown(EDGE, api_key="dgk_own"), shown(EDGE, api_key="")) == ("Bearer dgk_env", "Bearer dgk_own", None)


def test_the_key_does_not_travel_in_clear_and_an_address_is_one():
    with pytest.raises(SettingsError, match="in clear"):
        Client("http://edge.example.org", api_key="dgk_own").status()
    with pytest.raises(SettingsError, match="no URL"):
        Client("edge.example.org")
    with pytest.raises(InputError, match="title"):
        Client(EDGE).add_document("a.pdf", b"%PDF", title="A")


def test_one_client_serves_many_threads():
    edge = Edge(*[ready() for _ in range(16)])

    async def many():
        made = client(edge)
        return await asyncio.gather(*(asyncio.to_thread(made.health) for _ in range(16)))

    assert all(one.ready for one in asyncio.run(many()))


def test_a_client_brings_nothing_of_a_service():
    heavy = ("torch", "spacy", "fastapi", "starlette", "igraph", "numpy", "onnxruntime", "edge_node", "cloud_server", "langchain_core")
    seen = f"import sys, shared.client; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True).stdout.strip() == "[]"
