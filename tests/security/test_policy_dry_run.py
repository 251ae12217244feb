"""Goal P2: what a dry run shows is, byte for byte, what is sent next; and it opens no socket."""

import json
import random
import re
import socket

import httpx2
import pytest

from edge_node.build import Adapters
from edge_node.cloud.client import CloudClient
from edge_node.egress.bodies import reply_body
from edge_node.egress.dry_run import shown_sync
from edge_node.egress.ledger import Ledger
from edge_node.settings import EdgeSettings
from edge_node.trial import shown_evidence, trial, trial_sync
from shared.errors import ModelReplyError
from shared.limits import Breaker
from shared.models.fake import HashEmbedder, ScriptedGenerator, WordTokenizer
from shared.ports import SystemClock
from shared.wire import Enrolled, EvidenceRequest
from tests.support.policies import Canary, RandomPolicy, Site, spelling
from tests.support.running_edge import running_edge, scripted
from tests.support.waiting import until

CORPORA = 100


async def sent(graph):
    """The bodies that the real client puts on the wire for a cloud that knows nothing."""
    bodies = []

    def cloud(request):
        bodies.append(request.content)
        return httpx2.Response(200, text=Enrolled(edge="ward").model_dump_json())

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(cloud), base_url="http://cloud") as http:
        client = CloudClient(http, "ward", Ledger(graph.database, SystemClock()), Breaker(3, 30.0, SystemClock()), patience_s=0.9)
        epoch, version = "", 0
        while version != graph.version():
            delta = graph.delta(epoch=epoch, version=version)
            await client.push(delta)
            epoch, version = delta.epoch, delta.version
    return bodies


@pytest.mark.campaign
async def test_the_dry_runs_of_100_random_corpora_are_their_next_syncs(tmp_path, monkeypatch):
    rng, wrong, told = random.Random(5), 0, 0
    for number in range(CORPORA):
        async with Site.opened(tmp_path / str(number)) as site:
            site.obey(RandomPolicy.drawn(rng).text())
            for row in range(rng.randrange(1, 4)):
                await site.add(Canary(f"{row}.md", rng.choice(((), ("public",))), f"zq{rng.randrange(99)}", spelling(row + 1)))
            await site.settle()
            with monkeypatch.context() as patch:
                patch.setattr(socket, "socket", lambda *_: pytest.fail("a dry run opens a socket"))
                shown = [item.body.encode() for item in shown_sync(site.bench.database.path.parent)]
            real = await sent(site.bench.graph)
            wrong += shown != real
            told += any(b"zq" in body for body in real)
    assert wrong == 0
    assert told > CORPORA / 4


async def test_a_trial_on_a_copy_shows_the_sync_and_the_reply_of_the_edge_itself(tmp_path):
    parts = Adapters(scripted(), HashEmbedder(), WordTokenizer(), None)
    async with running_edge(tmp_path, strategy="dgrag") as edge:
        await edge.add("pump.md", "Brackwell Works makes the Maristow Pump. Juniper Ward uses the Maristow Pump.")
        real = shown_sync(tmp_path)
        answer = await shown_evidence(edge.node, "Who makes the Maristow Pump?", "ward-1", None)
        async with trial(EdgeSettings(id="ward", state_dir=tmp_path), parts) as node:
            assert trial_sync(node) == real
            tried = await shown_evidence(node, "Who makes the Maristow Pump?", "ward-1", None)
        assert tried.body.split('"trace"')[0] == answer.body.split('"trace"')[0]
        assert "Brackwell" in real[0].body


def noting(prompt):
    """A model that finds the notes helpful, and says one thing of the first."""
    return "The Maristow Pump is what Brackwell Works makes [1].\nScore: 80"


async def test_a_trial_on_a_copy_shows_the_points_that_the_edge_itself_would_send(tmp_path):
    parts = Adapters(ScriptedGenerator(noting, lambda _: {"Yes": -0.1}), HashEmbedder(), WordTokenizer(), None)
    async with running_edge(tmp_path, strategy="dgrag", generator=ScriptedGenerator(noting, lambda _: {"Yes": -0.1})) as edge:
        await edge.add("pump.md", "Brackwell Works makes the Maristow Pump. Juniper Ward uses the Maristow Pump.")
        request = EvidenceRequest(
            request_id="r",
            question="What is it about?",
            requester="ward-1",
            task="reports",
            budget_tokens=1,
            deadline_ms=9_000,
        )
        sent = reply_body((await edge.node.overview.points(request)).reply)
        async with trial(EdgeSettings(id="ward", state_dir=tmp_path), parts) as node:
            tried = await shown_evidence(node, "What is it about?", "ward-1", None, task="reports", max_bytes=250_000)
        assert tried.kind == "evidence"
        assert b"Juniper Ward uses" in sent
        assert timeless(tried.body) == timeless(sent.decode())


def timeless(body):
    """A body without how long its steps took."""
    return re.sub(r'"ms":[\d.]+', '"ms":0', body)


async def test_the_route_shows_points_within_the_bytes_that_a_cloud_asks_for(tmp_path):
    async with running_edge(tmp_path, strategy="dgrag", generator=ScriptedGenerator(noting, lambda _: {"Yes": -0.1})) as edge:
        await edge.add("pump.md", "Brackwell Works makes the Maristow Pump. Juniper Ward uses the Maristow Pump.")
        (tmp_path / "policy.toml").write_text("version = 1\n[daily]\nreplies = 1\n")
        asked = {"question": "What is it about?", "requester": "ward-1", "task": "reports", "level": 0}
        for _ in range(3):
            reply = (await edge.http.post("/v1/policy/try", json=asked)).json()["evidence"]
            assert (json.loads(reply["body"])["reports"], "Juniper Ward uses" in reply["body"], reply["bytes"] <= 6_144) == (1, True, True)
        for wrong in ({"task": "everything"}, {"level": 4}, {"max_bytes": 10}):
            assert (await edge.http.post("/v1/policy/try", json=asked | wrong)).status_code == 422


async def test_the_route_shows_the_bodies_and_no_meter_counts_them(tmp_path):
    async with running_edge(tmp_path) as edge:
        await edge.add("pump.md", "Brackwell Works makes the Maristow Pump.")
        (tmp_path / "policy.toml").write_text("version = 1\n[daily]\nreplies = 1\n")
        for _ in range(3):
            reply = await edge.http.post("/v1/policy/try", json={"question": "Who makes the Maristow Pump?", "requester": "ward-1"})
            assert "Brackwell" in reply.json()["evidence"]["body"]
        view = (await edge.http.get("/v1/policy")).json()
        assert (len(view["key"]), view["fault"], view["current"]) == (12, "", True)


async def test_a_running_edge_makes_its_summaries_anew_when_the_policy_changes(tmp_path, monkeypatch):
    monkeypatch.setattr("edge_node.node.POLICY_EVERY_S", 0.01)
    async with running_edge(tmp_path, strategy="dgrag") as edge:
        await edge.add("pump.md", "Brackwell Works makes the Maristow Pump.")
        assert "Brackwell" in edge.node.graph.summaries()[0].text
        (tmp_path / "policy.toml").write_text('version = 1\nunlabelled = "never"\n')
        await until(lambda: edge.node.graph.summaries()[0].text == "")


class Behind:
    """A link that has something to send; ``woken``: for each time whether it may wait for more."""

    in_sync = False

    def __init__(self):
        self.woken = []

    def wake(self, *, more_to_come=False):
        self.woken.append(more_to_come)


async def test_what_was_held_back_while_no_policy_could_be_read_goes_once_one_can_be(tmp_path, monkeypatch):
    monkeypatch.setattr("edge_node.node.POLICY_EVERY_S", 3600.0)
    async with running_edge(tmp_path, strategy="dgrag") as edge:
        await edge.add("pump.md", "Brackwell Works makes the Maristow Pump.")
        file = tmp_path / "policy.toml"
        readable = file.read_bytes()
        monkeypatch.setattr(edge.node, "link", Behind())
        file.write_bytes(b"")
        await edge.node._obey_once()
        assert edge.node.link.woken == []
        file.write_bytes(readable)
        await edge.node._obey_once()
        assert len(edge.node.link.woken) == 1


async def test_a_change_that_a_settle_of_the_queue_met_first_is_told_at_once_and_once(tmp_path, monkeypatch):
    monkeypatch.setattr("edge_node.node.POLICY_EVERY_S", 3600.0)
    async with running_edge(tmp_path, strategy="dgrag") as edge:
        await edge.add("pump.md", "Brackwell Works makes the Maristow Pump.")
        await edge.node._obey_once()
        monkeypatch.setattr(edge.node, "link", Behind())
        (tmp_path / "policy.toml").write_text('version = 1\nunlabelled = "never"\n')
        await edge.node.worker.settle()
        for _ in range(2):
            await edge.node._obey_once()
        assert (edge.node.graph.summaries()[0].text, edge.node.link.woken) == ("", [False, True])


async def test_a_question_that_needs_a_yes_is_shown_as_it_would_leave(tmp_path):
    cloud = httpx2.AsyncClient(transport=httpx2.MockTransport(lambda _: httpx2.Response(503)), base_url="http://127.0.0.1")
    async with running_edge(tmp_path, cloud=cloud) as edge:
        (tmp_path / "policy.toml").write_text('version = 1\nquestions = "ask"\n[redact]\nnames = ["Ann"]\n')
        answer = await edge.ask("Where is Ann?", mode="cloud")
        assert (answer["would_ask"], answer["answered"]) == ("Where is ███?", False)
        assert (await edge.ask("Where is Ann?", mode="cloud", allow_escalation="yes"))["would_ask"] == ""
        (tmp_path / "policy.toml").write_text('version = 1\nquestions = "no"\n')
        refused = await edge.http.post("/v1/query", json={"question": "Where?", "mode": "cloud", "allow_escalation": "yes"})
        assert refused.status_code == 400


async def test_a_settle_that_fails_after_a_policy_change_is_left_to_the_workers_own_pace(tmp_path, monkeypatch):
    monkeypatch.setattr("edge_node.node.POLICY_EVERY_S", 3600.0)
    async with running_edge(tmp_path, strategy="dgrag") as edge:
        await edge.add("pump.md", "Brackwell Works makes the Maristow Pump.")
        settles, settle = [], edge.node.strategy.settle

        async def fails(progress):
            settles.append(1)
            raise ModelReplyError("the embedder is away")

        monkeypatch.setattr(edge.node.strategy, "settle", fails)
        (tmp_path / "policy.toml").write_text('version = 1\nunlabelled = "never"\n')
        for _ in range(10):
            await edge.node._obey_once()
        assert len(settles) < 5  # one that was asked for, and what the worker repeats meanwhile
        monkeypatch.setattr(edge.node.strategy, "settle", settle)
        await until(lambda: edge.node.graph.summaries()[0].text == "")
