"""Holding the line: sync, resync, policies, joining."""

import asyncio

from edge_node.cloud.link import BACKOFF_S
from edge_node.documents.receipts import ACKNOWLEDGED
from shared.errors import CloudRefused, DiskFull
from shared.wire import Enrolled, PollReply
from tests.support.fake_cloud import FakeCloud, Policy, link_of, running
from tests.support.partition import commit_texts
from tests.support.waiting import until


async def test_a_new_cloud_gets_a_snapshot(graph):
    cloud = FakeCloud()
    link = link_of(cloud, graph)
    async with running(link):
        await cloud.pushed.wait()
        await until(lambda: link.in_sync)
    assert [summary.text for summary in cloud.deltas[0].upserts] == ["about a"]
    assert cloud.deltas[0].base_version == 0


async def test_a_cloud_that_asks_for_a_resync_gets_everything(graph):
    cloud = FakeCloud()
    link = link_of(cloud, graph)
    async with running(link):
        await cloud.pushed.wait()
        commit_texts(graph, {"s2": "about b"})
        cloud.refuse_deltas = [CloudRefused("behind", status=409, reason="resync")]
        await link._replicators[0].send()
    assert [delta.base_version for delta in cloud.deltas] == [0, 1, 0]
    assert [summary.text for summary in cloud.deltas[-1].upserts] == ["about b"]


async def test_a_cloud_that_comes_back_is_told_what_it_missed(graph, monkeypatch):
    monkeypatch.setattr("edge_node.cloud.link.BACKOFF_S", (0.01,))
    cloud = FakeCloud()
    cloud.away = True
    link = link_of(cloud, graph)
    async with running(link):
        await until(lambda: link.state.error == "away")
        assert not link.in_sync
        cloud.away = False
        await until(lambda: link.in_sync)
    assert link.state.summaries.version == graph.version()


async def test_a_full_disk_breaks_the_line_only_until_there_is_room_again(graph, tmp_path, monkeypatch):
    monkeypatch.setattr("edge_node.cloud.link.BACKOFF_S", (0.0,))
    cloud, delta, full = FakeCloud(), graph.delta, [DiskFull(tmp_path)]

    def delta_with_luck(**fields):
        if full:
            raise full.pop()
        return delta(**fields)

    monkeypatch.setattr(graph, "delta", delta_with_luck)
    link = link_of(cloud, graph)
    async with running(link):
        await cloud.pushed.wait()
        await until(lambda: link.in_sync)
    assert cloud.greetings == 2
    assert graph.database.meta(ACKNOWLEDGED) == str(graph.version())


async def test_news_is_sent_while_the_poll_is_held(graph):
    cloud = FakeCloud()
    link = link_of(cloud, graph)
    async with running(link):
        await cloud.pushed.wait()
        cloud.pushed.clear()
        commit_texts(graph, {"s1": "about a, again"})
        link.wake()
        await cloud.pushed.wait()
    assert [delta.base_version for delta in cloud.deltas] == [0, 1]


async def test_after_a_sync_news_waits_the_longer_while_more_is_read_and_goes_once_all_is(graph):
    clock, cloud = [0.0], FakeCloud()
    push, pushed = cloud.push, []

    async def slow_push(delta, **said):
        clock[0] += 2.0
        pushed.append(delta.version)
        return await push(delta, **said)

    cloud.push = slow_push
    link = link_of(cloud, graph, now=lambda: clock[0])
    async with running(link):
        await cloud.pushed.wait()
        cloud.pushed.clear()
        for since in (0.0, 10.0):  # the latter is more than twice, and less than ten times, as long as the sync took
            clock[0] += since
            link.wake(more_to_come=True)
            await until(lambda: not link._news.is_set())  # it has been looked at, after the sync
            commit_texts(graph, {"s1": f"about a, after {since}"})
        link.wake()
        link.wake(more_to_come=True)  # which takes nothing back
        await cloud.pushed.wait()
        await until(lambda: link.in_sync)
    assert pushed == [1, 3]


async def test_an_expelled_edge_says_so_and_seldom_tries_again(graph, monkeypatch):
    waits = []

    async def sleep(seconds):
        waits.append(seconds)
        await asyncio.Event().wait()

    cloud = FakeCloud()
    cloud.expelled = True
    link = link_of(cloud, graph)
    monkeypatch.setattr("edge_node.cloud.link.asyncio.sleep", sleep)
    task = asyncio.create_task(link.run())
    for _ in range(10):
        await asyncio.wait({task}, timeout=0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (waits, cloud.greetings) == ([300.0], 1)
    assert link.state.error == "ward was expelled; trying again every 5 minutes"


async def test_acknowledged_tombstones_are_dropped(graph):
    cloud = FakeCloud()
    link = link_of(cloud, graph)
    async with running(link):
        await cloud.pushed.wait()
        commit_texts(graph, {})
        await link._replicators[0].send()
    assert cloud.deltas[-1].removals == ("s1",)
    assert graph.database.rows("SELECT * FROM summaries") == []


async def test_summaries_of_a_former_policy_are_not_sent_until_they_are_made_anew(graph):
    cloud, policy = FakeCloud(), Policy()
    policy.in_force = False
    link = link_of(cloud, graph, policy=policy)
    async with running(link):
        await until(lambda: link.state.connected)
        await link._replicators[0].send()
        assert cloud.deltas == []
        policy.in_force = True
        link.wake()
        await cloud.pushed.wait()
    assert cloud.rules == ["summaries; policy 1"]


async def test_a_policy_that_changes_while_a_delta_is_read_stops_that_delta(graph, monkeypatch):
    cloud, policy, delta = FakeCloud(), Policy(), graph.delta

    def read(**known):
        made = delta(**known)
        policy.in_force = False
        return made

    monkeypatch.setattr(graph, "delta", read)
    link = link_of(cloud, graph, policy=policy)
    link.state.connected = True
    await link._replicators[0].send()
    assert cloud.deltas == []


async def test_an_edge_that_the_cloud_does_not_know_joins_and_goes_on(graph):
    cloud = FakeCloud()
    cloud.strange = True

    async def join():
        cloud.strange = False

    async with running(link_of(cloud, graph, join=join)):
        await cloud.pushed.wait()
    assert cloud.greetings == 2


async def test_an_edge_that_needs_an_invitation_says_so(graph):
    cloud = FakeCloud()
    cloud.strange = True
    link = link_of(cloud, graph)
    async with running(link):
        await until(lambda: link.state.error == "ask for an invitation")
    assert not link.state.connected


async def test_a_cloud_that_lies_at_once_each_time_is_asked_ever_more_seldom(graph, monkeypatch):
    waits, enough, turn = [], asyncio.Event(), asyncio.sleep

    async def sleep(seconds):
        if seconds > max(BACKOFF_S) or enough.is_set():
            await asyncio.Event().wait()
        waits.append(seconds)
        if len(waits) == len(BACKOFF_S) + 1:
            enough.set()

    async def poll(*, wait_s):
        await turn(0)
        return PollReply()

    async def push(delta, *, rule, **_):
        await turn(0)
        return Enrolled(edge="ward", epoch=delta.epoch, version=0), 10

    cloud = FakeCloud()
    cloud.poll, cloud.push = poll, push
    monkeypatch.setattr("edge_node.cloud.link.asyncio.sleep", sleep)
    async with running(link_of(cloud, graph)):
        await enough.wait()
    assert waits == [*BACKOFF_S, BACKOFF_S[-1]]


def knowing(graph, *, reads):
    """A cloud that has all summaries; ``reads``: it says that it reads marks of titles."""
    cloud = FakeCloud()
    cloud.known = {"titles": reads, "cloud_key": cloud.identity.public_key, "epoch": graph.epoch(), "version": graph.version()}
    return cloud


async def in_step(graph, cloud):
    """The marks that this cloud is sent until it knows all."""
    sent = len(cloud.deltas)
    async with running(link := link_of(cloud, graph)):
        await until(lambda: link.in_sync)
    return [one.titles for delta in cloud.deltas[sent:] for one in delta.upserts]


async def test_a_cloud_that_has_come_to_read_marks_of_titles_is_told_all_summaries_again_once(graph):
    commit_texts(graph, {"s2": "about b"}, titles=b"abc")
    assert await in_step(graph, knowing(graph, reads=False)) == []
    cloud = knowing(graph, reads=True)
    assert [await in_step(graph, cloud) for _ in range(2)] == [[b"abc"], []]


async def test_a_cloud_that_does_not_read_marks_of_titles_gets_none(graph):
    commit_texts(graph, {"s2": "about b"}, titles=b"abc")
    assert await in_step(graph, FakeCloud()) == [b""]
