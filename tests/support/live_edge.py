"""Edges of this process behind real sockets, and an agent's program that speaks MCP to them."""

import contextlib
import time

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from shared.http.keyring import KeyRing
from shared.http.open_mode import CALLER
from tests.support.running_edge import running_edge
from tests.support.sockets import on_a_socket

ERAS = ("legacy", "auto")  # with the handshake of the protocol's first years, and as clients find out by themselves


def made_key(folder, role):
    """A key of that role and name."""
    keys = KeyRing(folder)
    try:
        return keys.add(role, role, now=time.time())
    finally:
        keys.close()


@contextlib.asynccontextmanager
async def live(edge):
    """The address of an edge that runs already."""
    async with on_a_socket(edge.http._transport.app, lifespan="off") as url:
        yield url


@contextlib.asynccontextmanager
async def live_edge(folder, **settings):
    """An edge and its address."""
    async with running_edge(folder, **settings) as edge, live(edge) as url:
        yield edge, url


@contextlib.asynccontextmanager
async def agent(url, *, key=None, era="auto"):
    """The official client over HTTP."""
    headers = CALLER if key is None else {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=era) as client,
    ):
        yield client


def text_of(result):
    """The text of a tool's result."""
    return "\n".join(block.text for block in result.content)


def left(edge, after=0):
    """The kinds of what has left an edge since the record ``after``; the heads of its ledger go by the clock, and are left out."""
    return {entry.kind for entry in edge.node.ledger.entries(after=after, limit=100)} - {"head"}


async def tool_names(client):
    """The tools that a client is shown."""
    return [tool.name for tool in (await client.list_tools()).tools]
