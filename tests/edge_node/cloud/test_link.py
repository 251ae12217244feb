"""Holding the line: sync, resync, requests that come on the poll."""

import asyncio
import contextlib

import pytest

from edge_node.cloud.link import AT_ONCE, BACKOFF_S, MAX_WAITING, MAX_WAITING_REPORTS, MOST_REPLIES, CloudConnection
from edge_node.cloud.sync import LedgerReplicator, LinkState, SummaryReplicator
from edge_node.database.schema import Database
from edge_node.documents.receipts import ACKNOWLEDGED
from edge_node.egress.ledger import EgressRecord, Ledger
from edge_node.egress.memory_outbox import SharedMemories
from edge_node.egress.sharing import Served
from edge_node.graph.store import GraphStore
from shared.errors import CloudRefused, CloudUnavailable, Conflict, DiskFull, ModelUnavailable
from shared.identity import make_identity
from shared.ports import SystemClock
from shared.telemetry import correlation
from shared.wire import MAX_POLLED, Countersigned, Enrolled, EvidenceReply, EvidenceRequest, Head, PollReply, head_message
from tests.support.partition import commit_texts
from tests.support.waiting import until

REQUEST = EvidenceRequest(request_id="r1", question="which lot?", budget_tokens=100, deadline_ms=2000)


class FakeCloud:
    """Implements what CloudLink and Sync call of CloudClient; remembers what it was told."""

    edge = "ward"

    def __init__(self, requests=()):
        self.requests = list(requests)
        self.deltas = []
        self.rules = []
        self.replies = {}
        self.said = {}
        self.refuse_deltas = []
        self.heads = []
        self.refuse_heads = []
        self.identity = make_identity()
        self.known = {}  # what it says to a greeting
        self.away = self.expelled = self.strange = False
        self.greetings = 0
        self.replied = asyncio.Event()
        self.pushed = asyncio.Event()

    async def greet(self):
        self.greetings += 1
        if self.strange:
            raise CloudRefused("who are you?", status=401, reason="unknown_key")
        if self.expelled:
            raise CloudRefused("ward was expelled", status=403, reason="expelled")
        if self.away:
            raise CloudUnavailable("away")
        return Enrolled(edge="ward", **self.known)

    async def push(self, delta, *, rule, **_):
        self.deltas.append(delta)
        self.rules.append(rule)
        if self.refuse_deltas:
            raise self.refuse_deltas.pop()
        self.pushed.set()
        return Enrolled(edge="ward", epoch=delta.epoch, version=delta.version, cloud_key=self.identity.public_key), 10

    async def poll(self, *, wait_s):
        if not self.requests:
            await asyncio.sleep(3600)
        return PollReply(requests=[self.requests.pop()])

    async def reply(self, request_id, reply, **said):
        self.replies[request_id] = reply
        self.said[request_id] = said
        self.replied.set()

    def countersign(self, head):
        message = head_message("ward", head, 5.0)
        return Countersigned(head=head, at=5.0, signature=self.identity.sign(message))

    async def head(self, head):
        if self.refuse_heads:
            raise self.refuse_heads.pop()
        self.heads.append(head)
        return self.countersign(head)

    async def newest_head(self):
        return self.countersign(self.heads[-1]) if self.heads else None


class Policy:
    """Implements Release."""

    def __init__(self):
        self.in_force = True

    def is_told(self):
        return self.in_force

    def rule(self):
        return "summaries; policy 1"


def link_of(cloud, graph, serve=None, *, points=None, join=None, policy=None, **more):
    """A link, and the ledger of its store."""
    state, ledger = LinkState(), Ledger(graph.database, SystemClock())
    sync = SummaryReplicator(cloud, graph, policy or Policy(), state)
    heads = LedgerReplicator(cloud, ledger, graph, SharedMemories(graph.database), lambda: cloud.identity.public_key)
    return CloudConnection(cloud, [sync], heads, serve or found, join or not_invited, state, points=points or found, **more)


async def not_invited():
    raise CloudRefused("ask for an invitation", status=401, reason="not_joined")


@pytest.fixture
def graph(tmp_path):
    database = Database(tmp_path / "edge.db")
    store = GraphStore(database)
    commit_texts(store, {"s1": "about a"})
    yield store
    database.close()


@pytest.fixture
def ledger(graph):
    return Ledger(graph.database, SystemClock())


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
    return Served(EvidenceReply(refused="nothing here"), "labels.public")


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


async def test_a_request_on_the_poll_is_answered_by_its_id(graph):
    cloud = FakeCloud([REQUEST])
    async with running(link_of(cloud, graph)):
        await cloud.replied.wait()
    assert cloud.replies["r1"].refused == "nothing here"


async def test_what_is_done_for_a_request_is_part_of_the_askers_trace_until_the_reply_is_sent(graph):
    seen = []

    class Cloud(FakeCloud):
        async def reply(self, request_id, reply, **said):
            seen.append(correlation.request_id())
            await super().reply(request_id, reply, **said)

    async def serve(request):
        seen.append(correlation.request_id())
        return await found(request)

    cloud = Cloud([REQUEST.model_copy(update={"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"})])
    async with running(link_of(cloud, graph, serve)):
        await cloud.replied.wait()
    assert seen == ["a" * 32] * 2


async def test_a_request_that_fails_here_is_refused_with_a_code_not_left_hanging(graph):
    async def fails(request):
        raise ModelUnavailable("no model")

    cloud = FakeCloud([REQUEST])
    async with running(link_of(cloud, graph, fails)):
        await cloud.replied.wait()
    assert cloud.replies["r1"].refused == "model_unavailable"


async def test_a_request_that_takes_too_long_is_refused_in_time(graph):
    async def slow(request):
        await asyncio.sleep(3600)

    cloud = FakeCloud([REQUEST.model_copy(update={"deadline_ms": 20})])
    async with running(link_of(cloud, graph, slow)):
        await cloud.replied.wait()
    assert cloud.replies["r1"].refused == "not found in time"


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


async def test_what_nobody_foresaw_is_refused_as_internal(graph):
    async def breaks(request):
        raise KeyError("secret")

    cloud = FakeCloud([REQUEST])
    async with running(link_of(cloud, graph, breaks)):
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
        return Served(EvidenceReply(refused="nothing here"), "labels.public")

    n = AT_ONCE + MAX_WAITING
    asked = [{"request_id": f"r{i}", "requester": f"site-{i % 2}", "deadline_ms": 60_000} for i in range(n + 2)]
    cloud = FakeCloud([REQUEST.model_copy(update=update) for update in asked])
    async with running(link_of(cloud, graph, counted)):
        await until(lambda: len(cloud.replies) == 2 and running_now >= AT_ONCE)
        assert {reply.refused for reply in cloud.replies.values()} == {"busy"}
        go_on.set()
        await until(lambda: len(cloud.replies) == n + 2)
    assert most == AT_ONCE


async def test_a_requester_that_asks_a_lot_leaves_half_of_the_desk_to_the_others(graph):
    go_on = asyncio.Event()

    async def slow(request):
        await go_on.wait()
        return Served(EvidenceReply(refused="nothing here"), "labels.public")

    n = AT_ONCE + MAX_WAITING
    greedy = [{"request_id": f"g{i}", "requester": "greedy", "deadline_ms": 60_000} for i in range(n)]
    modest = [{"request_id": f"m{i}", "requester": "modest", "deadline_ms": 60_000} for i in range(n // 2)]
    cloud = FakeCloud([REQUEST.model_copy(update=update) for update in modest + greedy])  # the last one comes first
    async with running(link_of(cloud, graph, slow)):
        await until(lambda: len(cloud.replies) >= n // 2)
        assert {key[0] for key in cloud.replies} == {"g"}
        go_on.set()
        await until(lambda: len(cloud.replies) == len(greedy + modest))
    refused = {key for key, reply in cloud.replies.items() if reply.refused == "busy"}
    assert len(refused) == n // 2
    assert {key[0] for key in refused} == {"g"}


def about_reports(request_id, deadline_ms=60_000):
    return REQUEST.model_copy(update={"request_id": request_id, "requester": request_id, "task": "reports", "deadline_ms": deadline_ms})


class Hanging:
    """Serves nothing, for ever; counts who waits for it."""

    def __init__(self):
        self.asked = []
        self.stopped = 0

    async def __call__(self, request):
        self.asked.append(request.request_id)
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped += 1


async def test_evidence_is_given_while_points_of_reports_take_for_ever(graph):
    hanging = Hanging()
    evidence = [REQUEST.model_copy(update={"request_id": f"e{n}"}) for n in range(AT_ONCE)]
    cloud = FakeCloud([*evidence, *(about_reports(f"p{n}") for n in range(1 + MAX_WAITING_REPORTS))])
    async with running(link_of(cloud, graph, points=hanging)):
        await until(lambda: len(cloud.replies) == AT_ONCE)
    assert sorted(cloud.replies) == ["e0", "e1", "e2", "e3"]
    assert {reply.refused for reply in cloud.replies.values()} == {"nothing here"}
    assert len(hanging.asked) == 1


async def test_null_control_evidence_that_hangs_in_all_its_slots_starves_evidence_alone(graph):
    hanging, served = Hanging(), asyncio.Event()

    async def points(request):
        served.set()
        return Served(EvidenceReply(refused="nothing here"), "")

    evidence = [REQUEST.model_copy(update={"request_id": f"e{n}", "deadline_ms": 60_000}) for n in range(AT_ONCE + 1)]
    cloud = FakeCloud([about_reports("p"), *evidence])
    async with running(link_of(cloud, graph, hanging, points=points)):
        await served.wait()
        await until(lambda: "p" in cloud.replies)
    assert (list(cloud.replies), len(hanging.asked)) == (["p"], AT_ONCE)


async def test_of_requests_for_points_one_runs_four_wait_and_the_next_hears_that_the_edge_is_busy(graph):
    hanging = Hanging()
    cloud = FakeCloud([about_reports(f"p{n}") for n in range(7)])
    async with running(link_of(cloud, graph, points=hanging)):
        await until(lambda: len(cloud.replies) == 2)
        assert {reply.refused for reply in cloud.replies.values()} == {"busy"}
        assert len(hanging.asked) == 1


async def test_points_that_are_not_there_in_time_make_room_for_those_that_wait(graph):
    hanging = Hanging()
    cloud = FakeCloud([about_reports("p2"), about_reports("p1", 20)])
    async with running(link_of(cloud, graph, points=hanging)):
        await until(lambda: len(hanging.asked) == 2)
        await until(lambda: "p1" in cloud.replies)
    assert (cloud.replies["p1"].refused, hanging.asked) == ("not found in time", ["p1", "p2"])
    assert cloud.said["p1"]["deadline_s"] == 1.0


async def test_what_the_cloud_withdraws_ends_and_makes_room_without_a_reply(graph):
    hanging, cloud = Hanging(), FakeCloud()
    polled = iter([PollReply(requests=[about_reports("p1"), about_reports("p2")]), PollReply(withdrawn=["p1", "unknown"])])

    async def poll(*, wait_s):
        if (said := next(polled, None)) is None:
            await asyncio.Event().wait()
        if said.withdrawn:
            await until(lambda: hanging.asked)
        return said

    cloud.poll = poll
    link = link_of(cloud, graph, points=hanging)
    async with running(link):
        await until(lambda: hanging.asked == ["p1", "p2"])
        assert (hanging.stopped, cloud.replies, link._desks["reports"].taken.total()) == (1, {}, 1)


async def test_a_stop_ends_what_takes_minutes(graph):
    hanging = Hanging()
    link = link_of(FakeCloud([about_reports("p")]), graph, points=hanging)
    async with running(link):
        await until(lambda: hanging.asked)
    assert (hanging.stopped, link._replies) == (1, set())


class Lingering:
    """Hangs, and goes on for a while once it is cancelled."""

    def __init__(self, told):
        self.told, self.asked, self.may_end = told, asyncio.Event(), asyncio.Event()

    async def __call__(self, request):
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.told.append("cancelled")
            await self.may_end.wait()
            self.told.append("ended")


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


async def test_a_stop_does_not_wait_for_a_reply_that_does_not_end(graph, monkeypatch):
    monkeypatch.setattr("edge_node.cloud.link.FAREWELL_S", 0.01)
    told = []
    points = Lingering(told)
    link = link_of(FakeCloud([about_reports("p")]), graph, points=points)
    async with running(link):
        await points.asked.wait()
    assert told == ["cancelled"]
    points.may_end.set()
    await until(lambda: told == ["cancelled", "ended"])


async def test_an_edge_without_reports_says_so(graph):
    async def none(request):
        raise Conflict("this edge makes no reports")

    cloud = FakeCloud([about_reports("p")])
    async with running(link_of(cloud, graph, points=none)):
        await cloud.replied.wait()
    assert cloud.replies["p"].refused == Conflict.code


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


async def test_a_reply_says_for_whom_and_by_which_rule(graph):
    cloud = FakeCloud([REQUEST.model_copy(update={"requester": "bank", "purpose": "audit"})])
    async with running(link_of(cloud, graph)):
        await cloud.replied.wait()
    said = cloud.said["r1"]
    assert (said["requester"], said["purpose"], said["rule"]) == ("bank", "audit", "labels.public")
    assert said["deadline_s"] <= 2.0


# ---------------------------------------------------------------- joining


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


# ---------------------------------------------------------------- the end of the ledger


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


# ---------------------------------------------------------------- a cloud that lies


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


async def test_a_flood_of_requests_waits_at_the_cloud_until_it_has_heard_that_the_edge_is_busy(graph):
    cloud, polls, on_text = FakeCloud(), [], asyncio.Event()
    flood = [REQUEST.model_copy(update={"request_id": f"r{i}", "deadline_ms": 60_000}) for i in range(MAX_POLLED)]

    async def poll(*, wait_s):
        polls.append(wait_s)
        return PollReply(requests=flood)

    async def reply(request_id, reply, **said):
        await on_text.wait()
        await FakeCloud.reply(cloud, request_id, reply, **said)

    async def never(request):
        await asyncio.Event().wait()

    cloud.poll, cloud.reply = poll, reply
    link = link_of(cloud, graph, never)
    async with running(link):
        await until(lambda: len(link._replies) == MAX_POLLED)
        await cloud.pushed.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        assert (len(polls), len(link._replies)) == (1, MAX_POLLED)
        on_text.set()
        await until(lambda: len(polls) > 1)
        assert len(link._replies) <= MOST_REPLIES + MAX_POLLED


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
