import asyncio
from contextlib import asynccontextmanager

import httpx
import pytest

from benchmarks.no_model import NO_MODEL, serve_no_model


@asynccontextmanager
async def standing():
    server = await serve_no_model(0)
    port = server.sockets[0].getsockname()[1]
    async with server, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}/v1", trust_env=False) as http:
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
