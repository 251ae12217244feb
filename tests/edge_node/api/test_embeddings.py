"""The edge's embedding model for OpenAI's clients."""

import base64

import numpy as np
import pytest


async def post(edge, body):
    return await edge.http.post("/v1/embeddings", json=body)


async def test_one_text_and_a_batch_have_the_vectors_that_the_edge_searches_with(edge):
    texts = ["Juniper Ward", "a pump"]
    expected = await edge.node.models.embedder.embed(texts)
    batch = (await post(edge, {"input": texts, "model": "dgrag-embedding"})).json()
    assert [one["index"] for one in batch["data"]] == [0, 1]
    assert np.allclose([one["embedding"] for one in batch["data"]], expected)
    assert batch["usage"] == {"prompt_tokens": 4, "total_tokens": 4}
    single = (await post(edge, {"input": texts[0], "encoding_format": "base64"})).json()
    assert np.array_equal(np.frombuffer(base64.b64decode(single["data"][0]["embedding"]), "<f4"), expected[0])


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"input": "a", "model": "ada"}, 400, "there is no embedding model 'ada' (use dgrag-embedding)"),
        ({"input": "a", "dimensions": 3}, 400, "leave `dimensions` away"),
        ({"input": ""}, 422, "at least 1 character"),
        ({"input": []}, 422, "at least 1 item"),
        ({"input": ["a"] * 257}, 422, "at most 256 items"),
        ({"input": "a" * 20_001}, 422, "at most 20000 characters"),
        ({"input": [[1, 2]]}, 422, "valid string"),
        ({"input": "a", "encoding_format": "int8"}, 422, "encoding_format"),
    ],
)
async def test_what_cannot_be_embedded_is_told_in_openais_form(edge, body, status, said):
    response = await post(edge, body)
    assert response.status_code == status
    assert said in response.json()["error"]["message"]
