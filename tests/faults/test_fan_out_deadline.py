"""Goal R6, where a deadline decides: on a loop whose time only waiting takes, so that 250 ms mean the same on every machine."""

import asyncio
from random import Random

import httpx2
import pytest

from cloud_server.answering.coordinator import Models
from cloud_server.answering.gathering import EvidenceCollector
from cloud_server.api.app import create_app
from cloud_server.build import build_cloud
from cloud_server.settings import CloudSettings
from shared.http.open_mode import CALLER
from shared.models.fake import HashEmbedder, ScriptedGenerator, WordTokenizer
from shared.records import Summary, SummaryDelta
from shared.wire import DEADLINE_HEADER, EvidenceBody, EvidenceReply
from tests.support.signed import URL
from tests.support.skipping_loop import LoopClock, SkippingLoop, run_sync

QUESTION = "When was the pump P-204 replaced?"
FAN_OUT_S = 5.0
SLACK_S = 0.25
NEVER = 10_000.0
EDGES = {  # seconds until it replies, and how
    "good-a": (0.1, "passage"), "good-b": (0.4, "passage"), "refuse-a": (0.1, "refusal"), "refuse-b": (0.2, "refusal"),
    "garbage-a": (0.3, "garbage"), "garbage-b": (0.3, "garbage"), "hole": (NEVER, ""), "drip": (FAN_OUT_S + 0.1, "passage"),
    "absent": None, "absent-b": None,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _no_thread_that_the_loop_does_not_know(monkeypatch):
    monkeypatch.setattr("anyio.to_thread.run_sync", run_sync)


async def reply(cloud, edge, request):
    wait_s, how = EDGES[edge]
    await asyncio.sleep(wait_s)
    if how == "garbage":
        await cloud.fan_out.spoil(edge, request.request_id, "its reply is not of the agreed form")
    elif request.request_id in cloud.fan_out._pending:
        text = f"The pump P-204 was replaced in March, says {edge}."
        passage = EvidenceBody(document_id="d", document="a.md", chunk_id="d:0", span=(0, len(text)), text=text)
        body = EvidenceReply(refused="policy") if how == "refusal" else EvidenceReply(evidence=[passage])
        await cloud.fan_out.deliver(edge, request.request_id, body, size=200)


async def serve(cloud, edge):
    replying = set()
    try:
        while True:
            for request in await cloud.mailbox.poll(edge, wait_s=25):
                replying.add(asyncio.create_task(reply(cloud, edge, request)))
    finally:
        for task in replying:
            task.cancel()
        await asyncio.gather(*replying, return_exceptions=True)


def run(folder, asking, *, generator=None, **changes):
    """``await asking(ask)`` beside a cloud and ten edges; ``await ask(deadline_s)`` gives (status, seconds, answer)."""

    async def main():
        loop = asyncio.get_running_loop()
        settings = CloudSettings(
            state_dir=folder, match_threshold=0.1, evidence_threshold=0.1, verify=False, match_m=10, edges_k=10, slots_per_edge=1,
            match_lead=0,
            deadline_s=FAN_OUT_S, requests_per_minute=1_000_000, breaker_failures=1_000_000, **changes,
        )  # fmt: skip
        answering = ScriptedGenerator(lambda _: "In March [1] [2].", lambda _: {"Yes": -0.1})
        models = Models(HashEmbedder(256), generator or answering, WordTokenizer())
        cloud = build_cloud(settings, models, clock=LoopClock(loop))
        app = create_app(cloud)
        http = httpx2.AsyncClient(headers=CALLER, transport=httpx2.ASGITransport(app), base_url=URL)

        async def ask(deadline_s):
            started = loop.time()
            headers = {DEADLINE_HEADER: str(round(deadline_s * 1000))}
            response = await http.post("/v1/questions", json={"question": QUESTION}, headers=headers)
            return response.status_code, loop.time() - started, response.json()

        async with app.router.lifespan_context(app), http:
            for edge in EDGES:
                cloud.registry.enrol(edge)
                about = (Summary("s", f"the pump P-204 replaced {edge}", 1, 1),)
                await cloud.summary_index.accept(edge, SummaryDelta("e", 0, 1, about, ()))
            serving = [asyncio.create_task(serve(cloud, edge)) for edge, how in EDGES.items() if how]
            await asyncio.sleep(0.01)
            try:
                return await asking(ask)
            finally:
                for task in serving:
                    task.cancel()
                await asyncio.gather(*serving, return_exceptions=True)

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(main())


def asked_once(folder, deadline_s, **changes):
    return run(folder, lambda ask: ask(deadline_s), **changes)


def test_who_never_replies_costs_the_sites_deadline_and_no_more(tmp_path):
    status, seconds, answer = asked_once(tmp_path, 60.0)
    assert (status, answer["answered"], answer["partial"]) == (200, True, True)
    assert FAN_OUT_S <= seconds <= FAN_OUT_S + SLACK_S
    reports = {report["edge"]: report["status"] for report in answer["edges"]}
    assert (reports["hole"], reports["drip"], reports["good-b"], reports["garbage-a"]) == ("late", "late", "answered", "failed")


def test_without_that_deadline_it_costs_more(tmp_path, monkeypatch):
    monkeypatch.setattr(EvidenceCollector, "_retrieval_s", lambda *_: 50.0)
    _, seconds, answer = asked_once(tmp_path, 60.0, straggler_s=50.0)
    assert seconds > FAN_OUT_S
    assert {report["edge"]: report["status"] for report in answer["edges"]}["drip"] == "answered"


def test_every_asker_has_its_answer_by_its_own_deadline(tmp_path):
    """Half of an asker's time is for the edges: with one second, good-b still counts."""
    rng = Random(6)

    async def asking(ask):
        return [(deadline_s, *await ask(deadline_s)) for deadline_s in (rng.uniform(1.0, 12.0) for _ in range(100))]

    for deadline_s, status, seconds, answer in run(tmp_path, asking):
        assert (status, answer["answered"]) == (200, True)
        assert seconds <= min(FAN_OUT_S, deadline_s / 2) + SLACK_S
        assert {citation["edge"] for citation in answer["citations"]} == {"good-a", "good-b"}


def test_a_model_that_hangs_ends_with_the_askers_time(tmp_path):
    class Hanging(ScriptedGenerator):
        async def generate(self, prompt, *, deadline_s):
            await asyncio.Event().wait()

    status, seconds, _ = asked_once(tmp_path, 8.0, generator=Hanging(lambda _: ""))
    assert status >= 400
    assert 7.75 <= seconds <= 8.0 + SLACK_S


@pytest.mark.parametrize("at_once", [1, 3])
def test_waiting_for_a_turn_counts(tmp_path, at_once):
    async def asking(ask):
        return await asyncio.gather(*(ask(8.0) for _ in range(12)))

    results = run(tmp_path, asking, questions_at_once=at_once)
    assert all(seconds <= 8.0 + SLACK_S for _, seconds, _ in results)
    assert sum(status == 200 for status, _, _ in results) >= at_once
