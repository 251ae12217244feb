"""The cloud's copy of the memories: in order, recorded, under the policy, and withdrawn."""

import asyncio
import contextlib

import pytest

from edge_node.cloud.link import CloudConnection
from edge_node.cloud.sync import LedgerReplicator, LinkState, MemoryReplicator, SummaryReplicator
from edge_node.documents.receipts import ReceiptStore
from edge_node.egress.bodies import body_of
from edge_node.egress.dry_run import shown_sync
from edge_node.egress.ledger import Ledger
from shared.errors import CloudRefused, CloudUnavailable, Withheld
from shared.ports import SystemClock
from shared.wire import Enrolled, PollReply
from tests.support.telling import Teller
from tests.support.waiting import until


class FakeCloud:
    """Implements what the link calls of CloudClient; holds memories as a cloud does."""

    edge = "ward"

    def __init__(self):
        self.deltas = []
        self.held = {}
        self.epoch, self.version = "", 0
        self.summaries = {}
        self.refuse = []
        self.before_answer = lambda: None

    def known(self):
        return Enrolled(edge="ward", memory_epoch=self.epoch, memory_version=self.version, **self.summaries)

    async def greet(self):
        return self.known()

    async def push(self, delta, **_):
        self.summaries = {"epoch": delta.epoch, "version": delta.version}
        return self.known(), 1

    async def push_memories(self, delta, *, rule, holds):
        if not await asyncio.to_thread(holds):
            raise Withheld("the policy has changed")
        self.deltas.append((delta, rule))
        self.before_answer()
        if self.refuse:
            raise self.refuse.pop()
        self.held = self.held if delta.base_version else {}
        self.held = {key: one for key, one in self.held.items() if key not in delta.removals} | {
            one.memory_id: one for one in delta.upserts
        }
        self.epoch, self.version = delta.epoch, delta.version
        return self.known(), 10

    async def poll(self, *, wait_s):
        await asyncio.sleep(3600)
        return PollReply()

    async def newest_head(self):
        return None

    async def head(self, head):
        raise CloudRefused("later", status=429, reason="")

    def answers(self):
        return sorted(one.answer for one in self.held.values())


class Line:
    """A teller, its cloud, and the sync between them."""

    def __init__(self, folder):
        self.teller, self.cloud = Teller(folder), FakeCloud()
        self.connect()

    def connect(self):
        self.state = LinkState(connected=True)
        self.ledger = Ledger(self.teller.database, SystemClock())
        self.sync = SummaryReplicator(self.cloud, self.teller.graph, self.teller.sharing, self.state)
        self.memories = MemoryReplicator(self.cloud, self.teller.memory_sharing, self.state)
        self.heads = LedgerReplicator(self.cloud, self.ledger, self.teller.graph, self.teller.told, str)
        self.greet()

    def greet(self):
        known = self.cloud.known()
        self.heads.check(known)
        self.sync.learn(known)
        self.memories.learn(known)

    def cloud_said(self, receipt_id):
        receipts = ReceiptStore(self.teller.database)
        return receipts.is_confirmed(receipts.get(receipt_id))


@pytest.fixture
def line(tmp_path):
    made = Line(tmp_path)
    yield made
    made.teller.database.close()


async def test_memories_reach_the_cloud_with_the_rule_that_lets_them_go(line):
    line.teller.mill()
    await line.memories.send()
    assert line.cloud.answers() == ["Ann Lee"]
    assert line.cloud.deltas[0][1] == line.teller.memory_sharing.rule()
    assert line.memories.done
    assert line.state.sent_bytes == 10


async def test_a_site_that_shares_none_says_nothing_at_all(line):
    line.teller.obey("")
    line.teller.mill()
    await line.memories.send()
    assert (line.cloud.deltas, line.memories.done) == ([], True)


async def test_a_second_sync_sends_only_what_is_new(line):
    line.teller.mill()
    await line.memories.send()
    line.teller.mill("Who sold Orrin Mill?", "Bo")
    line.memories.stir()
    assert not line.memories.done
    await line.memories.send()
    assert [delta.base_version for delta, _ in line.cloud.deltas] == [0, 1]
    assert line.cloud.answers() == ["Ann Lee", "Bo"]


async def test_names_stand_in_the_ledger_of_epsilon_before_a_byte_leaves(line):
    line.teller.obey('[memories]\nshare = "hints"')
    line.teller.mill()
    seen = []
    line.cloud.before_answer = lambda: seen.append(len(line.teller.drawn()))
    await line.memories.send()
    assert seen == [1]


async def test_a_policy_that_changes_withdraws_all(line):
    line.teller.mill()
    await line.memories.send()
    line.teller.obey("")
    assert not line.memories.done
    await line.memories.send()
    assert (line.cloud.answers(), line.memories.done) == ([], True)


async def test_a_policy_that_changes_between_the_look_and_the_sending_stops_it(line, monkeypatch):
    line.teller.mill()
    delta = line.teller.told.delta

    def late(**fields):
        line.teller.obey("")
        return delta(**fields)

    monkeypatch.setattr(type(line.teller.told), "delta", lambda _, **fields: late(**fields))
    await line.memories.send()
    assert (line.cloud.deltas, line.memories.done) == ([], False)


async def test_a_policy_that_changes_before_an_attempt_is_repeated_stops_that(line, monkeypatch):
    line.teller.mill()
    push = line.cloud.push_memories

    async def pushed(delta, **how):
        line.teller.obey("")
        return await push(delta, **how)

    monkeypatch.setattr(line.cloud, "push_memories", pushed)
    await line.memories.send()
    assert (line.cloud.deltas, line.memories.done) == ([], False)


async def test_a_cloud_that_asks_for_a_resync_gets_everything(line):
    line.teller.mill()
    await line.memories.send()
    line.teller.mill("Who sold Orrin Mill?", "Bo")
    line.cloud.refuse = [CloudRefused("behind", status=409, reason="resync")]
    await line.memories.send()
    assert [delta.base_version for delta, _ in line.cloud.deltas] == [0, 1, 0]
    assert line.cloud.answers() == ["Ann Lee", "Bo"]


@pytest.mark.parametrize(("status", "reason"), [(404, "not_found"), (413, "too_large"), (409, "conflict"), (409, "resync")])
async def test_a_cloud_that_does_not_take_them_is_not_asked_again_until_there_are_others(line, status, reason):
    line.teller.mill()
    line.cloud.refuse = [CloudRefused("no", status=status, reason=reason)] * 9
    for _ in range(2):
        await line.memories.send()
    assert (len(line.cloud.deltas), line.memories.done) == (1, True)
    line.teller.mill("Who sold Orrin Mill?", "Bo")
    await line.memories.send()
    assert len(line.cloud.deltas) == 2


@pytest.mark.parametrize("status", [401, 403, 429])
async def test_what_a_cloud_says_of_the_edge_breaks_the_line(line, status):
    line.teller.mill()
    line.cloud.refuse = [CloudRefused("no", status=status, reason="")]
    with pytest.raises(CloudRefused):
        await line.memories.send()


async def test_a_cloud_that_claims_another_version_than_it_was_sent_is_not_believed(line):
    line.teller.mill()
    line.cloud.known = lambda: Enrolled(edge="ward", memory_epoch="other", memory_version=1)
    with pytest.raises(CloudUnavailable, match="of the memories"):
        await line.memories.send()


async def test_a_cloud_that_has_lost_them_gets_all_of_them_again(line):
    line.teller.mill()
    await line.memories.send()
    line.cloud.held, line.cloud.epoch, line.cloud.version = {}, "", 0
    line.greet()
    assert not line.memories.done
    await line.memories.send()
    assert line.cloud.answers() == ["Ann Lee"]


async def test_a_store_that_is_older_than_its_cloud_begins_a_new_history_and_replaces_what_that_holds(line):
    line.teller.mill()
    await line.memories.send()
    epoch, line.cloud.version = line.cloud.epoch, 9
    line.connect()
    assert line.teller.graph.epoch() != epoch
    assert line.ledger.entries()[-1].kind == "restored"
    await line.memories.send()
    assert (line.cloud.answers(), line.cloud.deltas[-1][0].base_version) == (["Ann Lee"], 0)


@pytest.mark.parametrize("share", ["answers", "hints"])
async def test_the_dry_run_shows_the_bytes_of_the_next_sync_and_nothing_after_it(line, tmp_path, share):
    line.teller.obey(f'[memories]\nshare = "{share}"')
    line.teller.mill()
    line.teller.memory_sharing.renew()
    shown = [item.body for item in shown_sync(tmp_path) if item.kind == "memories"]
    await line.memories.send()
    assert shown == [body_of(delta).decode() for delta, _ in line.cloud.deltas]
    assert not [item for item in shown_sync(tmp_path) if item.kind == "memories"]


# ------------------------------------------------------------ receipts


async def test_a_receipt_waits_until_the_cloud_has_forgotten_the_memories_too(line):
    chunk_id = line.teller.mill()
    await line.memories.send()
    receipt_id = line.teller.forget(chunk_id)
    ReceiptStore(line.teller.database).settled([receipt_id], erased=True)
    await line.sync.send()
    assert line.cloud_said(receipt_id) is False
    await line.memories.send()
    assert (line.cloud_said(receipt_id), line.cloud.answers()) == (True, [])


async def test_a_receipt_of_a_site_that_shares_no_memories_waits_for_none(line):
    line.teller.obey("")
    receipt_id = line.teller.forget(line.teller.mill())
    ReceiptStore(line.teller.database).settled([receipt_id], erased=True)
    await line.sync.send()
    assert line.cloud_said(receipt_id) is True


async def test_a_cloud_that_holds_no_memories_has_forgotten_what_was_deleted_before_it_said_so(line):
    line.teller.mill()
    await line.memories.send()
    receipt_id = line.teller.forget(next(iter(line.teller.database.rows("SELECT chunk_id FROM chunks")))["chunk_id"])
    ReceiptStore(line.teller.database).settled([receipt_id], erased=True)
    await line.sync.send()
    line.cloud.epoch, line.cloud.version = "", 0
    line.greet()
    assert line.cloud_said(receipt_id) is True


# ------------------------------------------------------------ on the line


@contextlib.asynccontextmanager
async def running(line):
    link = CloudConnection(line.cloud, [line.sync, line.memories], line.heads, None, None, line.state, points=None)
    task = asyncio.create_task(link.run())
    try:
        yield link
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_link_sends_both_and_is_in_sync_once_both_are_known(line):
    line.teller.mill()
    line.state.connected = False
    async with running(line) as link:
        await until(lambda: link.in_sync)
        assert line.cloud.answers() == ["Ann Lee"]
        line.teller.mill("Who sold Orrin Mill?", "Bo")
        link.wake()
        assert not link.in_sync
        await until(lambda: line.cloud.answers() == ["Ann Lee", "Bo"])
