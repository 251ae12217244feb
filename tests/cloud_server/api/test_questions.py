import asyncio
import json

import pytest

from shared.errors import ModelTimeout
from shared.records import Answer
from shared.wire import NDJSON, AskLine
from tests.support.metrics_pages import samples_of

QUESTION = {"question": "When was the infusion pump P-204 replaced?", "query_id": "q1"}
PUMP = "The infusion pump P-204 was replaced in March by Marlow."
LINES = {"accept": NDJSON}


async def asked(service, kit, *, edge="ward", headers=None, auth=None):
    serving = asyncio.create_task(kit.serve_once(service.http, edge, kit.evidence(PUMP)))
    await kit.until(lambda: service.cloud.mailbox.online(edge))
    response = await service.http.post("/v1/questions", json=QUESTION, headers=headers, auth=auth)
    return response, (await serving)[0]


def failed(service):
    """{code: questions that failed by it}."""
    samples = samples_of(service.cloud.meter.page())
    return {labels[0][1]: count for (name, labels), count in samples.items() if name == "dgrag_questions_failed_total"}


def lines_of(response):
    return [AskLine.model_validate_json(line) for line in response.text.splitlines()]


@pytest.fixture
async def ward(service, kit):
    await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")


@pytest.mark.parametrize("path", ["/v1/questions", "/v1/evidence", "/v1/match"])
async def test_a_question_of_which_nothing_can_be_seen_is_refused(service, path):
    refused = await service.http.post(path, json={"question": " \x00\u200b"})
    assert refused.status_code == 422
    assert "the question is blank" in refused.json()["detail"]


async def test_lines_say_that_the_cloud_lives_and_then_the_answer(service, kit, ward):
    response, _ = await asked(service, kit, headers=LINES)
    assert response.headers["content-type"] == NDJSON
    first, *_, last = lines_of(response)
    assert (first.alive, first.answer, first.problem) == (True, None, None)
    assert last.answer.answered
    plain, _ = await asked(service, kit)
    assert last.answer.answer == plain.json()["answer"]


async def test_lines_come_as_long_as_the_answer_does_not(service, kit, monkeypatch):
    written, release = [], asyncio.Event()

    async def slow(*_, **__):
        await release.wait()
        return Answer("q", "", (), "cloud")

    def counted(line):
        written.append(line)
        if len(written) == 4:
            release.set()
        return b"x"

    monkeypatch.setattr("cloud_server.api.questions.HEARTBEAT_S", 0.01)
    monkeypatch.setattr("cloud_server.api.questions._line", counted)
    service.cloud.coordinator.answer = slow
    await service.http.post("/v1/questions", json=QUESTION, headers=LINES)
    assert len(written) == 5  # four signs of life, and the answer


async def test_an_error_is_the_last_line_as_a_problem(service, kit, ward):
    async def stuck(texts):
        await asyncio.Event().wait()

    service.cloud.models.embedder.embed = stuck
    response = await service.http.post("/v1/questions", json=QUESTION, headers=LINES | {"deadline-ms": "100"})
    assert response.status_code == 200
    last = lines_of(response)[-1]
    assert (last.answer, last.problem["code"], last.problem["status"]) == (None, "deadline_passed", 400)
    plain = await service.http.post("/v1/questions", json=QUESTION, headers={"deadline-ms": "100"})
    assert plain.json() == last.problem | {"request": plain.headers["x-request-id"]}
    assert last.problem["request"] == response.headers["x-request-id"]
    assert failed(service) == {"deadline_passed": 2}


async def test_a_request_for_passages_that_fails_is_no_question_that_failed(service, kit, ward):
    async def stuck(texts):
        raise ModelTimeout(deadline_s=1.0)

    service.cloud.models.embedder.embed = stuck
    asked_for = QUESTION | {"budget_tokens": 50, "top_k": 3}
    assert (await service.http.post("/v1/evidence", json=asked_for)).status_code == 504
    assert failed(service) == {}


@pytest.mark.parametrize("headers", [{}, LINES])
async def test_a_question_that_fails_by_a_surprise_is_counted_as_internal(service, kit, ward, headers):
    async def surprising(*_, **__):
        raise ValueError("a surprise")

    service.cloud.coordinator.answer = surprising
    with pytest.raises(ValueError, match="a surprise"):
        await service.http.post("/v1/questions", json=QUESTION, headers=headers)
    assert failed(service) == {"internal": 1}


async def test_an_answers_trace_begins_with_the_wait_for_a_turn(service, kit, ward):
    response, _ = await asked(service, kit)
    steps = [step["step"] for step in response.json()["trace"]]
    assert (steps[0], steps.count("wait")) == ("wait", 1)
    assert failed(service) == {}


async def test_only_the_services_own_deadline_is_its_own_fault(service, kit, ward):
    async def stuck(texts):
        raise ModelTimeout(deadline_s=1.0)

    service.cloud.models.embedder.embed = stuck
    assert (await service.http.post("/v1/questions", json=QUESTION)).status_code == 504
    assert (await service.http.post("/v1/questions", json=QUESTION, headers={"deadline-ms": "500"})).status_code == 400
    assert (await service.http.post("/v1/questions", json=QUESTION, headers={"deadline-ms": "99"})).status_code == 422


async def test_an_edge_asks_for_itself_whatever_it_says(service, kit, ward):
    await kit.enrol(service.http, "bank", "gardens in Rome")
    _, request = await asked(service, kit, auth=kit.signed(service.http, "bank"))
    assert request["requester"] == "bank"
    refused = await service.http.post("/v1/questions", json=QUESTION | {"edge": "ward"}, auth=kit.signed(service.http, "bank"))
    assert refused.status_code == 422


async def test_an_operator_is_named_as_one(service, kit, ward):
    _, request = await asked(service, kit)
    assert (request["requester"], request["purpose"]) == ("operator:local", None)


async def test_the_purpose_goes_with_the_question(service, kit, ward):
    serving = asyncio.create_task(kit.serve_once(service.http, "ward", kit.evidence(PUMP)))
    await kit.until(lambda: service.cloud.mailbox.online("ward"))
    await service.http.post("/v1/questions", json=QUESTION | {"purpose": "treatment"})
    assert (await serving)[0]["purpose"] == "treatment"


async def test_when_too_many_ask_the_next_is_told_when_to_come_again(tmp_path, kit):
    async with kit.running(tmp_path, questions_at_once=1, questions_waiting=0) as service:
        release = asyncio.Event()

        async def held(*_, **__):
            await release.wait()

        service.cloud.coordinator.answer = held
        first = asyncio.create_task(service.http.post("/v1/questions", json=QUESTION, headers={"deadline-ms": "500"}))
        await kit.until(lambda: service.app.state.admission.running)
        for headers in ({}, LINES):
            response = await service.http.post("/v1/questions", json=QUESTION, headers=headers)
            assert response.status_code == 503
            assert int(response.headers["retry-after"]) >= 1
        assert json.loads((await first).text)["code"] == "deadline_passed"
        assert failed(service) == {"overloaded": 2, "deadline_passed": 1}


async def test_an_operator_sees_what_the_cloud_thinks_of_an_edge(service, kit, ward):
    (row,) = (await service.http.get("/v1/edges")).json()["edges"]
    assert (row["summaries"], row["held_back"], row["reliability"], row["quarantined"]) == (1, 0, 1.0, "")


@pytest.mark.parametrize(
    ("path", "more"), [("questions", {}), ("questions", {"mode": "global"}), ("evidence", {"budget_tokens": 50, "top_k": 3})]
)
async def test_a_quarantined_edge_keeps_its_line_and_asks_nothing_until_it_is_released(service, kit, path, more):
    await kit.enrol(service.http, "bank", "gardens in Rome")
    service.cloud.registry.quarantine("bank", "it asks too much")
    refused = await service.http.post(f"/v1/{path}", json=QUESTION | more, auth=kit.signed(service.http, "bank"))
    assert (refused.status_code, refused.json()["code"]) == (403, "quarantined")
    assert "it asks too much" in refused.json()["detail"]
    assert "dgrag cloud release bank" in refused.text
    assert (await service.http.get("/v1/edges/bank?wire_version=6", auth=kit.signed(service.http, "bank"))).status_code == 200
    service.cloud.registry.release("bank")
    released = await service.http.post(f"/v1/{path}", json=QUESTION | more, auth=kit.signed(service.http, "bank"))
    assert released.status_code == 200
