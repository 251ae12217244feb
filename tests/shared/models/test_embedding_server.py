"""The client of ``/v1/embeddings``: against a transport that answers as told, and against an edge's own route."""

import json

import httpx2
import numpy as np
import pytest

from shared.errors import ModelReplyError, ModelTimeout, ModelUnavailable
from shared.models import embedding_server as module
from shared.models.build import build_former, is_same_model, made_by
from shared.models.embedding_server import EmbeddingServer, probe_of, vectors_of
from shared.models.fake import HashEmbedder
from shared.models.settings import ModelSettings
from shared.ports import embed_questions
from tests.support.running_edge import running_edge

PROBE = np.eye(1, 3, dtype=np.float32)[0]


def answer(texts, *, turned=False):
    data = [{"index": row, "embedding": [1.0, float(len(text)), 0.0]} for row, text in enumerate(texts)]
    return httpx2.Response(200, json={"data": data[::-1] if turned else data})


class Server:
    """Answers with what ``replies`` says first, then as it should; keeps what it was asked."""

    def __init__(self, *replies):
        self.replies, self.asked = list(replies), []

    def __call__(self, request):
        body = json.loads(request.content)
        self.asked.append((body, request.headers.get("authorization")))
        reply = self.replies.pop(0) if self.replies else answer(body["input"], turned=True)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def client(self, **options):
        http = httpx2.AsyncClient(base_url="http://embed/v1", transport=httpx2.MockTransport(self))
        return EmbeddingServer(http, **({"model": "m", "probe": PROBE} | options))


@pytest.fixture(autouse=True)
def no_waits(monkeypatch):
    monkeypatch.setattr(module, "RETRY_WAIT_S", 0.0)


async def test_texts_go_in_batches_with_key_and_prefix_and_come_back_in_their_order():
    server = Server()
    client = server.client(api_key="k", question="query: ", passage="passage: ", batch=2)
    rows = await client.embed(["a", "bb", "ccc"])
    assert np.allclose(rows[:, 1] / rows[:, 0], [10, 11, 12])
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    await embed_questions(client, ["who?"])
    assert [body["input"] for body, _ in server.asked] == [["passage: a", "passage: bb"], ["passage: ccc"], ["query: who?"]]
    assert {key for _, key in server.asked} == {"Bearer k"}
    assert len(await client.embed([])) == 0


async def test_a_busy_server_is_asked_again_and_one_that_stays_so_is_told_as_unavailable():
    busy = httpx2.Response(503, json={"error": {"message": "loading"}}, headers={"Retry-After": "0"})
    assert len(await Server(busy, busy).client().embed(["a"])) == 1
    with pytest.raises(ModelUnavailable, match="loading"):
        await Server(*[busy] * 3).client().embed(["a"])


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (httpx2.Response(400, json={"error": {"message": "too long"}}), ModelReplyError),
        (httpx2.Response(401), ModelUnavailable),
        (httpx2.Response(404), ModelUnavailable),
        (httpx2.ConnectError("refused"), ModelUnavailable),
        (httpx2.ReadTimeout("late"), ModelTimeout),
        (httpx2.Response(200, text="<html>"), ModelReplyError),
        (httpx2.Response(200, json={"data": []}), ModelReplyError),
        (httpx2.Response(200, json={"data": [{"index": 0, "embedding": [0.0, 0.0, 0.0]}]}), ModelReplyError),
        (httpx2.Response(200, json={"data": [{"index": 0, "embedding": [1.0, 0.0]}]}), ModelReplyError),
        (httpx2.Response(200, json={"data": [{"index": 0, "embedding": [1e300, 0.0, "x"]}]}), ModelReplyError),
    ],
)
async def test_what_cannot_be_used_is_an_error_of_the_right_kind(reply, error):
    with pytest.raises(error):
        await Server(reply).client().embed(["a"])


class Endless(httpx2.AsyncByteStream, httpx2.SyncByteStream):
    """A body without end; counts the bytes that were read of it, and knows whether it was closed."""

    def __init__(self):
        self.read, self.closed = 0, False

    def __iter__(self):
        while True:
            self.read += 1000
            yield b" " * 1000

    async def __aiter__(self):
        for piece in self:
            yield piece

    def close(self):
        self.closed = True

    async def aclose(self):
        self.closed = True


@pytest.mark.parametrize("status", [200, 400])
async def test_an_answer_without_end_is_read_up_to_the_bound_and_no_further(status, monkeypatch):
    monkeypatch.setattr(module, "MAX_REPLY_BYTES", 5_500)
    of_texts, of_probe = Endless(), Endless()
    with pytest.raises(ModelReplyError, match="over 5500 bytes"):
        await Server(httpx2.Response(status, stream=of_texts)).client().embed(["a"])
    probing = httpx2.MockTransport(Server(httpx2.Response(status, stream=of_probe)))
    with httpx2.Client(base_url="http://embed/v1", transport=probing) as http, pytest.raises(ModelReplyError, match="over 5500 bytes"):
        probe_of(http, model="m")
    assert [(each.read, each.closed) for each in (of_texts, of_probe)] == [(6_000, True)] * 2


def test_vectors_may_come_as_base64():
    raw = json.dumps({"data": [{"index": 0, "embedding": "AACAPw=="}]}).encode()
    assert vectors_of(raw, rows=1).tolist() == [[1.0]]


def test_the_fingerprint_names_the_model_and_tells_prefixes_apart():
    plain, e5 = Server().client().fingerprint, Server().client(question="query: ").fingerprint
    assert plain.startswith("m/3/")
    assert e5.startswith("m+")
    assert e5.endswith(plain.removeprefix("m"))


def test_a_probe_waits_for_a_server_that_starts_and_not_for_a_wrong_key(monkeypatch):
    server = Server(httpx2.ConnectError("refused"), httpx2.Response(503))
    with httpx2.Client(base_url="http://embed/v1", transport=httpx2.MockTransport(server)) as http:
        assert probe_of(http, model="m").shape == (3,)
    with (
        httpx2.Client(base_url="http://embed/v1", transport=httpx2.MockTransport(Server(httpx2.Response(400)))) as http,
        pytest.raises(ModelReplyError),
    ):
        probe_of(http, model="m")


def test_noise_of_a_server_is_no_other_model_and_another_prefix_or_vector_is():
    settings = ModelSettings(embedder="m", embedder_url="http://a/v1")

    def told(settings, *numbers):
        probe = np.array(numbers, dtype=np.float32)
        return made_by(settings, Server().client(probe=probe / np.linalg.norm(probe)))

    one = told(settings, 1.0, 0.0, 0.0)
    assert is_same_model(one, told(ModelSettings(embedder="m", embedder_url="http://b/v1"), 1.0, 0.01, 0.0))
    assert not is_same_model(one, told(settings, 1.0, 0.3, 0.0))
    assert not is_same_model(one, told(settings.model_copy(update={"embedder_passage_prefix": "passage: "}), 1.0, 0.0, 0.0))
    assert not is_same_model(one, "")


def test_the_key_of_one_server_is_not_sent_to_a_former_one(monkeypatch):
    built = []
    monkeypatch.setattr("shared.models.build.build_embedder", built.append)
    now = ModelSettings(embedder="m", embedder_url="http://new/v1", embedder_api_key="s3cret")
    then = made_by(ModelSettings(embedder="old", embedder_url="http://old/v1"), HashEmbedder())
    build_former(now, "old/3/ab", then)
    build_former(now, "all-MiniLM-L6-v2-int8/384/ab", "")
    assert [(one.embedder, one.embedder_url, one.embedder_key()) for one in built] == [
        ("old", "http://old/v1", ""),
        ("minilm-onnx", "", ""),
    ]


async def test_an_edge_embeds_by_the_route_of_another_edge(tmp_path):
    async with running_edge(tmp_path / "one", embedder=HashEmbedder(48)) as one:
        one.http.base_url = "http://127.0.0.1/v1/"
        [probe] = await one.node.embed([module.PROBE], asker="test")
        client = EmbeddingServer(one.http, model="dgrag-embedding", probe=probe)
        assert np.allclose(await client.embed(["a pump"]), await one.node.embed(["a pump"], asker="test"), atol=1e-6)
        async with running_edge(tmp_path / "two", embedder=client) as two:
            await two.add("pump.md", "# Pumps\n\nJuniper Ward uses the Halden pump.")
            assert two.node.models.embedder.dimensions == 48
