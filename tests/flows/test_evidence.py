"""Passages of all sites for a reader's own model: POST /v1/retrieve with mode "cloud", over the real routes of both services."""

import httpx2
import pytest

from tests.support.federation import PLANT, WARD, federation

QUESTION = "Which lot caused the failure of the infusion pumps?"
SITES = {"ward": (WARD, "-"), "plant": (PLANT, "-")}


@pytest.fixture
async def sites(tmp_path):
    async with federation(tmp_path, cloud_answer="-", edge_answers=SITES) as parts:
        yield parts


async def find(edge, **body):
    return await edge.http.post("/v1/retrieve", json={"question": QUESTION, "mode": "cloud", **body})


async def test_a_site_reads_the_passages_of_another_and_its_own_without_any_model(sites):
    edges, _, cloud = sites
    said = (await find(edges["ward"])).raise_for_status().json()
    assert {one["edge"] for one in said["evidence"]} == {"ward", "plant"}
    assert {one["text"] for one in said["evidence"]} == {WARD, PLANT}
    assert {(one["edge"], one["status"]) for one in said["edges"]} == {("ward", "answered"), ("plant", "answered")}
    assert (said["degraded"], said["reason"]) == (False, "")
    assert cloud.models.generator.prompts == []
    assert "cloud: fan_out" in [step["step"] for step in said["trace"]]


async def test_top_k_and_budget_bound_what_comes(sites):
    edges, _, _ = sites
    assert len((await find(edges["ward"], top_k=1)).json()["evidence"]) == 1
    (cut,) = (await find(edges["ward"], budget_tokens=40, top_k=1)).json()["evidence"]
    assert len(cut["text"].split()) <= 40


async def test_without_a_line_the_passages_of_this_site_come_with_the_reason(sites):
    edges, lines, _ = sites
    lines["ward"].cut = True
    said = (await find(edges["ward"])).raise_for_status().json()
    assert (said["degraded"], [one["edge"] for one in said["evidence"]]) == (True, ["ward"])
    assert "cannot be reached" in said["reason"]


async def test_a_question_that_may_not_leave_is_refused_and_nothing_leaves(sites):
    edges, _, _ = sites
    response = await find(edges["ward"], allow_escalation="no")
    assert response.status_code == httpx2.codes.BAD_REQUEST
    assert response.json()["code"] == "bad_input"
    assert "question" not in {entry.kind for entry in edges["ward"].node.ledger.entries()}


async def test_the_question_is_in_the_ledger_before_it_leaves(sites):
    edges, _, _ = sites
    await find(edges["ward"])
    assert [entry.kind for entry in edges["ward"].node.ledger.entries()].count("question") == 1


async def test_an_unknown_mode_is_refused(sites):
    edges, _, _ = sites
    assert (await find(edges["ward"], mode="everywhere")).status_code == httpx2.codes.UNPROCESSABLE_CONTENT
