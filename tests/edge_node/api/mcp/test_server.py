"""The MCP server as the SDK builds it: what an upgrade of the SDK must not bring back."""

import logging

import httpx2

from edge_node.api.mcp.rest import Rest
from edge_node.api.mcp.server import build_server
from edge_node.api.mcp.tools import OFFERS, EdgeTools


def refusing(request):
    return httpx2.Response(500, text="Traceback")


def rest_of(_):
    return Rest(httpx2.AsyncClient(transport=httpx2.MockTransport(refusing), base_url="http://127.0.0.1"))


def test_no_span_is_recorded_and_no_line_is_logged_of_what_is_asked():
    kinds = [type(one).__name__ for one in build_server(rest_of).middleware]
    assert "OpenTelemetryMiddleware" not in kinds
    assert "RequestStateBoundary" in kinds  # null control: the SDK's others are left
    assert not logging.getLogger("mcp.server").isEnabledFor(logging.ERROR)


async def test_every_offer_is_a_tool_with_its_schema_and_its_hints():
    tools = {tool.name: tool for tool in await build_server(rest_of).list_tools()}
    assert list(tools) == [offer.name for offer in OFFERS]
    for offer in OFFERS:
        tool = tools[offer.name]
        assert tool.description == getattr(EdgeTools, offer.name).__doc__
        assert tool.output_schema
        assert "ctx" not in tool.input_schema["properties"]
        assert (tool.annotations.read_only_hint, tool.annotations.open_world_hint) == (not offer.writes, offer.asks_others)
