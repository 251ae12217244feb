import asyncio
import logging
import shutil
from pathlib import Path

import pytest

from cloud_server.routing.renewal import Renewal
from shared.errors import ModelUnavailable, StoreError
from shared.http.keyring import KeyRing
from shared.identity import make_identity
from shared.models.fake import ScriptedGenerator
from shared.records import EdgeId, EdgeReport
from tests.support.signed import join

PUMP = "The infusion pump P-204 was replaced in March by Marlow."


def check_problem(response, status, code=None):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert set(body) == {"type", "title", "status", "detail", "code", "next_step", "request"}
    assert body["request"] == response.headers["x-request-id"]
    assert body["status"] == status
    if code:
        assert body["code"] == code
    return body


async def test_joining_and_greeting_say_what_the_cloud_knows(service, kit):
    cloud_key = service.cloud.credentials.identity.public_key
    response = await kit.join(service.http, "ward")
    known = {"edge": "ward", "epoch": "", "version": 0, "memory_epoch": "", "memory_version": 0, "cloud_key": cloud_key, "wire_version": 6}
    assert (response.status_code, response.json()) == (201, known)
    known |= {"epoch": "e1", "version": 3}
    body = kit.delta(0, 3, kit.summary("s1", "pumps"))
    assert (await service.http.put("/v1/edges/ward/summaries", json=body)).json() == known
    assert (await service.http.get("/v1/edges/ward?wire_version=6")).json() == known
    assert (await kit.join(service.http, "ward")).json() == known


async def test_a_cloud_that_has_stopped_holds_no_file_open(tmp_path, kit):
    async with kit.running(tmp_path):
        assert open_files(tmp_path)
    assert open_files(tmp_path) == []


async def test_a_copy_of_a_stopped_clouds_folder_is_that_cloud_again(tmp_path, kit):
    async with kit.running(tmp_path / "cloud") as service:
        await kit.enrol(service.http, "ward", "pumps")
        key = service.cloud.credentials.identity.public_key
    shutil.copytree(tmp_path / "cloud", tmp_path / "copy")
    async with kit.running(tmp_path / "copy") as service:
        known = (await kit.join(service.http, "ward")).json()
        (row,) = (await service.http.get("/v1/edges")).json()["edges"]
    assert (known["cloud_key"], row["edge"], row["summaries"]) == (key, "ward", 1)


def open_files(folder):
    links = [descriptor.readlink() for descriptor in Path("/proc/self/fd").iterdir() if descriptor.is_symlink()]
    return [link for link in links if link.is_relative_to(folder)]


async def test_a_delta_sent_twice_counts_once(service, kit):
    await kit.enrol(service.http, "ward", "pumps")
    body = kit.delta(1, 2, kit.summary("s9", "bridges"))
    for _ in range(2):
        assert (await service.http.put("/v1/edges/ward/summaries", json=body)).json()["version"] == 2
    (row,) = (await service.http.get("/v1/edges")).json()["edges"]
    assert (row["edge"], row["summaries"], row["version"], row["online"]) == ("ward", 2, 2, False)


async def test_a_delta_out_of_order_is_told_to_resync_and_a_snapshot_heals(service, kit):
    await kit.enrol(service.http, "ward", "pumps")
    response = await service.http.put("/v1/edges/ward/summaries", json=kit.delta(4, 5))
    assert "snapshot" in check_problem(response, 409, "resync")["next_step"]
    response = await service.http.put("/v1/edges/ward/summaries", json=kit.delta(0, 5, kit.summary("s1", "bridges")))
    assert response.json()["version"] == 5


async def test_a_delta_of_a_replaced_store_is_refused(service, kit):
    await kit.enrol(service.http, "ward", "pumps")
    await service.http.put("/v1/edges/ward/summaries", json=kit.delta(0, 1, epoch="e2"))
    check_problem(await service.http.put("/v1/edges/ward/summaries", json=kit.delta(1, 2)), 409, "stale_epoch")


async def test_an_edge_that_nobody_let_in_is_401_everywhere(service, kit):
    http = service.http
    check_problem(await http.get("/v1/edges/nobody"), 401, "unknown_key")
    check_problem(await http.put("/v1/edges/nobody/summaries", json=kit.delta(0, 1)), 401, "unknown_key")
    check_problem(await http.post("/v1/edges/nobody/poll?wait_s=0"), 401, "unknown_key")
    check_problem(await http.post("/v1/edges/nobody/replies/r1", json={}), 401, "unknown_key")
    check_problem(await http.delete("/v1/edges/nobody"), 404, "not_found")


async def test_a_question_travels_to_the_edge_and_back(service, kit):
    await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
    serving = asyncio.create_task(kit.serve_once(service.http, "ward", kit.evidence(PUMP)))
    await kit.until(lambda: service.cloud.mailbox.online("ward"))
    response = await service.http.post("/v1/questions", json={"question": "When was the infusion pump P-204 replaced?"})
    request, replied = await serving
    assert request["question"] == "When was the infusion pump P-204 replaced?"
    assert replied.status_code == 204
    answer = response.json()
    assert (response.status_code, answer["answered"], answer["route"]) == (200, True, "cloud")
    assert answer["citations"][0]["edge"] == "ward"
    late = await service.http.post(f"/v1/edges/ward/replies/{request['request_id']}", json={})
    check_problem(late, 404, "not_found")


@pytest.mark.parametrize("traced", [False, True])
async def test_a_request_has_its_place_in_a_trace_for_an_edge_that_reads_it_and_for_no_other(service, kit, traced):
    await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
    poll = "/v1/edges/ward/poll?wait_s=5" + "&traced=true" * traced
    await service.http.post("/v1/edges/ward/poll?wait_s=0")
    body, headers = {"question": "infusion pump P-204 replaced?"}, {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
    asking = asyncio.create_task(service.http.post("/v1/questions", json=body, headers=headers))
    (request,) = (await service.http.post(poll)).json()["requests"]
    asking.cancel()
    assert request.get("traceparent", "")[:36] == (f"00-{'a' * 32}-" if traced else "")
    assert ("traceparent" in request) is traced


async def test_the_callers_remaining_time_bounds_the_answer(service, kit):
    await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
    await service.http.post("/v1/edges/ward/poll?wait_s=0")
    response = await service.http.post("/v1/questions", json={"question": "infusion pump P-204 replaced?"}, headers={"deadline-ms": "200"})
    assert response.json()["edges"][0]["status"] == "late"
    assert response.json()["edges"][0]["ms"] < 2_000


async def test_matching_alone_asks_nobody(service, kit):
    await kit.enrol(service.http, "ward", "infusion pumps", "nurses")
    await kit.enrol(service.http, "bank", "loans")
    as_for_an_answer = (await service.http.post("/v1/match", json={"question": "infusion pumps", "m": 2})).json()["matches"]
    assert [(one["edge"], one["summary_id"], one["score"]) for one in as_for_an_answer] == [("ward", "s0", pytest.approx(1.0))]
    body = {"question": "infusion pumps", "m": 2, "min_score": -1.0}
    matches = (await service.http.post("/v1/match", json=body)).json()["matches"]
    assert len(matches) == 2
    assert matches[0]["score"] >= matches[1]["score"]


async def test_admins_see_the_texts_of_the_summaries_that_match_and_readers_do_not(service, kit):
    await kit.enrol(service.http, "ward", "infusion pumps", "nurses")
    ring = KeyRing(service.cloud.settings.state_dir)
    tokens = {role: ring.add(role, role, now=0.0) for role in ("read", "admin")}
    ring.close()
    seen = {}
    for role, token in tokens.items():
        body, headers = {"question": "infusion pumps", "m": 1}, {"authorization": f"Bearer {token}"}
        (match,) = (await service.http.post("/v1/match", json=body, headers=headers)).json()["matches"]
        seen[role] = (match["edge"], match["text"])
    assert seen == {"read": ("ward", ""), "admin": ("ward", "infusion pumps")}


async def test_the_list_of_edges_tells_what_a_map_of_the_federation_shows(service, kit):
    await kit.enrol(service.http, "ward", "infusion pumps")
    failed = [EdgeReport(EdgeId("ward"), "evidence", "failed", 1.0, 0, 0, "")]
    for _ in range(service.cloud.settings.breaker_failures):
        await service.cloud.availability.note(failed, matched=[], useful=[])
    (row,) = (await service.http.get("/v1/edges")).json()["edges"]
    assert (row["breaker"], 0 < row["breaker_s"] <= service.cloud.settings.breaker_s, row["asked"]) == ("open", True, 1.0)
    assert (row["online"], row["summaries"], row["quarantined"], row["reliability"]) == (False, 1, "", 1.0)


async def test_a_poll_is_held_no_longer_than_the_setting(tmp_path, kit):
    async with kit.running(tmp_path, max_poll_s=0.01) as service:
        await kit.enrol(service.http, "ward", "pumps")
        assert (await service.http.post("/v1/edges/ward/poll?wait_s=60")).json() == {"requests": [], "withdrawn": []}


async def test_a_poll_whose_caller_has_gone_is_let_go(service, kit):
    await kit.enrol(service.http, "ward", "pumps")
    sent = []

    async def receive():
        if len(sent) == 0:
            sent.append(1)
            return {"type": "http.request", "body": b"", "more_body": False}
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    flow = kit.signed(service.http, "ward").auth_flow(service.http.build_request("POST", "/v1/edges/ward/poll"))
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/edges/ward/poll",
        "raw_path": b"/v1/edges/ward/poll",
        "headers": [(name.lower(), value) for name, value in next(flow).headers.raw],
        "query_string": b"",
        "http_version": "1.1",
    }
    await asyncio.wait_for(service.app(scope | {"root_path": "", "scheme": "http"}, receive, send), 5)
    assert service.cloud.mailbox._boxes["ward"].waiting is None


async def test_expelling_purges_and_ends_the_poll_at_once(service, kit):
    await kit.enrol(service.http, "ward", "pumps", "nurses")
    held = asyncio.create_task(service.http.post("/v1/edges/ward/poll?wait_s=60"))
    await kit.until(lambda: service.cloud.mailbox.online("ward"))
    response = await service.http.delete("/v1/edges/ward")
    assert response.json() == {"edge": "ward", "summaries": 2}
    assert (await held).json() == {"requests": [], "withdrawn": []}
    assert (await service.http.post("/v1/match", json={"question": "pumps"})).json() == {"matches": [], "edges": []}
    assert (await service.http.get("/v1/edges")).json() == {"edges": []}


async def test_an_expelled_edge_is_refused_everywhere_until_it_is_readmitted(service, kit):
    http = service.http
    await kit.enrol(http, "ward", "pumps")
    await http.delete("/v1/edges/ward")
    check_problem(await kit.join(http, "ward"), 403, "expelled")
    check_problem(await http.get("/v1/edges/ward?wire_version=6"), 403, "expelled")
    check_problem(await http.post("/v1/edges/ward/poll?wait_s=0"), 403, "expelled")
    check_problem(await http.post("/v1/questions", json={"question": "pumps?"}, auth=kit.signed(http, "ward")), 403, "expelled")
    assert (await http.post("/v1/edges/ward/readmit")).status_code == 204
    check_problem(await http.get("/v1/edges/ward?wire_version=6"), 401, "unknown_key")
    assert (await kit.join(http, "ward")).status_code == 201
    check_problem(await http.post("/v1/edges/ward/readmit"), 404, "not_found")


async def test_an_edge_is_listed_with_the_time_of_its_last_sync(service, kit):
    await kit.join(service.http, "ward")

    async def synced():
        (row,) = (await service.http.get("/v1/edges")).json()["edges"]
        return row["synced"]

    assert await synced() == 0.0
    await service.http.put("/v1/edges/ward/summaries", json=kit.delta(0, 1, kit.summary("s1", "pumps")))
    first = await synced()
    assert first > 0.0
    await service.http.put("/v1/edges/ward/summaries", json=kit.delta(0, 1, kit.summary("s1", "pumps")))  # it is there already
    assert await synced() == first
    await service.http.delete("/v1/edges/ward")
    await service.http.post("/v1/edges/ward/readmit")
    await kit.join(service.http, "ward")
    assert await synced() == 0.0


async def test_open_invitations_are_listed_without_tokens_and_withdrawn_by_the_edges_name(service, kit):
    made = [(await service.http.post("/v1/invites", json={"edge": edge})).json() for edge in ("plant", "plant", "bank")]
    listed = await service.http.get("/v1/invites")
    assert [one["edge"] for one in listed.json()["invites"]] == ["bank", "plant", "plant"]
    assert listed.json()["invites"][0] == {"edge": "bank", "expires": made[2]["expires"], "replace": False}
    assert (await service.http.delete("/v1/invites/plant")).status_code == 204
    assert [one["edge"] for one in (await service.http.get("/v1/invites")).json()["invites"]] == ["bank"]
    check_problem(await join(service.http, "plant", make_identity(), invitation=made[0]["token"]), 403, "forbidden")
    check_problem(await service.http.delete("/v1/invites/plant"), 404, "not_found")


async def test_who_is_shut_out_is_listed_until_it_is_readmitted(service, kit):
    await kit.join(service.http, "ward")
    await service.http.delete("/v1/edges/ward")
    (row,) = (await service.http.get("/v1/expelled")).json()["expelled"]
    assert (row["edge"], row["at"] > 0) == ("ward", True)
    await service.http.post("/v1/edges/ward/readmit")
    assert (await service.http.get("/v1/expelled")).json() == {"expelled": []}


async def test_a_quarantined_edge_is_listed_with_the_reason_and_keeps_its_line(service, kit):
    http = service.http
    await kit.enrol(http, "ward", "pumps")
    assert (await http.post("/v1/edges/ward/quarantine", json={"reason": "odd summaries"})).status_code == 204
    (row,) = (await http.get("/v1/edges")).json()["edges"]
    assert row["quarantined"] == "odd summaries"
    assert (await http.put("/v1/edges/ward/summaries", json=kit.delta(1, 2, kit.summary("s2", "nurses")))).status_code == 200
    assert (await http.post("/v1/edges/ward/release")).status_code == 204
    (row,) = (await http.get("/v1/edges")).json()["edges"]
    assert row["quarantined"] == ""


async def test_an_edge_that_never_joined_cannot_be_set_aside_or_released(service):
    check_problem(await service.http.post("/v1/edges/nobody/quarantine", json={}), 404, "not_found")
    check_problem(await service.http.post("/v1/edges/nobody/release"), 404, "not_found")


async def test_an_edge_of_another_protocol_version_is_refused_with_both_named(service):
    response = await join(service.http, "ward", make_identity(), wire_version=1)
    detail = check_problem(response, 409, "wire_version")["detail"]
    assert "edge speaks version 1" in detail
    assert "cloud speaks version 6" in detail


async def test_an_edge_that_joined_before_and_speaks_an_older_version_is_told_so_when_it_greets(service, kit):
    await kit.join(service.http, "ward")
    for said, told in (("", 5), ("?wire_version=7", 7)):  # up to version 5 an edge said nothing
        detail = check_problem(await service.http.get(f"/v1/edges/ward{said}"), 409, "wire_version")["detail"]
        assert f"edge speaks version {told} of the protocol, the cloud speaks version 6" in detail


async def test_a_model_that_is_away_is_a_503_problem(tmp_path, kit):
    def away(_):
        raise ModelUnavailable("the model server cannot be reached", next_step="start it")

    async with kit.running(tmp_path, generator=ScriptedGenerator(away)) as service:
        await kit.enrol(service.http, "ward", "infusion pump P-204 replaced")
        serving = asyncio.create_task(kit.serve_once(service.http, "ward", kit.evidence(PUMP)))
        await kit.until(lambda: service.cloud.mailbox.online("ward"))
        response = await service.http.post("/v1/questions", json={"question": "When was the infusion pump P-204 replaced?"})
        await serving
    check_problem(response, 503, "model_unavailable")


async def test_health_ready_and_metrics(service, kit):
    await kit.enrol(service.http, "ward", "pumps")
    assert (await service.http.get("/health")).json() == {"status": "ok"}
    assert (await service.http.get("/ready")).json() == {"ready": True, "edges": 1, "summaries": 1}
    assert "dgrag_summaries 1.0" in (await service.http.get("/metrics")).text
    service.app.state.ready = False
    assert (await service.http.get("/ready")).status_code == 503


async def test_summaries_survive_a_restart(tmp_path, kit):
    async with kit.running(tmp_path) as service:
        await kit.enrol(service.http, "ward", "infusion pumps")
    async with kit.running(tmp_path) as service:
        matches = (await service.http.post("/v1/match", json={"question": "infusion pumps"})).json()["matches"]
        assert [m["edge"] for m in matches] == ["ward"]


async def test_a_state_folder_that_cannot_be_used_is_a_store_error(tmp_path, kit):
    (tmp_path / "state").write_text("a file, not a folder")
    with pytest.raises(StoreError):
        async with kit.running(tmp_path / "state"):
            pass


async def test_the_log_has_one_line_a_request_and_no_content(service, kit, caplog):
    with caplog.at_level(logging.INFO, logger="dgrag.cloud.access"):
        await service.http.post("/v1/questions", json={"question": "secret diagnosis"})
        await service.http.delete("/v1/edges/ward-of-secrets")
        await service.http.get("/secret%0Aforged line")
    assert len(caplog.messages) == 3
    assert caplog.messages[0].startswith("POST /v1/questions 200 ")
    assert caplog.messages[1].startswith("DELETE /v1/edges/{edge} 404 ")
    assert caplog.messages[2].startswith("GET - 404 ")
    assert "secret" not in caplog.text


async def test_a_cloud_one_of_whose_tasks_breaks_is_neither_ready_nor_healthy_and_logs_why(tmp_path, kit, monkeypatch, caplog):
    async def breaks(_):
        raise error

    async def statuses(http):
        return [(await http.get(path)).status_code for path in ("/ready", "/health")]

    error = ValueError("odd")
    async with kit.running(tmp_path / "whole") as whole:
        assert await statuses(whole.http) == [200, 200]
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
    monkeypatch.setattr(Renewal, "run", breaks)
    async with kit.running(tmp_path / "broken") as broken:
        await kit.until(lambda: not broken.app.state.healthy)
        assert await statuses(broken.http) == [503, 503]
    (record,) = [record for record in caplog.records if record.levelno == logging.CRITICAL]
    assert "breaks has ended" in record.message
    assert "ValueError at test_app.py:" in record.message
    assert "odd" not in record.message
