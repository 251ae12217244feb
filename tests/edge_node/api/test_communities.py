"""Communities and reports over REST."""

import pytest

from tests.support.running_edge import running_edge

PUMPS = "Juniper Ward uses the Maristow Pump. The Maristow Pump has a CX-40 battery pack."
GATES = "Thornby Builders built the Heron Gate Barrier. The Heron Gate Barrier protects Port Tessel."


@pytest.fixture
async def site(tmp_path):
    async with running_edge(tmp_path, strategy="dgrag") as started:
        yield started


async def page(site, **asked):
    answer = await site.http.get("/v1/communities", params=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_an_edge_without_documents_has_an_empty_list(site):
    assert await page(site) == {"communities": [], "next": None}


async def test_a_report_names_the_passages_that_its_findings_rest_on(site):
    accepted = await site.add("pump.md", PUMPS)
    (view, *_) = (await page(site, level=2))["communities"]
    assert view.keys() == {"community_id", "outside_id", "level", "parent", "children", "title", "rating", "entities", "chunks"}
    report = (await site.http.get(f"/v1/reports/{view['community_id']}")).json()
    assert (report["title"], report["rating"], report["by_model"]) == (view["title"], view["rating"], False)
    assert report["findings"]
    for finding in report["findings"]:
        assert finding["text"] in PUMPS
        assert [(source["document"], source["document_id"], source["text"]) for source in finding["sources"]] == [
            ("pump.md", accepted["document_id"], PUMPS)
        ]
        assert finding["entities"] or finding["relations"]
        for key in [*finding["entities"], *(end for ends in finding["relations"] for end in ends)]:
            assert (await site.http.get("/v1/graph", params={"entity": key})).status_code == 200


async def test_a_report_and_its_passages_are_shown_with_the_ids_that_other_sites_know(site):
    await site.add("pump.md", PUMPS)
    (view, *_) = (await page(site, level=2))["communities"]
    by_own, by_outside = [(await site.http.get(f"/v1/reports/{view[name]}")).json() for name in ("community_id", "outside_id")]
    assert by_own == by_outside
    assert by_own["outside_id"] == view["outside_id"] != view["community_id"]
    made = site.node.sharing.outside_ids
    sources = [source for finding in by_own["findings"] for source in finding["sources"]]
    assert [source["outside_id"] for source in sources] == [made.of_chunk(source["chunk_id"]) for source in sources]
    assert all(source["outside_id"] != source["chunk_id"] for source in sources)


async def test_pages_together_are_the_level(site):
    await site.add("pump.md", PUMPS)
    await site.add("gate.md", GATES)
    whole = (await page(site, level=3))["communities"]
    found, after = [], ""
    while after is not None:
        got = await page(site, level=3, limit=1, after=after)
        found, after = found + got["communities"], got["next"]
    assert found == whole
    assert len(whole) > 1


async def test_a_removed_documents_words_are_in_no_report(site):
    accepted = await site.add("pump.md", PUMPS)
    await site.add("gate.md", GATES)
    (old, *_) = [view["community_id"] for view in (await page(site, level=3))["communities"] if "Maristow" in view["title"]]
    assert (await site.http.delete(f"/v1/documents/{accepted['document_id']}")).status_code == 200
    gone = await site.http.get(f"/v1/reports/{old}")
    assert (gone.status_code, gone.json()["code"]) == (404, "not_found")
    assert "/v1/communities" in gone.json()["next_step"]
    views = [view for level in range(4) for view in (await page(site, level=level))["communities"]]
    told = [(await site.http.get(f"/v1/reports/{view['community_id']}")).text for view in views]
    assert "Heron Gate Barrier" in str(told)
    assert "Maristow" not in str([*views, *told])


@pytest.mark.parametrize("path", ["/v1/communities", "/v1/reports/c0ffee"])
async def test_a_strategy_without_a_graph_is_a_conflict_that_says_what_to_do(edge, path):
    answer = await edge.http.get(path)
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert "dgrag" in answer.json()["next_step"]


@pytest.mark.parametrize("asked", [{"level": 4}, {"level": -1}, {"limit": 0}])
async def test_a_level_or_limit_that_is_none_is_refused(site, asked):
    assert (await site.http.get("/v1/communities", params=asked)).status_code in (400, 422)
