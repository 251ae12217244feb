"""MCP over HTTP: each message is a request with a key, each tool call one more of the same caller to the edge's own routes."""

from __future__ import annotations

import httpx2
from fastapi import FastAPI
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from edge_node.api.mcp import tools
from edge_node.api.mcp.inside import InsideTransport
from edge_node.api.mcp.rest import Rest
from edge_node.api.mcp.server import build_server
from shared.http.open_mode import CALLER
from shared.telemetry.correlation import headers

HERE = "http://127.0.0.1"
HANDED_ON = ("authorization", "host", "origin")  # what tells the guard who calls


class McpEndpoint:
    """Streamable HTTP without sessions: nothing is kept between two messages, so no session can be taken over."""

    def __init__(self, app: FastAPI) -> None:
        self._transport = InsideTransport(app)
        server = build_server(self._rest_of)
        # The guard in front of the route looks at host and origin already.
        server.streamable_http_app(stateless_http=True, transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False))
        self.manager = server.session_manager

    def _rest_of(self, ctx: tools.Request) -> Rest:
        """The edge's routes for who sent this message."""
        sent = ctx.request.headers if isinstance(ctx.request, Request) else {}
        shown = {name: sent[name] for name in HANDED_ON if name in sent}
        return Rest(httpx2.AsyncClient(transport=self._transport, base_url=HERE, headers={**CALLER, **headers(), **shown}))

    def response(self, body: bytes) -> Response:
        """The answer to a message that the guard has read."""
        return _Answered(self, body)


class _Answered(Response):
    """What the protocol's own app answers."""

    def __init__(self, endpoint: McpEndpoint, body: bytes) -> None:
        super().__init__()
        self._endpoint = endpoint
        self._sent = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one message."""

        async def again() -> Message:
            return next(self._sent, None) or await receive()

        await self._endpoint.manager.handle_request(scope, again, send)
