import asyncio
from contextlib import asynccontextmanager

import httpx2
import pytest

from deploy.lab.no_model import NO_MODEL, serve_no_model, serve_unknowing
from shared.http.open_mode import CALLER
from shared.models.build import build_generator, model_http
from shared.models.settings import ModelSettings
from shared.ports import Message, Prompt


@asynccontextmanager
async def standing():
    server = await serve_no_model(0)
    port = server.sockets[0].getsockname()[1]
    async with server, httpx2.AsyncClient(headers=CALLER, base_url=f"http://127.0.0.1:{port}/v1", trust_env=False) as http:
        yield http


async def test_it_names_itself_as_a_model_server_does():
    async with standing() as http:
        response = await http.get("/models")
        assert response.json()["data"][0]["id"] == NO_MODEL


@pytest.mark.parametrize("path", ["/chat/completions", "/completions", "/models"])
async def test_whoever_wants_an_answer_is_refused(path):
    async with standing() as http:
        response = await http.post(path, json={"messages": []})
        assert response.status_code == 501
        assert "no language model" in response.json()["error"]["message"]


async def test_one_who_goes_in_the_middle_does_no_harm():
    async with standing() as http:
        _, writer = await asyncio.open_connection("127.0.0.1", http.base_url.port)
        writer.write(b"GET /v1/mod")
        writer.close()
        await writer.wait_closed()
        assert (await http.get("/models")).status_code == 200


async def test_one_that_knows_nothing_answers_an_edges_own_client_however_long_the_question():
    async with await serve_unknowing(0) as server:
        settings = ModelSettings(url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", name=NO_MODEL)
        async with model_http(settings) as http:
            prompt = Prompt((Message("user", "Who built it? " * 20_000),), max_tokens=20)
            reply = await build_generator(settings, http).generate(prompt, deadline_s=30)
    assert reply.texts == ("The passages do not say.",)
