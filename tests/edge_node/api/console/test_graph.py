"""The graph at the console: what is drawn stands there in words, with its passages."""

import html
import json
import re

import httpx2
import pytest

from shared.http.open_mode import CALLER
from tests.support.console import person
from tests.support.running_edge import running_edge

PUMPS = "Juniper Ward uses the Maristow Pump. The Maristow Pump has a CX-40 battery pack. Cedar Ward uses the Heron Lamp."
HOSTILE = "Juniper Ward uses the Maristow Pump & <img src=x onerror=alert(1)>. '\"><script>alert(2)</script> Juniper Ward."


@pytest.fixture
async def site(tmp_path):
    async with running_edge(tmp_path, strategy="dgrag") as started:
        yield started


async def page(site, path, **params):
    response = await site.http.get(path, params=params)
    assert response.status_code == 200, response.text
    return response.text


def drawing(text):
    return json.loads(html.unescape(re.search(r"data-drawing='([^']*)'", text)[1]))


async def test_an_entity_is_told_in_words_and_its_passages_open_at_their_place(site):
    document = (await site.add("pump.md", PUMPS))["document_id"]
    told = await page(site, "/console/graph", entity="juniper ward")
    assert "<h1>" in told
    assert '<a href="/console/graph?entity=maristow%20pump">Maristow Pump</a>' in told
    assert f'<a href="/console/documents/{document}?start=0&amp;end={len(PUMPS)}">' in told
    drawn = drawing(told)
    assert (drawn["centre"], {node["id"] for node in drawn["nodes"]}) == ("juniper ward", {"juniper ward", "maristow pump"})
    assert [(line["source"], line["target"]) for line in drawn["edges"]] == [("juniper ward", "maristow pump")]
    assert len(drawing(await page(site, "/console/graph", entity="juniper ward", hops=2))["nodes"]) > 2


async def test_a_name_is_found_by_a_part_of_it_the_nearest_first(site):
    await site.add("pump.md", PUMPS)
    found = (await site.http.get("/v1/entities", params={"q": "WARD jun"})).json()["entities"]
    assert [one["name"] for one in found] == ["Juniper Ward"]
    wards = (await page(site, "/console/graph", q="ward")).partition('id="found"')[2]
    assert ("Juniper Ward" in wards, "Cedar Ward" in wards) == (True, True)
    assert "No entity has these words" in await page(site, "/console/graph", q="zebra")
    assert "There is no entity zebra any more" in await page(site, "/console/graph", entity="zebra")


async def test_a_word_that_no_entity_has_in_its_name_shows_the_passages_with_it(site):
    document = (await site.add("pump.md", PUMPS + " Nobody has complained & left."))["document_id"]
    found = (await page(site, "/console/graph", q="COMPLAINED")).partition('id="found"')[2].partition("</div>")[0]
    assert f'<a href="/console/documents/{document}?start=0' in found
    assert "Nobody has complained &amp; left." in found
    assert "No passage has them either" in await page(site, "/console/graph", q="complained zebra")
    assert "Passages found" not in await page(site, "/console/graph", q="ward")


async def test_the_drawing_has_a_legend(site):
    await site.add("pump.md", PUMPS)
    for told in ("the larger, the more relations", "a term"):
        assert told in await page(site, "/console/graph")


async def test_parts_and_communities_are_told_with_what_they_rest_on(site):
    document = (await site.add("pump.md", PUMPS))["document_id"]
    (summary, *_) = site.node.graph.summaries()
    assert summary.text in html.unescape(await page(site, "/console/graph/subgraphs"))
    listed = await page(site, "/console/graph/communities", level=3)
    report = await page(site, re.search(r"/console/graph/reports/[0-9a-f]+", listed)[0])
    assert f'<a href="/console/documents/{document}?start=0&amp;end={len(PUMPS)}">' in report


async def test_hostile_names_and_texts_are_shown_as_they_are_and_are_no_markup(site):
    await site.add("<script>alert(3)</script>.md", HOSTILE)
    paths = ["/console/graph", "/console/graph/subgraphs", "/console/graph/communities?level=3"]
    paths += [f"/console/graph?entity={entity['key']}" for entity in (await site.http.get("/v1/entities")).json()["entities"]]
    for path in paths:
        told = await page(site, path)
        assert not re.search(r"<img|<script>|onerror=alert\(1\)>", told), path
    assert "<script>" not in await page(site, "/console/graph", q="'><script>alert(1)</script>")


@pytest.mark.parametrize("path", ["/console/graph", "/console/graph/subgraphs", "/console/graph/communities"])
async def test_a_strategy_without_a_graph_says_so_and_what_to_do(tmp_path, path):
    async with running_edge(tmp_path, strategy="naive") as edge:
        assert "start the edge with the strategy dgrag" in await page(edge, path)


async def test_what_cannot_be_is_told_as_a_page(site):
    for path, status in (("graph?hops=9", 422), ("graph/communities?level=7", 422), ("graph/reports/nothing", 404)):
        response = await site.http.get(f"/console/{path}")
        assert (response.status_code, "Back to the first page" in response.text) == (status, True)


async def test_a_reader_sees_the_graph_and_a_stranger_is_asked_for_a_key(tmp_path):
    async with running_edge(tmp_path, strategy="dgrag") as edge:
        await edge.add("pump.md", PUMPS)
        app = edge.http._transport.app
        async with person(app, tmp_path, "read") as reader:
            assert "Maristow Pump" in await reader.read("/console/graph")
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1", headers=CALLER) as stranger:
            response = await stranger.get("/console/graph")
            assert (response.status_code, "Maristow" in response.text) == (401, False)
