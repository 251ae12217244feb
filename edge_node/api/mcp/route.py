"""``POST /mcp``: agents' programs, by the Model Context Protocol."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NoReturn

from fastapi import APIRouter, FastAPI, Request, Response

from edge_node.api.forms import said, telling
from shared.errors import Conflict, InputError, NotInstalled
from shared.http.problems import Told

if TYPE_CHECKING:
    from edge_node.api.mcp.over_http import McpEndpoint

PARSE_ERROR = -32700  # of JSON-RPC 2.0


def unread(told: Told) -> dict[str, Any] | None:
    """A message that cannot be read, as JSON-RPC answers it; None: another error, of HTTP's.

    >>> unread(Told(422, "bad_input", "a text is no text", "", {}))["error"]["code"], unread(Told(403, "forbidden", "", "", {}))
    (-32700, None)
    """
    if told.status != HTTPStatus.UNPROCESSABLE_ENTITY:
        return None
    return {"jsonrpc": "2.0", "id": None, "error": {"code": PARSE_ERROR, "message": said(told), "data": {"code": told.code}}}


router = APIRouter(route_class=telling(unread))
MESSAGE = {"requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}}}


@router.post("/mcp", response_model=None, openapi_extra=MESSAGE)
async def mcp(request: Request) -> Response:
    """A message of the Model Context Protocol (Streamable HTTP, without sessions): tools and documents, as the key's role allows.

    501 ``not_installed`` where the extra is not installed.
    """
    endpoint = await request.app.state.mcp()
    if not request.headers.get("content-type", "").lower().startswith("application/json"):
        raise InputError("a message of MCP is JSON", next_step="send it with the header `Content-Type: application/json`")
    response: Response = endpoint.response(await request.body())
    return response


@contextlib.asynccontextmanager
async def serving_mcp(app: FastAPI) -> AsyncIterator[None]:
    """Within, ``app.state.mcp`` is who answers; without the extra it raises NotInstalled.

    It is made for the first message: the library and the tools' schemas take a second, which most edges never need.
    """
    wanted, ready = asyncio.Event(), asyncio.Event()
    made: list[McpEndpoint] = []

    async def serve() -> None:
        await wanted.wait()
        endpoint = await asyncio.to_thread(_made, app)
        async with endpoint.manager.run():
            made.append(endpoint)
            ready.set()
            await asyncio.Event().wait()

    async def endpoint() -> McpEndpoint:
        wanted.set()
        if not made:
            waiting = asyncio.create_task(ready.wait())
            await asyncio.wait([serving, waiting], return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
        return made[0] if made else _failed(serving)

    app.state.mcp = endpoint
    serving = asyncio.create_task(serve(), name="mcp")  # the manager has to be left in the task that entered it
    try:
        yield
    finally:
        serving.cancel()
        await asyncio.wait([serving])


def _made(app: FastAPI) -> McpEndpoint:
    try:
        from edge_node.api.mcp.over_http import McpEndpoint  # an extra
    except ImportError as error:
        raise NotInstalled("MCP", extra="mcp") from error
    return McpEndpoint(app)


def _failed(serving: asyncio.Task[None]) -> NoReturn:
    if not serving.cancelled():
        serving.result()
    raise Conflict("the edge is stopping", next_step="ask again when it is up")
