"""Clouds over one PostgreSQL: an edge polls at one, replies at another, and a third has asked."""

import asyncio
from contextlib import AsyncExitStack, closing
from types import SimpleNamespace

import psycopg
import pytest

from cloud_server.answering.fan_out import FanOut, FanOutRequest
from cloud_server.answering.shared_mailbox import LOST
from cloud_server.database import letters
from cloud_server.database.letters import check_room
from cloud_server.database.opening import open_shared
from shared.errors import Conflict, NotFound, SettingsError, StoreAway
from shared.identity import make_identity
from shared.ports import SystemClock
from shared.wire import EvidenceBody, EvidenceReply, EvidenceRequest
from tests.support.clouds import shared_mailbox
from tests.support.waiting import HANGS_S

pytestmark = pytest.mark.process

WORDS = "Ward seven had the infusion pump replaced."


def reply(text=WORDS):
    return EvidenceReply(evidence=[EvidenceBody(document_id="d", document="a.md", chunk_id="d:0", span=(0, len(text)), text=text)])


@pytest.fixture
def url(postgres):
    return postgres.fresh()


class Clouds:
    """Mailbox and fan-out of each; requests are called as the cloud that asks, and numbered."""

    def __init__(self, url, stack):
        self.url = url
        self._stack = stack
        self._asked = 0

    async def new(self, name, **options):
        mailbox = await self._stack.enter_async_context(shared_mailbox(self.url, name, **options))
        return SimpleNamespace(mailbox=mailbox, fan_out=FanOut(mailbox, SystemClock(), lambda: self._id(name)), name=name)

    def _id(self, name):
        self._asked += 1
        return f"{name}-{self._asked}"


@pytest.fixture
async def clouds(url):
    async with AsyncExitStack() as stack:
        yield Clouds(url, stack)


async def holding(cloud, kit, edge="ward", wait_s=30.0):
    """A poll that is held there, or was: a notice that comes late ends it, and the edge would poll again."""
    boxes = cloud.mailbox._boxes
    former = boxes[edge].poll if edge in boxes else ""
    task = asyncio.create_task(cloud.mailbox.poll(edge, wait_s=wait_s))
    await kit.until(lambda: task.done() or (edge in boxes and boxes[edge].poll not in ("", former) and boxes[edge].begun))
    return task


def asking(cloud, *edges, deadline_s=20.0):
    return asyncio.create_task(cloud.fan_out.ask(edges or ["ward"], FanOutRequest("why?", 100), deadline_s=deadline_s))


def stored(url, sql):
    with psycopg.connect(url) as connection:
        return connection.execute(sql).fetchall()


async def test_whichever_cloud_asks_holds_the_poll_and_takes_the_reply_the_answer_comes(clouds, kit):
    one, two, three = [await clouds.new(name) for name in ("one", "two", "three")]
    for asker, holder, taker in [(one, two, three), (one, two, one), (one, one, two), (three, two, two), (two, two, two)]:
        poll = await holding(holder, kit)
        asked = asking(asker)
        (request,) = await poll
        await taker.fan_out.deliver("ward", request.request_id, reply(), size=70)
        result = await asked
        assert [(report.status, report.bytes) for report in result.reports] == [("answered", 70)]
        assert [passage.text for passage in result.evidence["ward"]] == [WORDS]
    await asyncio.gather(*one.mailbox._work, *two.mailbox._work, *three.mailbox._work)
    assert stored(clouds.url, "SELECT count(*) FROM dgrag.letters") == [(0,)]


async def test_an_edge_is_online_at_every_cloud_and_at_each_a_stranger_is_not(clouds, kit):
    one, two = await clouds.new("one"), await clouds.new("two")
    await holding(one, kit)
    await kit.until(lambda: two.mailbox.online("ward"))
    assert not two.mailbox.online("bank")
    assert [report.status for report in (await asking(two, "bank")).reports] == ["offline"]


async def test_the_newer_poll_at_another_cloud_releases_the_older_and_gets_the_request(clouds, kit):
    one, two = await clouds.new("one"), await clouds.new("two")
    older = await holding(one, kit)
    newer = await holding(two, kit)
    assert await older == []
    asked = asking(one)
    (request,) = await newer
    await one.fan_out.spoil("ward", request.request_id, "its reply is not of the agreed form")
    assert [report.reason for report in (await asked).reports] == ["its reply is not of the agreed form"]


async def test_what_cannot_be_used_is_told_to_the_cloud_that_asked(clouds, kit):
    one, two = await clouds.new("one"), await clouds.new("two")
    poll, asked = await holding(two, kit), asking(one)
    (request,) = await poll
    await two.fan_out.spoil("ward", request.request_id, "too large")
    assert [(report.status, report.reason) for report in (await asked).reports] == [("failed", "too large")]


async def test_a_second_reply_is_a_conflict_and_one_for_another_edge_is_not_found_at_every_cloud(clouds, kit):
    one, two, three = [await clouds.new(name) for name in ("one", "two", "three")]
    polls = [await holding(two, kit, edge) for edge in ("ward", "bank")]
    asked = asking(one, "ward", "bank")
    (ward,), (bank,) = [await poll for poll in polls]
    for cloud in (one, two, three):
        with pytest.raises(NotFound):
            await cloud.fan_out.deliver("bank", ward.request_id, reply("forged"), size=1)
        with pytest.raises(NotFound):
            await cloud.fan_out.deliver("ward", "never-asked", reply("forged"), size=1)
    await two.fan_out.deliver("ward", ward.request_id, reply(), size=1)
    await kit.until(lambda: one.fan_out._pending[ward.request_id].arrival.done())
    for cloud in (one, two, three):
        with pytest.raises(Conflict):
            await cloud.fan_out.deliver("ward", ward.request_id, reply("second"), size=1)
    await one.fan_out.deliver("bank", bank.request_id, reply(), size=1)
    assert [[passage.text for passage in found] for found in (await asked).evidence.values()] == [[WORDS], [WORDS]]
    await asyncio.gather(*one.mailbox._work)
    for cloud in (one, two, three):
        with pytest.raises(NotFound):
            await cloud.fan_out.deliver("ward", ward.request_id, reply("late"), size=1)


async def test_an_edge_that_has_begun_is_told_by_another_cloud_that_nobody_waits(clouds, kit):
    one, two = await clouds.new("one"), await clouds.new("two")
    poll, asked = await holding(two, kit), asking(one)
    (request,) = await poll
    asked.cancel()
    told = []
    async with asyncio.timeout(HANGS_S):
        while not told:  # a late notice of the request itself may end a poll too
            assert await two.mailbox.poll("ward", wait_s=30.0) == []
            told = two.mailbox.withdrawn("ward")
    assert told == [request.request_id]


async def test_an_expelled_edge_loses_its_poll_and_the_wait_for_it_at_every_cloud(clouds, kit):
    one, two, three = [await clouds.new(name) for name in ("one", "two", "three")]
    poll, asked = await holding(two, kit), asking(one)
    await poll
    held = await holding(two, kit)
    await three.mailbox.forget("ward")
    assert await held == []
    assert [(report.status, report.reason) for report in (await asked).reports] == [("failed", "the edge was expelled meanwhile")]
    await kit.until(lambda: not any(cloud.mailbox.online("ward") for cloud in (one, two, three)))


async def test_without_notices_all_comes_by_looking(clouds, kit):
    one, two = [await clouds.new(name, runs=["looks"]) for name in ("one", "two")]
    poll, asked = await holding(two, kit), asking(one)
    (request,) = await poll
    await two.fan_out.deliver("ward", request.request_id, reply(), size=1)
    assert [report.status for report in (await asked).reports] == ["answered"]
    older = await holding(one, kit)
    newer = await holding(two, kit)
    assert await older == []
    await one.mailbox.forget("ward")
    assert await newer == []


async def test_with_neither_looks_nor_notices_nothing_comes(clouds, kit):
    """The null control of the test above: it is the looks that bring it."""
    one, two = [await clouds.new(name, runs=[]) for name in ("one", "two")]
    poll = await holding(two, kit, wait_s=2.0)
    result = await asking(one, deadline_s=0.5)
    assert [report.status for report in result.reports] == ["late"]
    await poll


async def test_a_line_for_notices_that_breaks_is_dialled_again_and_nothing_is_lost(clouds, kit):
    one, two = await clouds.new("one"), await clouds.new("two")
    poll = await holding(two, kit)
    broken = stored(clouds.url, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query = 'LISTEN dgrag'")
    asked = asking(one)
    (request,) = await poll
    await one.fan_out.deliver("ward", request.request_id, reply(), size=1)
    assert [report.status for report in (await asked).reports] == ["answered"]
    assert broken == [(2,)]


async def test_what_a_cloud_that_died_had_asked_is_taken_back_and_its_poll_is_no_poll(clouds, kit, monkeypatch):
    two = await clouds.new("two")
    monkeypatch.setattr("cloud_server.answering.shared_mailbox.ALIVE_S", -1.0)
    dead = await clouds.new("dead", runs=[])
    poll, asked = await holding(two, kit), asking(dead)
    (request,) = await poll
    told = await holding(two, kit)
    assert await told == []
    assert two.mailbox.withdrawn("ward") == [request.request_id]
    with pytest.raises(NotFound):
        await two.fan_out.deliver("ward", request.request_id, reply(), size=1)
    await holding(dead, kit, "bank")
    held = "SELECT held FROM dgrag.polls WHERE edge = 'bank'"
    await kit.until(lambda: stored(clouds.url, held) == [(False,)])
    asked.cancel()


async def test_when_postgresql_was_killed_polls_end_and_askers_wait_no_longer(postgres, clouds, kit):
    one, two = await clouds.new("one"), await clouds.new("two")
    poll, asked = await holding(two, kit), asking(one, deadline_s=120.0)
    await poll
    held = await holding(two, kit)
    await asyncio.to_thread(postgres.kill)
    await asyncio.to_thread(postgres.start)
    (ended,) = await asyncio.gather(held, return_exceptions=True)
    assert ended == [] or isinstance(ended, StoreAway)
    assert [(one.status, one.reason) for one in (await asked).reports] == [("failed", LOST)]
    poll, asked = await holding(two, kit), asking(one)
    (request,) = await poll
    await two.fan_out.deliver("ward", request.request_id, reply(), size=1)
    assert [report.status for report in (await asked).reports] == ["answered"]


async def test_the_store_reads_no_letter_and_a_cloud_with_another_key_none_either(clouds, kit):
    one, other = await clouds.new("one"), await clouds.new("other", identity=make_identity())
    await one.mailbox.poll("ward", wait_s=0)
    asked = asking(one)
    await kit.until(lambda: stored(clouds.url, "SELECT 1 FROM dgrag.letters"))
    ((sealed,),) = stored(clouds.url, "SELECT request FROM dgrag.letters")
    assert b"why?" not in sealed
    assert await other.mailbox.poll("ward", wait_s=0) == []
    asked.cancel()


async def test_a_poll_that_is_cancelled_at_any_moment_ends_and_loses_no_request(clouds):
    mailbox = (await clouds.new("one")).mailbox
    await mailbox.poll("ward", wait_s=0)
    asked = EvidenceRequest(request_id="r1", question="why?", budget_tokens=100, deadline_ms=600_000)
    for turns in range(0, 400, 8):
        assert await mailbox.post("ward", asked.model_copy(update={"request_id": f"r{turns}"}))
        poll = asyncio.create_task(mailbox.poll("ward", wait_s=30.0))
        for _ in range(turns):
            await asyncio.sleep(0)
        poll.cancel()
        (ended,) = await asyncio.gather(poll, return_exceptions=True)
        await asyncio.gather(*mailbox._work)
        got = ended if isinstance(ended, list) else await mailbox.poll("ward", wait_s=0)
        assert [request.request_id for request in got] == [f"r{turns}"]


async def test_an_expelled_edge_is_asked_nothing_though_its_poll_began_before_or_begins_after(clouds, kit):
    one = await clouds.new("one")
    before = await holding(one, kit)
    with psycopg.connect(clouds.url) as connection:
        connection.execute("INSERT INTO dgrag.expelled VALUES ('ward', 0), ('bank', 0)")
    after = asyncio.create_task(one.mailbox.poll("bank", wait_s=0))
    assert await after == []
    assert [report.status for report in (await asking(one, "ward", "bank")).reports] == ["offline", "offline"]
    assert stored(clouds.url, "SELECT edge FROM dgrag.polls") == [("ward",)]
    before.cancel()


async def test_a_letter_that_no_cloud_can_read_keeps_no_other_one_waiting(clouds):
    one = await clouds.new("one")
    await one.mailbox.poll("ward", wait_s=0)
    tables, sealer = one.mailbox._tables, one.mailbox._sealer
    assert await tables.post("ward", "garbled", b"no seal", expires_s=60)
    assert await tables.post("ward", "newer", sealer.sealed(b'{"of": "another release"}', about="newer"), expires_s=60)
    assert await one.mailbox.post("ward", EvidenceRequest(request_id="good", question="why?", budget_tokens=100, deadline_ms=60_000))
    assert [request.request_id for request in await one.mailbox.poll("ward", wait_s=0)] == ["good"]


async def test_a_reply_that_cannot_be_read_fails_its_question_and_the_mailbox_goes_on(clouds, kit):
    one = await clouds.new("one", runs=("looks",))
    for body in (b"no seal", None):
        poll, asked = await holding(one, kit), asking(one)
        (request,) = await poll
        sealed = body or one.mailbox._sealer.sealed(b"no JSON", about=f"{request.request_id} reply")
        assert await one.mailbox._tables.answer("ward", request.request_id, sealed)
        assert [(report.status, report.reason) for report in (await asked).reports] == [("failed", LOST)]


async def test_notices_that_are_not_ours_are_left_out(clouds, kit):
    one, two = await clouds.new("one", runs=("hears",)), await clouds.new("two")
    with psycopg.connect(clouds.url, autocommit=True) as connection:
        for payload in ("", "no JSON", "[]", "{}", '{"to": "*", "kind": "letter"}', '{"to": "*", "kind": []}'):
            connection.execute("SELECT pg_notify('dgrag', %s)", (payload,))
    poll = await holding(one, kit)
    await kit.until(lambda: two.mailbox.online("ward"))
    asked = asking(two)
    (request,) = await poll
    await one.fan_out.deliver("ward", request.request_id, reply(), size=1)
    assert [report.status for report in (await asked).reports] == ["answered"]


def test_too_few_connections_for_all_clouds_are_warned_of_and_too_few_for_one_refused(postgres, caplog, monkeypatch):
    with closing(open_shared(postgres.fresh())) as database:
        room, others = database.row(letters.ROOM)
        assert (room, others) == (297, 0)
        check_room(database)
        monkeypatch.setattr(letters, "CONNECTIONS", room - 100)
        check_room(database)
        assert not caplog.records
        with database.write() as tx:
            tx.execute("INSERT INTO replicas VALUES ('lives', clock_timestamp() + interval '1 minute'), ('died', clock_timestamp())")
        check_room(database)
        assert "PostgreSQL takes 297 connections, and 2 clouds want up to 394" in caplog.text
        monkeypatch.setattr(letters, "CONNECTIONS", room + 1)
        with pytest.raises(SettingsError, match="takes 297 connections, and a cloud wants up to 298"):
            check_room(database)
