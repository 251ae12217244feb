"""An edge that remembers, from a document to an answer without a model and back: memories of its own sentences, and learned ones."""

import pytest

from tests.support.running_edge import running_edge
from tests.support.waiting import until

MILL = "Orrin Mill was built by Ann Lee in 1881. The mill stands beside the river."
PUMPS = "Juniper Ward reported the failure of four infusion pumps to Brackwell Works."
WHEN = "When was Orrin Mill built?"
WARD = "Which ward reported the failure of four infusion pumps?"


@pytest.fixture
async def edge(tmp_path):
    async with running_edge(tmp_path) as started:
        started.mill = (await started.add("mill.md", MILL))["document_id"]
        started.pumps = (await started.add("pumps.md", PUMPS))["document_id"]
        await until(lambda: not started.node.strategy.stale)
        yield started


async def judge(edge, answer, verdict):
    response = await edge.http.post(f"/v1/queries/{answer['query_id']}/feedback", json={"verdict": verdict})
    assert response.status_code == 200
    return response.json()["outcome"]


async def test_what_a_document_says_is_answered_without_a_model_until_it_is_deleted(edge):
    answer = await edge.ask(WHEN)
    assert (answer["route"], answer["answer"], answer["memory"]["kind"]) == ("memory", "1881 [1]", "template")
    (cited,) = answer["citations"]
    assert (cited["document"], MILL[slice(*cited["span"])]) == ("mill.md", "Orrin Mill was built by Ann Lee in 1881.")
    assert sum(step["calls"] for step in answer["trace"]) == 0
    await edge.http.delete(f"/v1/documents/{edge.mill}")
    assert (await edge.ask(WHEN))["route"] != "memory"


async def test_a_miss_that_is_called_right_is_learned_and_a_deletion_takes_it_away(edge):
    first = await edge.ask(WARD)
    assert (first["route"], first["answer"]) == ("local", "Juniper Ward reported it [1].")
    assert await judge(edge, first, "right") == "learned"
    again = await edge.ask(WARD)
    assert (again["route"], again["answer"], again["memory"]["kind"]) == ("memory", "Juniper Ward reported it [1].", "learned")
    assert [cited["document"] for cited in again["citations"]] == ["pumps.md"]
    await edge.http.delete(f"/v1/documents/{edge.pumps}")
    assert (await edge.ask(WARD))["route"] != "memory"
    listed = (await edge.http.get("/v1/memories")).json()["memories"]
    assert {view["kind"] for view in listed} == {"template"}


async def test_a_learned_memory_that_is_deleted_is_asked_of_the_model_again(edge):
    await judge(edge, await edge.ask(WARD), "right")
    known = (await edge.ask(WARD))["memory"]["memory_id"]
    assert (await edge.http.delete(f"/v1/memories/{known}")).status_code == 204
    again = await edge.ask(WARD)
    assert again["route"] == "local"
    assert await judge(edge, again, "right") == "nothing"  # it was deleted for good
    assert (await edge.ask(WARD))["route"] != "memory"


async def test_what_is_called_wrong_answers_once_and_never_again_also_after_a_restart(tmp_path):
    async with running_edge(tmp_path) as edge:
        await edge.add("mill.md", MILL)
        await until(lambda: not edge.node.strategy.stale)
        assert await judge(edge, await edge.ask(WHEN), "wrong") == "counted"
        assert (await edge.ask(WHEN))["route"] != "memory"
        (view,) = [one for one in (await edge.http.get("/v1/memories")).json()["memories"] if one["bad"]]
        assert (view["silenced"], view["barred"]) == (True, False)
    async with running_edge(tmp_path) as edge:
        assert (await edge.ask(WHEN))["route"] != "memory"


async def test_what_was_learned_answers_after_a_restart(tmp_path):
    async with running_edge(tmp_path) as edge:
        await edge.add("pumps.md", PUMPS)
        await judge(edge, await edge.ask(WARD), "right")
    async with running_edge(tmp_path) as edge:
        assert (await edge.ask(WARD))["memory"]["kind"] == "learned"


async def test_without_memory_nothing_is_made_learned_or_looked_for(tmp_path):
    async with running_edge(tmp_path, memory="off") as edge:
        await edge.add("mill.md", MILL)
        await judge(edge, await edge.ask(WHEN), "right")
        again = await edge.ask(WHEN)
        assert (again["route"] == "memory", again["memory"]) == (False, None)
        assert edge.node.fast_path.looked == 0
        assert (await edge.http.get("/v1/memories")).json() == {"memories": [], "next": None}
