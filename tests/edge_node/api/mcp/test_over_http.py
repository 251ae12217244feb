"""The official MCP client against a live edge, over HTTP."""

import sys

import httpx2
import pytest

from edge_node.api.access import RULES
from edge_node.api.mcp.tools import OFFERS
from shared.http.keyring import ROLES
from shared.http.open_mode import CALLER
from tests.support.federation import PLANT, REFUSAL, federation
from tests.support.live_edge import ERAS, agent, left, live, live_edge, made_key, text_of, tool_names
from tests.support.running_edge import running_edge

pytestmark = pytest.mark.process
PUMPS = "Juniper Ward reported the failure of four infusion pumps. The pumps stopped at night."
ROUTES = {
    "ask": ("POST", "/v1/query"),
    "retrieve": ("POST", "/v1/retrieve"),
    "open_passage": ("GET", "/v1/documents/{document_id}/text"),
    "overview": ("POST", "/v1/query"),
    "entity": ("GET", "/v1/graph"),
    "documents": ("GET", "/v1/documents"),
    "sites": ("GET", "/v1/status"),
    "would_leave": ("POST", "/v1/policy/try"),
    "add_document": ("POST", "/v1/documents"),
}
MESSAGE = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def test_each_tool_takes_the_role_that_its_route_takes():
    assert {offer.name: frozenset({offer.role}) for offer in OFFERS} == {name: RULES[route].roles for name, route in ROUTES.items()}


@pytest.mark.parametrize("era", ERAS)
async def test_a_question_gets_an_answer_with_sources_and_its_steps_are_heard(tmp_path, era):
    heard = []

    async def hear(done, total, message):
        heard.append((done, message))

    async with live_edge(tmp_path) as (edge, url), agent(url, era=era) as client:
        await edge.add("report.md", PUMPS)
        result = await client.call_tool("ask", {"question": "Which ward?"}, progress_callback=hear)
    assert text_of(result) == "Juniper Ward reported it [1].\n\nSources:\n\n- [1] report.md – ward"
    (citation,) = result.structured_content["citations"]
    assert (citation["n"], citation["edge"], citation["quote"]) == (1, "ward", PUMPS[:57])
    assert [done for done, _ in heard] == list(range(1, len(heard) + 1))
    assert "the documents of this site were searched" in [message for _, message in heard]


async def test_what_an_answer_cites_can_be_opened_found_and_listed(tmp_path):
    async with live_edge(tmp_path) as (edge, url), agent(url) as client:
        receipt = await edge.add("report.md", PUMPS)
        found = await client.call_tool("retrieve", {"question": "Which ward?"})
        assert found.structured_content["evidence"][0]["text"] == PUMPS
        opened = await client.call_tool("open_passage", {"document_id": receipt["document_id"], "start": 58, "end": 84})
        assert opened.structured_content["text"] == "The pumps stopped at night"
        assert "call again with start=84" in text_of(opened)
        listed = await client.call_tool("documents", {})
        assert [one["name"] for one in listed.structured_content["documents"]] == ["report.md"]
        (resource,) = (await client.list_resources()).resources
        assert resource.name == "report.md"
        assert PUMPS in (await client.read_resource(resource.uri)).contents[0].text


async def test_a_document_is_added_and_answered_from(tmp_path):
    async with live_edge(tmp_path) as (edge, url), agent(url) as client:
        stored = await client.call_tool("add_document", {"name": "report.md", "text": PUMPS})
        assert "is stored" in text_of(stored)
        await edge.settled()
        assert "[1] report.md" in text_of(await client.call_tool("ask", {"question": "Which ward?"}))


async def test_each_key_sees_the_tools_of_its_role_and_is_refused_the_others(tmp_path):
    keys = {role: made_key(tmp_path, role) for role in ("admin", "read", "write")}
    arguments = {"would_leave": {}, "add_document": {"name": "a.md", "text": "Juniper Ward."}}
    async with live_edge(tmp_path) as (edge, url):
        for role, key in keys.items():
            async with agent(url, key=key) as client:
                shown = await tool_names(client)
                assert shown == [offer.name for offer in OFFERS if offer.role in ROLES[role]]
                for name, given in arguments.items():
                    result = await client.call_tool(name, given)
                    assert result.is_error == (name not in shown)
                    assert ("it takes the role" in text_of(result)) == result.is_error
        assert edge.node.ledger.count() == 0


async def test_the_door_is_that_of_rest(tmp_path):
    async with live_edge(tmp_path) as (_, url), httpx2.AsyncClient(base_url=url, headers=ACCEPT) as http:
        assert (await http.post("/mcp", json=MESSAGE)).json()["code"] == "forbidden"  # open mode: no header of ours
        assert (await http.post("/mcp", json=MESSAGE, headers=CALLER | {"Origin": "https://evil.example"})).status_code == 403
        assert (await http.post("/mcp", json=MESSAGE, headers=CALLER | {"Host": "evil.example"})).status_code == 403
        assert (await http.post("/mcp", json=MESSAGE, headers=CALLER)).status_code == 200  # null control
        made_key(tmp_path, "read")
        assert (await http.post("/mcp", json=MESSAGE, headers=CALLER)).json()["code"] == "no_credentials"
        assert (await http.post("/mcp", json=MESSAGE, headers={"Authorization": "Bearer dgk_x"})).json()["code"] == "bad_key"


async def test_a_message_that_is_none_is_refused_with_a_next_step(tmp_path):
    async with running_edge(tmp_path) as edge:
        text = await edge.http.post("/mcp", content=b"{}", headers=ACCEPT | {"content-type": "text/plain"})
        assert (text.status_code, text.json()["code"]) == (400, "bad_input")
        for body in (b"{", b"[]", b"{}", b'{"jsonrpc": "2.0", "id": 1}'):
            response = await edge.http.post("/mcp", content=body, headers=ACCEPT | {"content-type": "application/json"})
            assert (response.status_code, "error" in response.json()) == (400, True)


async def test_wrong_arguments_and_unknown_documents_are_told_to_the_model(tmp_path):
    async with live_edge(tmp_path) as (_, url), agent(url) as client:
        for name, given, said in (
            ("ask", {"question": ""}, "at least 1 character"),
            ("ask", {"question": " \u200b"}, "the question is blank"),
            ("open_passage", {"document_id": "../../status"}, "that is no id of a document"),
            ("open_passage", {"document_id": "0" * 24}, "there is no document"),
            ("open_passage", {"document_id": "0" * 24, "start": 9, "end": 3}, "start is behind end"),
            ("nothing", {}, "Unknown tool"),
        ):
            result = await client.call_tool(name, given)
            assert result.is_error
            assert said in text_of(result)


async def test_without_the_extra_the_route_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "edge_node.api.mcp.over_http", None)
    async with running_edge(tmp_path) as edge:
        response = await edge.http.post("/mcp", json=MESSAGE)
    assert (response.status_code, response.json()["code"]) == (501, "not_installed")
    assert "pip install 'dgrag[mcp]'" in response.json()["next_step"]


async def test_an_answer_from_another_site_names_it_and_both_ledgers_hold_what_left(tmp_path):
    members = {"bank": ("The bank lends money to bakeries.", REFUSAL), "plant": (PLANT, REFUSAL)}
    async with federation(tmp_path, cloud_answer="Lot L-7713 caused the failure [1].", edge_answers=members) as (edges, _, _):
        before = {name: edge.node.ledger.count() for name, edge in edges.items()}
        async with live(edges["bank"]) as url, agent(url) as client:
            asked = {"question": "Which lot of the battery pack caused the failure of infusion pumps?"}
            shown = await client.call_tool("ask", asked | {"may_leave": "ask"})
            assert "Nothing has left the site" in text_of(shown)
            assert not left(edges["bank"], before["bank"])
            result = await client.call_tool("ask", asked)
            assert "- [1] report.md – plant" in text_of(result)
            sites = await client.call_tool("sites", {})
        gone = {name: left(edge, before[name]) for name, edge in edges.items()}
    assert {"edge": "plant", "status": "answered", "reason": ""} in sites.structured_content["others"]
    assert gone == {"bank": {"question", "refusal"}, "plant": {"evidence"}}  # the cloud asks the bank too
