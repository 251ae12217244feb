"""The ledger's end: shown to the cloud, countersigned, kept."""

import asyncio

import pytest

from edge_node.egress.ledger import EgressRecord
from shared.errors import CloudRefused, CloudUnavailable
from shared.identity import make_identity
from shared.wire import Enrolled, Head, head_message
from tests.support.fake_cloud import FakeCloud, Lingering, about_reports, link_of, running
from tests.support.waiting import until


async def test_a_stop_shows_the_end_of_the_ledger_when_all_replies_have_ended(graph, ledger):
    told = []
    cloud, points = FakeCloud([about_reports("p")]), Lingering(told)
    link = link_of(cloud, graph, points=points)
    async with running(link):
        await until(lambda: link.in_sync)
        await points.asked.wait()
        ledger.record(EgressRecord("question", "http://cloud", b"{}"))
        shown = cloud.head

        async def head(said):
            told.append("head")
            return await shown(said)

        cloud.head = head
        asyncio.get_running_loop().call_later(0.05, points.may_end.set)
    assert told == ["cancelled", "ended", "head"]


async def test_after_a_sync_the_end_of_the_ledger_is_countersigned_and_kept(graph, ledger):
    cloud = FakeCloud()
    entry = ledger.record(EgressRecord("question", "http://cloud", b"{}"))
    async with running(link_of(cloud, graph)):
        await until(lambda: ledger.unseen() is None)
    assert [(head.seq, head.hash) for head in cloud.heads] == [(1, entry.hash)]
    assert graph.database.row("SELECT seq, hash FROM egress_heads")["hash"] == entry.hash


async def test_the_end_of_a_ledger_that_grows_is_shown_again_later(graph, ledger, monkeypatch):
    monkeypatch.setattr("edge_node.cloud.link.HEAD_EVERY_S", 0.0)
    cloud = FakeCloud()
    async with running(link_of(cloud, graph)):
        await cloud.pushed.wait()
        ledger.record(EgressRecord("evidence", "http://cloud", b"{}"))
        await until(lambda: [head.seq for head in cloud.heads] == [1])
        ledger.record(EgressRecord("head", "http://cloud", b"{}"))
        ledger.record(EgressRecord("evidence", "http://cloud", b"{}"))
        await until(lambda: [head.seq for head in cloud.heads] == [1, 3])


async def test_a_fork_that_the_cloud_sees_does_not_break_the_line(graph, ledger):
    cloud = FakeCloud()
    cloud.refuse_heads = [CloudRefused("another record", status=409, reason="ledger_fork")]
    ledger.record(EgressRecord("question", "http://cloud", b"{}"))
    link = link_of(cloud, graph)
    async with running(link):
        await until(lambda: not cloud.refuse_heads and link.in_sync)
        assert link.state.connected
        assert ledger.unseen() is not None


@pytest.mark.parametrize("lie", ["another cloud", "another head"])
async def test_a_signature_that_is_not_the_pinned_clouds_or_not_of_this_head_is_not_kept(graph, ledger, lie):
    cloud = FakeCloud()
    ledger.record(EgressRecord("question", "http://cloud", b"{}"))
    link = link_of(cloud, graph)

    async def lying(head):
        if lie == "another head":
            return cloud.countersign(Head(epoch=head.epoch, seq=head.seq + 1, hash=head.hash))
        return cloud.countersign(head).model_copy(update={"signature": make_identity().sign(head_message("ward", head, 5.0))})

    cloud.head = lying
    with pytest.raises(CloudUnavailable):
        await link._ledger.send()
    assert graph.database.rows("SELECT * FROM egress_heads") == []


async def test_a_store_that_the_cloud_has_seen_further_on_begins_a_new_history(graph, ledger):
    cloud = FakeCloud()
    cloud.heads = [Head(epoch=graph.epoch(), seq=7, hash="0" * 64)]
    former = graph.epoch()
    async with running(link_of(cloud, graph)):
        await until(lambda: len(cloud.heads) == 2)
    assert graph.epoch() != former
    assert [entry.kind for entry in ledger.entries()] == ["restored"]
    assert cloud.heads[1].epoch == graph.epoch()


async def test_a_store_whose_records_the_cloud_has_seen_goes_on(graph, ledger):
    cloud, former = FakeCloud(), graph.epoch()
    entry = ledger.record(EgressRecord("question", "http://cloud", b"{}"))
    cloud.heads = [Head(epoch=former, seq=1, hash=entry.hash)]
    async with running(link_of(cloud, graph)):
        await cloud.pushed.wait()
    assert graph.epoch() == former


async def test_a_cloud_that_knows_more_than_the_store_has_seen_a_later_one(graph, ledger):
    cloud, former = FakeCloud(), graph.epoch()

    async def greet():
        return Enrolled(edge="ward", epoch=former, version=99)

    cloud.greet = greet
    async with running(link_of(cloud, graph)):
        await cloud.pushed.wait()
    assert (cloud.deltas[0].base_version, graph.epoch() != former) == (0, True)
    assert ledger.entries()[0].kind == "restored"


async def test_a_stop_shows_the_cloud_what_the_ledger_holds_by_then(graph, ledger):
    cloud = FakeCloud()
    ledger.record(EgressRecord("question", "http://cloud", b"{}"))
    link = link_of(cloud, graph)
    async with running(link):
        await until(lambda: [head.seq for head in cloud.heads] == [1])
        ledger.record(EgressRecord("question", "http://cloud", b"{}"))
    assert [head.seq for head in cloud.heads] == [1, 2]
    assert ledger.unseen() is None


async def test_a_stop_waits_for_no_cloud_that_is_silent_and_asks_none_that_is_away(graph, ledger, monkeypatch):
    monkeypatch.setattr("edge_node.cloud.link.FAREWELL_S", 0.01)
    cloud, called = FakeCloud(), []

    async def silent(head):
        called.append(head)
        await asyncio.Event().wait()

    cloud.head = silent
    link = link_of(cloud, graph)
    async with running(link):
        await until(lambda: link.in_sync)
        ledger.record(EgressRecord("question", "http://cloud", b"{}"))
    assert len(called) == 1
    cloud.away = True
    async with running(link):
        await until(lambda: not link.state.connected)
    assert len(called) == 1


@pytest.mark.parametrize("lie", [{"version": 0}, {"version": 10**12}, {"epoch": "another"}])
async def test_a_cloud_that_has_not_got_what_it_was_sent_breaks_the_line(graph, ledger, lie):
    cloud = FakeCloud()

    async def push(delta, *, rule, **_):
        cloud.deltas.append(delta)
        return Enrolled(**{"edge": "ward", "epoch": delta.epoch, "version": delta.version, **lie}), 10

    cloud.push = push
    link = link_of(cloud, graph)
    link.state.connected = True
    with pytest.raises(CloudUnavailable, match="was sent version 1"):
        await link._replicators[0].send()
    assert (len(cloud.deltas), ledger.entries(), link.state.summaries.version) == (1, [], -1)


async def test_a_store_begins_a_new_history_once_a_run_however_often_the_cloud_claims_to_know_more(graph, ledger, monkeypatch):
    monkeypatch.setattr("edge_node.cloud.link.BACKOFF_S", (0.0,))
    cloud = FakeCloud()

    async def greet():
        cloud.greetings += 1
        return Enrolled(edge="ward", epoch=graph.epoch(), version=10**12)

    async def head(_):
        raise CloudUnavailable("away")

    cloud.greet, cloud.head = greet, head
    link = link_of(cloud, graph)
    async with running(link):
        await until(lambda: cloud.greetings > 5)
    assert [entry.kind for entry in ledger.entries()] == ["restored"]
    assert "claims to know" in link.state.error
