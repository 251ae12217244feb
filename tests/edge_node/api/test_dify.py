"""Dify's contract of external knowledge bases, as it publishes it: docs.dify.ai, "External Knowledge API"."""

import pytest

from shared.records import ChunkId, DocumentId, EdgeId, Evidence
from tests.support.federation import PLANT, REFUSAL, federation
from tests.support.issuer import AUDIENCE, running_issuer
from tests.support.live_edge import left, made_key
from tests.support.running_edge import running_edge

PUMPS = "Juniper Ward reported the failure of four infusion pumps."
ASKED = {"knowledge_id": "ward", "query": "Which ward?", "retrieval_setting": {"top_k": 5, "score_threshold": 0.0}}


async def post(edge, headers=None, **fields):
    return await edge.http.post("/retrieval", json={**ASKED, **fields}, headers=headers)


async def test_passages_come_as_records(edge):
    receipt = await edge.add("report.md", PUMPS)
    response = await post(edge)
    assert response.status_code == 200
    (record,) = response.json()["records"]
    assert set(record) == {"content", "score", "title", "metadata"}
    assert (record["content"], record["title"]) == (PUMPS, "report.md")
    assert 0 <= record["score"] <= 1
    assert record["metadata"] == {
        "site": "ward",
        "document_id": receipt["document_id"],
        "span": [0, len(PUMPS)],
        "path": f"dgrag://ward/documents/{receipt['document_id']}#char=0,{len(PUMPS)}",
    }


async def test_no_more_passages_come_than_wanted_and_none_below_the_threshold(edge, monkeypatch):
    async def retrieve(question, trace, *, top_k, **_):
        ids = EdgeId("ward"), DocumentId("d"), "a.md", ChunkId("d:0"), (0, 4)
        return Retrieved(tuple(Evidence(*ids, text, score) for text, score in (("near", 0.9), ("", 0.8), ("far", 0.2), ("off", -0.4))))

    monkeypatch.setattr(edge.node.answerer.search, "retrieve", retrieve)
    for top_k, threshold, expected in ((5, 0.0, ["near", "far", "off"]), (5, 0.5, ["near"]), (1, 0.0, ["near"]), (5, 0.95, [])):
        found = (await post(edge, retrieval_setting={"top_k": top_k, "score_threshold": threshold})).json()["records"]
        assert [one["content"] for one in found] == expected
        assert all(one["score"] >= threshold for one in found)


class Retrieved:
    def __init__(self, evidence):
        self.evidence = evidence


async def test_nothing_found_is_an_empty_list(edge):
    assert (await post(edge)).json() == {"records": []}


@pytest.mark.parametrize(
    ("fields", "status", "code", "said"),
    [
        ({"knowledge_id": "elsewhere"}, 404, 2001, "use 'ward' or 'all-sites'"),
        ({"query": " "}, 422, 422, "the question is blank"),
        ({"retrieval_setting": {"top_k": 0, "score_threshold": 0.5}}, 422, 422, "top_k"),
        ({"retrieval_setting": {"top_k": 5, "score_threshold": 1.5}}, 422, 422, "score_threshold"),
        ({"metadata_condition": {"conditions": [{"name": "a", "comparison_operator": "empty"}]}}, 400, 400, "is not understood"),
    ],
)
async def test_errors_have_its_form(edge, fields, status, code, said):
    response = await post(edge, **fields)
    assert (response.status_code, response.json()["error_code"]) == (status, code)
    assert said in response.json()["error_msg"]


async def test_credentials_are_those_of_rest_with_its_codes(tmp_path):
    key = made_key(tmp_path, "read")
    async with running_edge(tmp_path) as edge:
        for headers, status, code in (
            (None, 401, 1001),
            ({"Authorization": "Basic x"}, 401, 1001),
            ({"Authorization": "Bearer dgk_x"}, 401, 1002),
            ({"Authorization": f"Bearer {key}"}, 200, None),  # null control
        ):
            response = await post(edge, headers)
            assert (response.status_code, response.json().get("error_code")) == (status, code)


async def test_a_token_that_opens_nothing_has_the_code_of_a_key_that_does_not(tmp_path):
    with running_issuer() as issuer:
        async with running_edge(tmp_path, oidc_issuer=issuer.url, oidc_audience=AUDIENCE) as edge:
            said = [
                (issuer.token(), 200, None),
                (issuer.token(exp=1), 401, 1002),
                ("a.b.c", 401, 1002),
                (issuer.token(roles=[]), 403, 1002),
            ]
            for token, status, code in said:
                response = await post(edge, {"Authorization": f"Bearer {token}"})
                assert (response.status_code, response.json().get("error_code")) == (status, code)


async def test_all_sites_are_asked_as_the_policy_says_and_the_ledgers_hold_it(tmp_path):
    members = {"bank": ("The bank lends money to bakeries.", REFUSAL), "plant": (PLANT, REFUSAL)}
    async with federation(tmp_path, cloud_answer="-", edge_answers=members) as (edges, _, _):
        query = "Which lot of the battery pack caused the failure of infusion pumps?"
        found = (await post(edges["bank"], knowledge_id="all-sites", query=query)).json()["records"]
        assert "plant" in {one["metadata"]["site"] for one in found}
        gone = {name: left(edge) for name, edge in edges.items()}
    assert "question" in gone["bank"]
    assert "evidence" in gone["plant"]
