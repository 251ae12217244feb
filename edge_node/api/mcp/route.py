"""``POST /mcp``: agents' programs, by the Model Context Protocol."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from fastapi import APIRouter, FastAPI, Request, Response

from edge_node.api.access import GuardedRoute
from shared.errors import InputError, NotInstalled

router = APIRouter(route_class=GuardedRoute)
MESSAGE = {"requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}}}


@router.post("/mcp", response_model=None, openapi_extra=MESSAGE)
async def mcp(request: Request) -> Response:
    """A message of the Model Context Protocol (Streamable HTTP, without sessions): tools and documents, as the key's role allows.

    501 ``not_installed`` where the extra is not installed.
    """
    endpoint = request.app.state.mcp
    if endpoint is None:
        raise NotInstalled("MCP", extra="mcp")
    if not request.headers.get("content-type", "").lower().startswith("application/json"):
        raise InputError("a message of MCP is JSON", next_step="send it with the header `Content-Type: application/json`")
    response: Response = endpoint.response(await request.body())
    return response


@contextlib.asynccontextmanager
async def serving_mcp(app: FastAPI) -> AsyncIterator[None]:
    """Within, the route answers; without the extra it says how to get it."""
    app.state.mcp = None
    try:
        from edge_node.api.mcp.over_http import McpEndpoint  # an extra
    except ImportError:
        yield
        return
    app.state.mcp = McpEndpoint(app)
    ready, end = asyncio.Event(), asyncio.Event()

    async def serve() -> None:
        async with app.state.mcp.manager.run():
            ready.set()
            await end.wait()

    serving = asyncio.create_task(serve(), name="mcp")  # the manager has to be left in the task that entered it
    await ready.wait()
    try:
        yield
    finally:
        end.set()
        await asyncio.wait([serving])
