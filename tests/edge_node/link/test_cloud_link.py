"""Holding the line: sync, resync, requests that come on the poll."""

import asyncio
import contextlib

import pytest

from edge_node.link.cloud_link import AT_ONCE, MAX_WAITING, CloudLink
from edge_node.store.database import Database
from edge_node.store.graph import GraphStore
from edge_node.store.receipts import ReceiptStore
from shared.errors import CloudRefused, CloudUnavailable, DiskFull, ModelUnavailable
from shared.wire import Enrolled, EvidenceReply, EvidenceRequest, PollReply
from tests.support.partition import commit_texts
from tests.support.waiting import until

REQUEST = EvidenceRequest(request_id="r1", question="which lot?", budget_tokens=100, min_score=0.4, deadline_ms=2000)


class FakeCloud:
    """Implements what CloudLink calls of CloudClient; remembers what it was told."""

    def __init__(self, requests=()):
        self.requests = list(requests)
        self.deltas = []
        self.replies = {}
        self.refuse_deltas = []
        self.away = self.expelled = False
        self.enrolments = 0
        self.replied = asyncio.Event()
        self.pushed = asyncio.Event()

    async def enrol(self):
        self.enrolments += 1
        if self.expelled:
            raise CloudRefused("ward was expelled", status=403, reason="expelled")
        if self.away:
            raise CloudUnavailable("away")
        return Enrolled(edge="ward")

    async def push(self, delta):
        self.deltas.append(delta)
        if self.refuse_deltas:
            raise self.refuse_deltas.pop()
        self.pushed.set()
        return Enrolled(edge="ward", epoch=delta.epoch, version=delta.version), 10

    async def poll(self, *, wait_s):
        if not self.requests:
            await asyncio.sleep(3600)
        return PollReply(requests=[self.requests.pop()])

    async def reply(self, request_id, reply):
        self.replies[request_id] = reply
        self.replied.set()


@pytest.fixture
def graph(tmp_path):
    database = Database(tmp_path / "edge.db")
    store = GraphStore(database)
    commit_texts(store, {"s1": "about a"})
    yield store
    database.close()


@contextlib.asynccontextmanager
async def running(link):
    task = asyncio.create_task(link.run())
    try:
        async with asyncio.timeout(10):
            yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def found(request):
    return EvidenceReply(refused="nothing here")


async def test_a_new_cloud_gets_a_snapshot(graph):
    cloud = FakeCloud()
    link = CloudLink(cloud, graph, found)
    async with running(link):
        await cloud.pushed.wait()
        await until(lambda: link.in_sync)
    assert [summary.text for summary in cloud.deltas[0].upserts] == ["about a"]
    assert cloud.deltas[0].base_version == 0


async def test_a_cloud_that_asks_for_a_resync_gets_everything(graph):
    cloud = FakeCloud()
    link = CloudLink(cloud, graph, found)
    async with running(link):
        await cloud.pushed.wait()
        commit_texts(graph, {"s2": "about b"})
        cloud.refuse_deltas = [CloudRefused("behind", status=409, reason="resync")]
        await link.sync()
    assert [delta.base_version for delta in cloud.deltas] == [0, 1, 0]
    assert [summary.text for summary in cloud.deltas[-1].upserts] == ["about b"]


async def test_a_request_on_the_poll_is_answered_by_its_id(graph):
    cloud = FakeCloud([REQUEST])
    async with running(CloudLink(cloud, graph, found)):
        await cloud.replied.wait()
    assert cloud.replies["r1"].refused == "nothing here"


async def test_a_request_that_fails_here_is_refused_with_a_code_not_left_hanging(graph):
    async def fails(request):
        raise ModelUnavailable("no model")

    cloud = FakeCloud([REQUEST])
    async with running(CloudLink(cloud, graph, fails)):
        await cloud.replied.wait()
    assert cloud.replies["r1"].refused == "model_unavailable"


async def test_a_request_that_takes_too_long_is_refused_in_time(graph):
    async def slow(request):
        await asyncio.sleep(3600)

    cloud = FakeCloud([REQUEST.model_copy(update={"deadline_ms": 20})])
    async with running(CloudLink(cloud, graph, slow)):
        await cloud.replied.wait()
    assert cloud.replies["r1"].refused == "not found in time"


async def test_a_cloud_that_comes_back_is_told_what_it_missed(graph, monkeypatch):
    monkeypatch.setattr("edge_node.link.cloud_link.BACKOFF_S", (0.01,))
    cloud = FakeCloud()
    cloud.away = True
    link = CloudLink(cloud, graph, found)
    async with running(link):
        await until(lambda: link.state.error == "away")
        assert not link.in_sync
        cloud.away = False
        await until(lambda: link.in_sync)
    assert link.state.version == graph.version()


async def test_a_full_disk_breaks_the_line_only_until_there_is_room_again(graph, tmp_path, monkeypatch):
    monkeypatch.setattr("edge_node.link.cloud_link.BACKOFF_S", (0.0,))
    cloud, delta, full = FakeCloud(), graph.delta, [DiskFull(tmp_path)]

    def delta_with_luck(**fields):
        if full:
            raise full.pop()
        return delta(**fields)

    monkeypatch.setattr(graph, "delta", delta_with_luck)
    link = CloudLink(cloud, graph, found)
    async with running(link):
        await cloud.pushed.wait()
        await until(lambda: link.in_sync)
    assert cloud.enrolments == 2
    assert ReceiptStore(graph.database).acknowledged() == graph.version()


async def test_news_is_sent_while_the_poll_is_held(graph):
    cloud = FakeCloud()
    link = CloudLink(cloud, graph, found)
    async with running(link):
        await cloud.pushed.wait()
        cloud.pushed.clear()
        commit_texts(graph, {"s1": "about a, again"})
        link.wake()
        await cloud.pushed.wait()
    assert [delta.base_version for delta in cloud.deltas] == [0, 1]


async def test_an_expelled_edge_says_so_and_seldom_tries_again(graph, monkeypatch):
    waits = []

    async def sleep(seconds):
        waits.append(seconds)
        await asyncio.Event().wait()

    cloud = FakeCloud()
    cloud.expelled = True
    link = CloudLink(cloud, graph, found)
    monkeypatch.setattr("edge_node.link.cloud_link.asyncio.sleep", sleep)
    task = asyncio.create_task(link.run())
    for _ in range(10):
        await asyncio.wait({task}, timeout=0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (waits, cloud.enrolments) == ([300.0], 1)
    assert link.state.error == "ward was expelled; trying again every 5 minutes"


async def test_what_nobody_foresaw_is_refused_as_internal(graph):
    async def breaks(request):
        raise KeyError("secret")

    cloud = FakeCloud([REQUEST])
    async with running(CloudLink(cloud, graph, breaks)):
        await cloud.replied.wait()
    assert cloud.replies["r1"].refused == "internal"


async def test_few_requests_run_at_once_some_wait_and_the_others_are_told_that_the_edge_is_busy(graph):
    running_now, most, go_on = 0, 0, asyncio.Event()

    async def counted(request):
        nonlocal running_now, most
        running_now += 1
        most = max(most, running_now)
        await go_on.wait()
        running_now -= 1
        return EvidenceReply(refused="nothing here")

    n = AT_ONCE + MAX_WAITING
    cloud = FakeCloud([REQUEST.model_copy(update={"request_id": f"r{i}", "deadline_ms": 60_000}) for i in range(n + 2)])
    async with running(CloudLink(cloud, graph, counted)):
        await until(lambda: len(cloud.replies) == 2)
        assert {reply.refused for reply in cloud.replies.values()} == {"busy"}
        go_on.set()
        await until(lambda: len(cloud.replies) == n + 2)
    assert most == AT_ONCE


async def test_acknowledged_tombstones_are_dropped(graph):
    cloud = FakeCloud()
    link = CloudLink(cloud, graph, found)
    async with running(link):
        await cloud.pushed.wait()
        commit_texts(graph, {})
        await link.sync()
    assert cloud.deltas[-1].removals == ("s1",)
    assert graph.database.rows("SELECT * FROM summaries") == []
