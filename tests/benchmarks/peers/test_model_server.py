import base64

import numpy as np
import pytest
from fastapi.testclient import TestClient

from benchmarks.peers.model_server import Cache, create_app
from benchmarks.stand_ins import embed, say
from shared.models.fake import WordTokenizer


@pytest.fixture
def server():
    with TestClient(create_app(say, embed, WordTokenizer())) as client:
        yield client


def chat(server, *messages):
    return server.post("/v1/chat/completions", json={"messages": [{"role": "user", "content": text} for text in messages]}).json()


def test_calls_and_tokens_are_counted_by_the_step_that_asked(server):
    chat(server, "two words", "MANY entities were missed")
    chat(server, "anything")
    assert server.post("/v1/counts", json={}).json() == {
        "calls": {"glean": 1, "other": 1},
        "prompt_tokens": {"glean": 6, "other": 1},
        "completion_tokens": {"glean": WordTokenizer().count("<|COMPLETE|>"), "other": WordTokenizer().count("An answer.")},
        "texts_embedded": 0,
        "embed_cpu_s": 0.0,
    }


def test_a_reply_has_the_shape_that_openai_clients_read(server):
    reply = chat(server, "anything")
    assert reply["choices"][0]["message"] == {"role": "assistant", "content": "An answer."}
    assert reply["usage"]["prompt_tokens"] == 1


def test_a_vector_is_the_same_as_numbers_and_as_base64(server):
    texts = ["the mill", "a weather report"]
    plain = server.post("/v1/embeddings", json={"input": texts}).json()["data"]
    packed = server.post("/v1/embeddings", json={"input": texts, "encoding_format": "base64"}).json()["data"]
    for place, row in enumerate(embed(texts)):
        assert plain[place]["embedding"] == pytest.approx(row.tolist())
        assert np.array_equal(np.frombuffer(base64.b64decode(packed[place]["embedding"]), dtype="<f4"), row)
    assert server.post("/v1/counts", json={}).json()["texts_embedded"] == 4


def test_one_text_alone_may_be_embedded(server):
    assert len(server.post("/v1/embeddings", json={"input": "the mill"}).json()["data"]) == 1
    assert server.post("/v1/embeddings", json={"input": []}).json()["data"] == []


def test_the_shared_extraction_can_be_had_as_it_is(server):
    (said,) = server.post("/v1/said", json={"texts": ["Osric Vale leads Harrow Mill."]}).json()["said"]
    assert [name for name, _, _ in said["entities"]] == ["Harrow Mill", "Osric Vale"]


def test_the_cache_makes_each_text_once_and_keeps_its_order(tmp_path):
    made: list[str] = []

    def make(texts):
        made.extend(texts)
        return [text.upper().encode() for text in texts]

    first = Cache(tmp_path / "kept.db")
    assert first.get("a", ["x", "y", "x"], make) == [b"X", b"Y", b"X"]
    again = Cache(tmp_path / "kept.db")
    assert again.get("a", ["z", "y"], make) == [b"Z", b"Y"]
    assert again.get("b", ["y"], lambda texts: [b"other"]) == [b"other"]
    assert made == ["x", "y", "z"]
