"""Requests that come on the poll: answered by their id, few at once, refused in time."""

import asyncio

from edge_node.cloud.link import AT_ONCE, MAX_WAITING, MAX_WAITING_REPORTS, MOST_REPLIES
from edge_node.egress.sharing import Served
from shared.errors import Conflict, ModelUnavailable
from shared.telemetry import correlation
from shared.wire import MAX_POLLED, EvidenceReply, PollReply
from tests.support.fake_cloud import REQUEST, FakeCloud, Lingering, about_reports, found, link_of, running
from tests.support.waiting import until


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
        await until(lambda: len(cloud.replies) == AT_ONCE and hanging.asked)
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
        await until(lambda: "p" in cloud.replies and len(hanging.asked) == AT_ONCE)
    assert (list(cloud.replies), len(hanging.asked)) == (["p"], AT_ONCE)


async def test_of_requests_for_points_one_runs_four_wait_and_the_next_hears_that_the_edge_is_busy(graph):
    hanging = Hanging()
    cloud = FakeCloud([about_reports(f"p{n}") for n in range(7)])
    async with running(link_of(cloud, graph, points=hanging)):
        await until(lambda: len(cloud.replies) == 2 and hanging.asked)
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


async def test_a_reply_says_for_whom_and_by_which_rule(graph):
    cloud = FakeCloud([REQUEST.model_copy(update={"requester": "bank", "purpose": "audit"})])
    async with running(link_of(cloud, graph)):
        await cloud.replied.wait()
    said = cloud.said["r1"]
    assert (said["requester"], said["purpose"], said["rule"]) == ("bank", "audit", "labels.public")
    assert said["deadline_s"] <= 2.0


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
