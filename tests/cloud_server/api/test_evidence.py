"""POST /v1/evidence: who may call it, and the two forms of its answer."""

import asyncio

import pytest

from shared.evidence import FindLine, Found, FoundPassage, checked_found
from shared.records import ChunkId, DocumentId, EdgeId, Evidence
from shared.wire import NDJSON

SEARCH = {"question": "When was the infusion pump P-204 replaced?"}
PUMP = "The infusion pump P-204 was replaced in March by Marlow."


async def found(service, kit, *, headers=None, **body):
    await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
    serving = asyncio.create_task(kit.serve_once(service.http, "ward", kit.evidence(PUMP)))
    await kit.until(lambda: service.cloud.mailbox.online("ward"))
    response = await service.http.post("/v1/evidence", json={**SEARCH, **body}, headers=headers)
    return response, (await serving)[0]


async def test_an_operator_reads_the_passages_and_no_model_is_asked(service, kit):
    response, request = await found(service, kit, purpose="treatment")
    (passage,) = response.json()["evidence"]
    assert (passage["edge"], passage["text"], passage["document"]) == ("ward", PUMP, "doc.md")
    assert (request["purpose"], request["whole"], request["requester"]) == ("treatment", True, "operator:local")
    assert service.cloud.models.generator.prompts == []


async def test_lines_say_that_the_cloud_lives_and_then_what_it_found(service, kit):
    response, _ = await found(service, kit, headers={"accept": NDJSON})
    first, *_, last = [FindLine.model_validate_json(line) for line in response.text.splitlines()]
    assert (first.found, first.problem) == (None, None)
    assert last.found.evidence[0].text == PUMP


@pytest.mark.parametrize(("quotable", "shown"), [(True, (PUMP, "Pumps")), (False, ("", ""))])
def test_words_and_title_are_shown_where_they_may_be_quoted(quotable, shown):
    passage = Evidence(EdgeId("ward"), DocumentId("d"), "doc.md", ChunkId("d:0"), (0, len(PUMP)), PUMP, 0.5, quotable, "Pumps")
    told = FoundPassage.of(passage)
    assert (told.text, told.title) == shown
    assert told.to_record().title == shown[1]


async def test_bounds_are_bounds(service):
    for wrong in ({"budget_tokens": 20_001}, {"top_k": 201}, {"top_k": 0}, {"question": ""}, {"n": 1}):
        assert (await service.http.post("/v1/evidence", json={**SEARCH, **wrong})).status_code == 422


def test_what_a_cloud_says_of_edges_is_made_inert():
    assert checked_found(Found(reason="[a](http://x.example) <b>")).reason.strip() == "a"
