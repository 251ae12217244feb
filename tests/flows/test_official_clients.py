"""The official clients of OpenAI's and Ollama's API against live edges: each asks and gets a cited answer, also from another site."""

import contextlib

import numpy as np
import ollama
import openai
import pytest

from shared.http.open_mode import CALLER
from tests.support.live_edge import left, live_edge, made_key
from tests.support.two_sites import ANSWER, GONE, bank_and_plant, filled
from tests.support.two_sites import WHICH_LOT as LOT_QUESTION
from tests.support.two_sites import WHO as QUESTION

pytestmark = pytest.mark.process
WHO = [{"role": "user", "content": QUESTION}]
WHICH_LOT = [{"role": "user", "content": LOT_QUESTION}]
SOURCES = "\n\nSources:\n\n- [1] report.md – ward"


def of_openai(url, key="any"):
    return openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)


@contextlib.asynccontextmanager
async def of_ollama(url):
    client = ollama.AsyncClient(host=url, headers=CALLER)
    try:
        yield client
    finally:
        await client.close()


async def test_openais_client_chats_and_reads_the_citations(tmp_path):
    async with filled(tmp_path) as (_, url), of_openai(url) as client:
        reply = await client.chat.completions.create(model="dgrag-local", messages=WHO)
        bare = await client.chat.completions.create(model="dgrag-local", messages=WHO, extra_body={"sources": False})
    message = reply.choices[0].message
    assert (message.content, bare.choices[0].message.content) == (ANSWER + SOURCES, ANSWER)
    (annotation,) = message.annotations
    assert message.content[annotation.url_citation.start_index : annotation.url_citation.end_index] == "[1]"
    assert annotation.url_citation.title == "report.md – ward"


async def test_openais_client_streams_text_steps_and_sources(tmp_path):
    said, steps = [], []
    async with filled(tmp_path) as (_, url), of_openai(url) as client:
        async for piece in await client.chat.completions.create(model="dgrag-local", messages=WHO, stream=True):
            delta = piece.choices[0].delta
            said.append(delta.content or "")
            steps.append(getattr(delta, "reasoning_content", None))
    assert "".join(said) == ANSWER + SOURCES
    assert "the documents of this site were searched\n" in steps
    assert (piece.choices[0].finish_reason, piece.dgrag["route"]) == ("stop", "local")


async def test_openais_client_lists_the_models_and_embeds(tmp_path):
    async with filled(tmp_path) as (edge, url), of_openai(url) as client:
        names = [model.id async for model in client.models.list()]
        texts = ["Juniper Ward", "a pump"]
        by_default = await client.embeddings.create(model="dgrag-embedding", input=texts)  # this client asks for base64 then
        in_digits = await client.embeddings.create(model="dgrag-embedding", input=texts[0], encoding_format="float")
        expected = await edge.node.models.embedder.embed(texts)
    assert names == ["dgrag", "dgrag-local", "dgrag-global", "dgrag-embedding"]
    assert np.allclose([one.embedding for one in by_default.data], expected, atol=1e-6)
    assert np.allclose(in_digits.data[0].embedding, expected[0], atol=1e-6)


async def test_openais_client_raises_its_own_errors(tmp_path):
    made_key(tmp_path, "read")
    async with live_edge(tmp_path) as (_, url), of_openai(url) as client:
        with pytest.raises(openai.AuthenticationError, match="no API key of a dgrag service"):
            await client.chat.completions.create(model="dgrag", messages=WHO)
    async with live_edge(tmp_path / "other") as (_, url), of_openai(url) as client:
        with pytest.raises(openai.BadRequestError, match="there is no model 'gpt'"):
            await client.chat.completions.create(model="gpt", messages=WHO)


async def test_openais_client_gets_an_answer_from_another_site_and_the_ledgers_hold_it(tmp_path):
    async with bank_and_plant(tmp_path) as (edges, url), of_openai(url) as client:
        before = {name: edge.node.ledger.count() for name, edge in edges.items()}
        reply = await client.chat.completions.create(model="dgrag", messages=WHICH_LOT)
        gone = {name: left(edge, before[name]) for name, edge in edges.items()}
    assert reply.choices[0].message.content.endswith("- [1] report.md – plant")
    assert reply.choices[0].message.annotations[0].url_citation.url.startswith("dgrag://plant/documents/")
    assert gone == GONE


@pytest.mark.parametrize("model", ["dgrag-local", "dgrag-local:latest"])
async def test_ollamas_client_chats_generates_and_streams(tmp_path, model):
    async with filled(tmp_path) as (_, url), of_ollama(url) as client:
        chat = await client.chat(model=model, messages=WHO)
        written = await client.generate(model=model, prompt=WHO[0]["content"])
        pieces = [piece async for piece in await client.chat(model=model, messages=WHO, stream=True)]
        quiet = [piece async for piece in await client.generate(model=model, prompt=WHO[0]["content"], stream=True, think=False)]
    assert chat.message.content == written.response == ANSWER + SOURCES
    assert "".join(piece.message.content for piece in pieces) == ANSWER + SOURCES
    assert "the documents of this site were searched\n" in [piece.message.thinking for piece in pieces]
    assert (pieces[-1].done, pieces[-1].done_reason) == (True, "stop")
    assert "".join(piece.response for piece in quiet) == ANSWER + SOURCES
    assert {piece.thinking for piece in quiet} == {None}


async def test_ollamas_client_lists_and_shows_models_and_reads_errors(tmp_path):
    async with live_edge(tmp_path) as (edge, url), of_ollama(url) as client:
        assert (await edge.http.get("/api/version")).json()["version"]
        assert [one.model for one in (await client.list()).models] == ["dgrag:latest", "dgrag-local:latest", "dgrag-global:latest"]
        assert (await client.show("dgrag")).capabilities == ["completion"]
        with pytest.raises(ollama.ResponseError, match="there is no model 'llama3'") as caught:
            await client.chat(model="llama3", messages=WHO)
        assert caught.value.status_code == 404
        with pytest.raises(ollama.ResponseError, match="there is no model 'llama3'"):
            await anext(await client.chat(model="llama3", messages=WHO, stream=True))


async def test_ollamas_client_gets_an_answer_from_another_site_and_the_ledgers_hold_it(tmp_path):
    async with bank_and_plant(tmp_path) as (edges, url), of_ollama(url) as client:
        before = {name: edge.node.ledger.count() for name, edge in edges.items()}
        reply = await client.chat(model="dgrag", messages=WHICH_LOT)
        gone = {name: left(edge, before[name]) for name, edge in edges.items()}
    assert reply.message.content.endswith("- [1] report.md – plant")
    assert gone == GONE
