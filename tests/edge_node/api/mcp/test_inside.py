"""Calls of an app in its own process."""

import asyncio

import httpx2
import pytest

from edge_node.api.mcp.inside import InsideTransport

HEAD = {"type": "http.response.start", "status": 200, "headers": []}


def client(app):
    return httpx2.AsyncClient(transport=InsideTransport(app), base_url="http://127.0.0.1")


async def test_a_piece_is_there_before_the_next_is_made():
    go = asyncio.Event()

    async def app(scope, receive, send):
        await send(HEAD)
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        await go.wait()
        await send({"type": "http.response.body", "body": b"second", "more_body": False})

    async with client(app) as http, http.stream("GET", "/") as response:
        pieces = response.aiter_raw()
        assert await anext(pieces) == b"first"
        go.set()
        assert await anext(pieces) == b"second"


async def test_work_ends_when_nobody_listens_any_more():
    ended = asyncio.Event()

    async def app(scope, receive, send):
        try:
            await send(HEAD)
            assert (await receive())["body"] == b"asked"
            await receive()
        finally:
            ended.set()

    async with client(app) as http, http.stream("POST", "/", content=b"asked"):
        assert not ended.is_set()
    assert ended.is_set()


async def test_an_app_that_fails_before_it_answers_is_a_broken_connection():
    async def app(scope, receive, send):
        raise KeyError("x")

    async with client(app) as http:
        with pytest.raises(httpx2.ReadError):
            await http.get("/")
