"""``dgrag mcp``: a desktop program starts it, and speaks to it through its pipes."""

import sys

import pytest
from mcp import Client, StdioServerParameters
from typer.testing import CliRunner

from deploy.cli.main import app
from shared.errors import NotInstalled
from tests.support.live_edge import live_edge, made_key, text_of, tool_names

PUMPS = "Juniper Ward reported the failure of four infusion pumps."


def desktop(url, **environment):
    """The official client, as a desktop program configures it."""
    command = ["-P", "-m", "deploy.cli.main", "mcp", "--url", url]
    return Client(StdioServerParameters(command=sys.executable, args=command, env=environment))


@pytest.mark.process
async def test_a_desktop_program_asks_hears_the_steps_and_gets_a_cited_answer(tmp_path):
    heard = []

    async def hear(done, total, message):
        heard.append(message)

    async with live_edge(tmp_path) as (edge, url), desktop(url) as client:
        receipt = await edge.add("report.md", PUMPS)
        result = await client.call_tool("ask", {"question": "Which ward?"}, progress_callback=hear)
        opened = await client.call_tool("open_passage", {"document_id": receipt["document_id"]})
        resources = (await client.list_resources()).resources
    assert text_of(result).endswith("- [1] report.md – ward")
    assert "the documents of this site were searched" in heard
    assert opened.structured_content["text"] == PUMPS
    assert [one.name for one in resources] == ["report.md"]


@pytest.mark.process
async def test_the_key_of_the_environment_decides_what_is_shown_and_what_is_refused(tmp_path):
    key = made_key(tmp_path, "read")
    async with live_edge(tmp_path) as (_, url):
        async with desktop(url, DGRAG_API_KEY=key) as client:
            assert not {"add_document", "would_leave"} & set(await tool_names(client))
            refused = await client.call_tool("add_document", {"name": "a.md", "text": PUMPS})
        async with desktop(url) as client:
            unknown = await client.call_tool("ask", {"question": "Which ward?"})
    assert refused.is_error
    assert "it takes the role write" in text_of(refused)
    assert unknown.is_error
    assert "send an API key" in text_of(unknown)


@pytest.mark.process
async def test_an_edge_that_is_away_is_told_to_the_model():
    async with desktop("http://127.0.0.1:9") as client:
        result = await client.call_tool("ask", {"question": "Which ward?"})
    assert result.is_error
    assert "the edge cannot be called" in text_of(result)


def test_without_the_extra_the_command_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "edge_node.api.mcp.server", None)
    error = CliRunner().invoke(app, ["mcp", "--url", "http://127.0.0.1:9"]).exception
    assert isinstance(error, NotInstalled)
    assert "pip install 'dgrag[mcp]'" in error.next_step


def test_a_wrong_url_is_told():
    error = CliRunner().invoke(app, ["mcp", "--url", "nowhere"]).exception
    assert "'nowhere' is no URL of an edge" in error.message
