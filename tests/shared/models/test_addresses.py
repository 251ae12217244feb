"""Servers whose address has a query, with a key in a header of its own."""

import asyncio

import httpx2
import pytest

from shared.errors import ModelUnavailable
from shared.models.embedding_server import EmbeddingServer, probe_of
from shared.models.openai_compatible import OpenAIGenerator
from shared.ports import Message, Prompt
from tests.support.model_dialects import ANSWER, QUESTION, Azure, served

ASK = Prompt((Message("user", QUESTION),), 100)


async def test_a_deployment_is_asked_before_its_query_with_its_key():
    async with served(Azure()) as url:
        address = url.removesuffix("/v1") + Azure.address
        async with httpx2.AsyncClient(base_url=address, trust_env=False) as http:
            generator = OpenAIGenerator(http, model="m", api_key=Azure.key)
            await generator.reach(deadline_s=30)  # it lists no models, and is there
            assert (await generator.generate(ASK, deadline_s=30)).texts == (ANSWER,)
            pieces = [piece async for piece in generator.stream(ASK, deadline_s=30)]
            assert "".join(pieces) == ANSWER
            with pytest.raises(ModelUnavailable, match="Access denied"):
                await OpenAIGenerator(http, model="m", api_key="other").generate(ASK, deadline_s=30)


async def test_texts_are_embedded_by_a_deployment():
    async with served(Azure()) as url:
        address = url.removesuffix("/v1") + Azure.address
        async with httpx2.AsyncClient(base_url=address, trust_env=False) as http:
            probe = await probed(address)
            server = EmbeddingServer(http, model="m", probe=probe, api_key=Azure.key)
            assert (await server.embed(["one", "two"])).shape == (2, 2)


async def probed(address):
    def probe():
        with httpx2.Client(base_url=address, trust_env=False) as http:
            return probe_of(http, model="m", api_key=Azure.key)

    return await asyncio.to_thread(probe)


async def test_a_message_names_the_server_without_its_query():
    async with httpx2.AsyncClient(base_url="http://127.0.0.1:9/v1?key=s3cret") as http:
        with pytest.raises(ModelUnavailable, match="no model server at") as caught:
            await OpenAIGenerator(http, model="m").generate(ASK, deadline_s=30)
    assert "http://127.0.0.1:9/v1" in str(caught.value)
    assert "s3cret" not in str(caught.value)
