"""Jobs: what a waiting client sees while its document is worked on, and what it can do about it."""

import asyncio
import threading

import pytest

from edge_node.api import documents
from edge_node.documents.estimate import Rates
from edge_node.documents.progress import JobProgress, Step
from tests.support.waiting import until

PUMPS = "Juniper Ward reported the failure of four infusion pumps."


async def post(edge, name="report.md", text=PUMPS):
    return (await edge.http.post("/v1/documents", json={"name": name, "text": text})).json()


async def job(edge, job_id):
    return (await edge.http.get(f"/v1/jobs/{job_id}")).json()


@pytest.fixture
async def held(edge, monkeypatch):
    """The edge; its worker sleeps on."""
    await edge.settled()
    monkeypatch.setattr(edge.node.worker, "wake", lambda: None)
    return edge


@pytest.fixture
async def slow(edge, monkeypatch):
    """The edge; what is added waits for the event ``go``."""
    edge.go, edge.begun, add = asyncio.Event(), asyncio.Event(), edge.node.strategy.add

    async def waits(chunks, progress, turn):
        edge.begun.set()
        await edge.go.wait()
        return await add(chunks, progress, turn)

    monkeypatch.setattr(edge.node.strategy, "add", waits)
    return edge


async def test_a_job_that_waits_for_a_settle_shows_how_far_that_is(held):
    accepted = await post(held)
    held.node.worker.news.now = Step("summarise", 3, 10)
    seen = await job(held, accepted["job_id"])
    assert (seen["step"], seen["done"], seen["total"], seen["status"]) == ("summarise", 3, 10, "queued")
    assert seen["eta_s"] >= 0


async def test_a_job_behind_another_one_shows_that_it_waits(held):
    accepted = await post(held)
    held.node.worker.news.now = Step("extract", 3, 10, "another job")
    seen = await job(held, accepted["job_id"])
    assert (seen["step"], seen["done"], seen["total"], seen["eta_s"]) == ("queued", 0, 0, None)


async def test_a_job_under_way_shows_its_step_the_time_to_its_end_and_what_the_model_did_since_it_began(held):
    accepted = await post(held)
    progress = JobProgress(Rates(chunk_s=1.0), chunks=10, calls=0, used_before=(2, 30, 10), started=0.0)
    progress.report(Step("embed", 5, 10, accepted["job_id"]), 0.0)
    held.node.worker.news.jobs[accepted["job_id"]] = progress
    for key, value in (("model_calls", "5"), ("tokens_in", "90"), ("tokens_out", "40")):
        held.node.documents.database.set_meta(key, value)
    seen = await job(held, accepted["job_id"])
    assert (seen["step"], seen["done"], seen["total"]) == ("embed", 5, 10)
    assert (seen["calls"], seen["tokens_in"], seen["tokens_out"]) == (3, 60, 30)
    assert seen["eta_s"] > 0


async def test_a_job_that_has_ended_shows_no_later_settle(edge):
    accepted = await edge.add("report.md", PUMPS)
    edge.node.worker.news.now = Step("summarise", 3, 10)
    seen = await job(edge, accepted["job_id"])
    assert (seen["step"], seen["eta_s"]) == ("indexed", None)


async def test_the_events_of_a_job_end_with_gone_when_its_document_is_deleted(held, monkeypatch):
    accepted = await post(held)

    async def deleted_meanwhile(seen, *, wait_s):
        await held.node.remove(accepted["document_id"])

    monkeypatch.setattr(held.node.worker.news, "next_change", deleted_meanwhile)
    text = (await held.http.get(f"/v1/jobs/{accepted['job_id']}/events")).text
    assert [line for line in text.splitlines() if line.startswith("event")] == ["event: progress", "event: gone"]
    assert accepted["job_id"] in text


async def test_the_events_of_a_job_end_when_it_is_cancelled(slow):
    accepted = await post(slow)
    await slow.begun.wait()
    events = asyncio.create_task(slow.http.get(f"/v1/jobs/{accepted['job_id']}/events"))
    cancelled = await slow.http.post(f"/v1/jobs/{accepted['job_id']}/cancel")
    assert cancelled.status_code == 200
    assert '"code":"cancelled"' in (await events).text.splitlines()[-3] + (await events).text


# ---------------------------------------------------------------- cancel and retry


async def test_a_job_under_way_is_cancelled_and_its_old_version_is_still_found(slow):
    slow.go.set()
    old = await slow.add("report.md", PUMPS)
    slow.go.clear()
    slow.begun.clear()
    new = await post(slow, text="The valve was replaced.")
    await slow.begun.wait()
    answer = (await slow.http.post(f"/v1/jobs/{new['job_id']}/cancel")).json()
    assert (answer["status"], answer["code"]) == ("parked", "cancelled")
    slow.go.set()
    await slow.settled()
    found = (await slow.http.post("/v1/retrieve", json={"question": "pumps"})).json()["evidence"]
    assert [item["document_id"] for item in found] == [old["document_id"]]


async def test_a_job_that_has_ended_cannot_be_cancelled_and_one_that_is_whole_not_retried(edge):
    accepted = await edge.add("report.md", PUMPS)
    for action in ("cancel", "retry"):
        answer = await edge.http.post(f"/v1/jobs/{accepted['job_id']}/{action}")
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
        assert answer.json()["next_step"]


async def test_a_cancelled_job_is_retried_with_a_new_one(slow):
    accepted = await post(slow)
    await slow.http.post(f"/v1/jobs/{accepted['job_id']}/cancel")
    answer = await slow.http.post(f"/v1/jobs/{accepted['job_id']}/retry")
    assert answer.status_code == 202
    assert answer.json()["job_id"] != accepted["job_id"]
    slow.go.set()
    await slow.settled()
    assert (await job(slow, answer.json()["job_id"]))["status"] == "indexed"


async def test_an_unknown_action_on_a_job_is_no_route(edge):
    assert (await edge.http.post("/v1/jobs/abc/explode")).status_code in (404, 405)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/documents",
        "/v1/documents/{document_id}",
        "/v1/jobs/{job_id}",
        "/v1/summaries",
        "/v1/status",
        "/v1/graph",
        "/v1/entities",
        "/v1/subgraphs",
    ],
)
async def test_no_route_reads_the_store_on_the_event_loop(edge, path, monkeypatch):
    accepted = await edge.add("report.md", PUMPS)
    threads = []
    for name in ("row", "rows", "stream", "write"):
        original = getattr(edge.node.documents.database, name)

        def spy(*arguments, original=original):
            threads.append(threading.current_thread())
            return original(*arguments)

        monkeypatch.setattr(edge.node.documents.database, name, spy)
    assert (await edge.http.get(path.format(**accepted))).status_code == 200
    assert threads or path in ("/v1/graph", "/v1/entities")  # these are of the caches
    assert threading.main_thread() not in threads


@pytest.mark.parametrize(("pause_s", "looks"), [(3600.0, 1), (0.0, 11)])  # without the pause (the null control) each news is an event
async def test_between_two_events_there_is_a_pause_however_much_there_is_to_tell(slow, monkeypatch, pause_s, looks):
    monkeypatch.setattr(documents, "EVENT_EVERY_S", pause_s)
    accepted = await post(slow)
    await asyncio.wait_for(slow.begun.wait(), 30)
    asked, get = [], slow.node.queue.get
    monkeypatch.setattr(slow.node.queue, "get", lambda job_id: asked.append(job_id) or get(job_id))
    events = asyncio.create_task(slow.http.get(f"/v1/jobs/{accepted['job_id']}/events"))
    await until(lambda: len(asked) == 2)  # the route's own look, and the first event
    for done in range(10):
        await slow.node.worker.news.tell(Step("extract", done, 50, accepted["job_id"]))
        await slow.http.get("/v1/status")
        if looks > 1:
            await until(lambda done=done: len(asked) >= 3 + done)
    assert len(asked) == 1 + looks
    events.cancel()
    await asyncio.wait([events])
