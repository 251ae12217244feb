"""Jobs: what a waiting client sees while its document is worked on, and when it is deleted meanwhile."""

import threading

import pytest

from edge_node.ingest.worker import Step

PUMPS = "Juniper Ward reported the failure of four infusion pumps."


async def post(edge, name="report.md"):
    return (await edge.http.post("/v1/documents", json={"name": name, "text": PUMPS})).json()


async def job(edge, job_id):
    return (await edge.http.get(f"/v1/jobs/{job_id}")).json()


@pytest.fixture
async def held(edge, monkeypatch):
    """The edge; its worker sleeps on."""
    await edge.settled()
    monkeypatch.setattr(edge.node.worker, "wake", lambda **_: None)
    return edge


async def test_a_job_that_waits_for_a_settle_shows_how_far_that_is(held):
    accepted = await post(held)
    held.node.worker.now = Step("summarise", 3, 10)
    seen = await job(held, accepted["job_id"])
    assert (seen["step"], seen["done"], seen["total"], seen["status"]) == ("summarise", 3, 10, "queued")
    assert seen["eta_s"] >= 0


async def test_a_job_behind_another_one_shows_that_it_waits(held):
    accepted = await post(held)
    held.node.worker.now = Step("extract", 3, 10, "another job")
    seen = await job(held, accepted["job_id"])
    assert (seen["step"], seen["done"], seen["total"], seen["eta_s"]) == ("queued", 0, 0, None)


async def test_a_job_that_has_ended_shows_no_later_settle(edge):
    accepted = await edge.add("report.md", PUMPS)
    edge.node.worker.now = Step("summarise", 3, 10)
    seen = await job(edge, accepted["job_id"])
    assert (seen["step"], seen["eta_s"]) == ("indexed", None)


async def test_the_events_of_a_job_end_with_gone_when_its_document_is_deleted(held, monkeypatch):
    accepted = await post(held)

    async def deleted_meanwhile(seen, *, wait_s):
        await held.node.remove(accepted["document_id"])
        return seen

    monkeypatch.setattr(held.node.worker, "next_change", deleted_meanwhile)
    text = (await held.http.get(f"/v1/jobs/{accepted['job_id']}/events")).text
    assert [line for line in text.splitlines() if line.startswith("event")] == ["event: progress", "event: gone"]
    assert accepted["job_id"] in text


@pytest.mark.parametrize("action", ["cancel", "retry"])
async def test_a_job_is_cancelled_or_retried_by_a_later_release(edge, action):
    assert (await edge.http.post(f"/v1/jobs/abc/{action}")).status_code == 501


async def test_an_unknown_action_on_a_job_is_bad_input(edge):
    assert (await edge.http.post("/v1/jobs/abc/explode")).status_code == 422


@pytest.mark.parametrize("path", ["/v1/documents", "/v1/documents/{document_id}", "/v1/jobs/{job_id}", "/v1/summaries", "/v1/status"])
async def test_no_route_reads_the_store_on_the_event_loop(edge, path, monkeypatch):
    accepted = await edge.add("report.md", PUMPS)
    threads = []
    for name in ("row", "rows"):
        original = getattr(edge.node.documents.database, name)

        def spy(*arguments, original=original):
            threads.append(threading.current_thread())
            return original(*arguments)

        monkeypatch.setattr(edge.node.documents.database, name, spy)
    assert (await edge.http.get(path.format(**accepted))).status_code == 200
    assert threads
    assert threading.main_thread() not in threads
