import asyncio
from itertools import count

import pytest

from cloud_server.answering.fan_out import FanOut, FanOutRequest
from cloud_server.answering.mailbox import LocalMailbox
from shared.errors import Conflict, NotFound
from shared.ports import SystemClock
from shared.records import EdgeReport, TraceStep
from shared.wire import EvidenceBody, EvidenceReply


@pytest.fixture
def mailbox():
    return LocalMailbox(SystemClock())


@pytest.fixture
def fan_out(mailbox):
    numbers = count(1)
    return FanOut(mailbox, SystemClock(), lambda: f"r{next(numbers)}")


def reply(*texts):
    return EvidenceReply(
        evidence=[
            EvidenceBody(document_id="d", document="a.md", chunk_id=f"d:{i}", span=(0, len(text)), text=text)
            for i, text in enumerate(texts)
        ]
    )


async def ask(fan_out, edges, deadline_s=5.0):
    return await fan_out.ask(edges, FanOutRequest("why?", 100), deadline_s=deadline_s)


async def online(mailbox, *edges):
    for edge in edges:
        await mailbox.poll(edge, wait_s=0)


async def started(fan_out, kit, edges, deadline_s=5.0):
    task = asyncio.create_task(ask(fan_out, edges, deadline_s))
    await kit.until(lambda: len(fan_out._pending) == len(edges))
    return task


async def test_it_returns_when_all_have_answered(fan_out, mailbox, kit):
    await online(mailbox, "a", "b")
    task = await started(fan_out, kit, ["a", "b"])
    await fan_out.deliver("b", "r2", reply("two", "three"), size=50)
    await fan_out.deliver("a", "r1", reply("one"), size=30)
    result = await task
    assert {edge: [p.text for p in passages] for edge, passages in result.evidence.items()} == {"a": ["one"], "b": ["two", "three"]}
    assert [(r.edge, r.status, r.bytes, r.evidence) for r in result.reports] == [("a", "answered", 30, 1), ("b", "answered", 50, 2)]
    assert result.bytes_in == 80
    assert result.bytes_out > 100
    assert result.missing == ()
    assert fan_out._pending == {}


async def test_passages_carry_the_name_of_who_replied(fan_out, mailbox, kit):
    await online(mailbox, "a")
    task = await started(fan_out, kit, ["a"])
    await fan_out.deliver("a", "r1", reply("one"), size=1)
    assert (await task).evidence["a"][0].edge == "a"


def test_a_silent_edge_is_late_and_the_others_count(fan_out, mailbox, kit, on_skipping_loop):
    async def main(_):
        await online(mailbox, "a", "b")
        task = await started(fan_out, kit, ["a", "b"])
        await fan_out.deliver("a", "r1", reply("one"), size=1)
        return await task

    result = on_skipping_loop(main)
    assert [r.status for r in result.reports] == ["answered", "late"]
    assert result.reports[1].reason
    assert list(result.evidence) == ["a"]


async def test_an_offline_edge_costs_no_waiting(fan_out):
    result = await ask(fan_out, ["a"], deadline_s=600)
    assert [(r.status, r.ms) for r in result.reports] == [("offline", 0.0)]


async def test_a_refusal_is_reported_with_its_reason(fan_out, mailbox, kit):
    await online(mailbox, "a")
    task = await started(fan_out, kit, ["a"])
    await fan_out.deliver("a", "r1", EvidenceReply(refused="policy"), size=9)
    result = await task
    assert [(r.status, r.reason) for r in result.reports] == [("refused", "policy")]
    assert result.evidence == {}


async def test_an_answer_without_passages_is_an_answer(fan_out, mailbox, kit):
    await online(mailbox, "a")
    task = await started(fan_out, kit, ["a"])
    await fan_out.deliver("a", "r1", reply(), size=2)
    result = await task
    assert result.reports[0].status == "answered"
    assert result.evidence == {}


async def test_an_edge_cannot_answer_for_another(fan_out, mailbox, kit):
    await online(mailbox, "a", "b")
    task = await started(fan_out, kit, ["a"])
    with pytest.raises(NotFound):
        await fan_out.deliver("b", "r1", reply("forged"), size=1)
    await fan_out.deliver("a", "r1", reply("true"), size=1)
    assert [p.text for p in (await task).evidence["a"]] == ["true"]


def test_an_unknown_and_a_late_reply_are_refused_alike(fan_out, mailbox, kit, on_skipping_loop):
    async def main(_):
        await online(mailbox, "a")
        with pytest.raises(NotFound):
            await fan_out.deliver("a", "r9", reply(), size=1)
        await (await started(fan_out, kit, ["a"]))
        with pytest.raises(NotFound):
            await fan_out.deliver("a", "r1", reply(), size=1)

    on_skipping_loop(main)


async def test_a_second_reply_is_a_conflict_and_changes_nothing(fan_out, mailbox, kit):
    await online(mailbox, "a", "b")
    task = await started(fan_out, kit, ["a", "b"])
    await fan_out.deliver("a", "r1", reply("first"), size=1)
    with pytest.raises(Conflict):
        await fan_out.deliver("a", "r1", reply("second"), size=1)
    await fan_out.deliver("b", "r2", reply(), size=1)
    assert [p.text for p in (await task).evidence["a"]] == ["first"]


async def test_an_edge_that_is_expelled_meanwhile_has_failed(fan_out, mailbox, kit):
    await online(mailbox, "a")
    task = await started(fan_out, kit, ["a"])
    fan_out.give_up("a")
    assert [r.status for r in (await task).reports] == ["failed"]


async def test_cancelling_the_caller_withdraws_the_requests(fan_out, mailbox, kit):
    await online(mailbox, "a")
    task = await started(fan_out, kit, ["a"])
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert fan_out._pending == {}
    assert await mailbox.poll("a", wait_s=0) == []


async def test_an_edge_that_has_begun_is_told_that_nobody_waits_any_longer_and_one_that_has_replied_is_not(fan_out, mailbox, kit):
    await online(mailbox, "a", "b")
    task = await started(fan_out, kit, ["a", "b"])
    for edge in ("a", "b"):
        assert len(await mailbox.poll(edge, wait_s=0)) == 1
    await fan_out.deliver("b", "r2", reply("one"), size=1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for edge in ("a", "b"):
        assert await mailbox.poll(edge, wait_s=0) == []
    assert (mailbox.withdrawn("a"), mailbox.withdrawn("b")) == (["r1"], [])


async def test_an_edge_is_told_to_leave_time_for_the_way_back(fan_out, mailbox, kit):
    await online(mailbox, "a")
    task = await started(fan_out, kit, ["a"], deadline_s=10)
    (asked,) = await mailbox.poll("a", wait_s=0)
    assert 8_000 < asked.deadline_ms <= 9_000
    assert (asked.budget_tokens, asked.whole, asked.question) == (100, False, "why?")
    fan_out.give_up("a")
    await task


async def test_asking_nobody_returns_nothing(fan_out):
    result = await ask(fan_out, [])
    assert (result.evidence, result.reports, result.bytes_in) == ({}, (), 0)


async def test_what_the_edges_did_is_told_under_their_names(fan_out, mailbox, kit):
    await online(mailbox, "a", "b")
    task = await started(fan_out, kit, ["a", "b", "offline"])
    await fan_out.deliver("a", "r1", EvidenceReply(trace=[TraceStep("retrieve", 3.0), TraceStep("narrow", 1.0)]), size=30)
    await fan_out.deliver("b", "r2", EvidenceReply(refused="busy", trace=[TraceStep("retrieve", 2.0)]), size=30)
    assert [(step.step, step.ms) for step in (await task).steps] == [("a: retrieve", 3.0), ("a: narrow", 1.0), ("b: retrieve", 2.0)]


@pytest.mark.parametrize(
    ("said", "status"),
    [("busy", "late"), ("not found in time", "late"), ("internal", "failed"), ("denied", "refused"), ("Busy", "refused")],
)
async def test_an_edge_that_could_not_answer_has_not_refused(fan_out, mailbox, kit, said, status):
    await online(mailbox, "a")
    task = await started(fan_out, kit, ["a"])
    await fan_out.deliver("a", "r1", EvidenceReply(refused=said), size=30)
    (report,) = (await task).reports
    assert (report.status, report.reason) == (status, said)


async def test_what_an_edge_says_of_itself_is_bounded_and_inert(fan_out, mailbox, kit):
    await online(mailbox, "a")
    task = await started(fan_out, kit, ["a"])
    said = "[click](http://evil.example) <img src=x>\x1b[31m\nno" + " more" * 80
    await fan_out.deliver("a", "r1", EvidenceReply(refused=said, trace=[TraceStep("<b>[x](http://evil.example)</b>", 1.0)]), size=9)
    result = await task
    assert result.reports[0].reason.startswith("click [31m no more")
    assert len(result.reports[0].reason) <= 300
    assert [step.step for step in result.steps] == ["a: x"]


async def test_edges_learn_who_asks_and_what_for(fan_out, mailbox, kit):
    await online(mailbox, "a")
    task = asyncio.create_task(fan_out.ask(["a"], FanOutRequest("why?", 100, "bank", "treatment"), deadline_s=5.0))
    (request,) = await mailbox.poll("a", wait_s=5)
    assert (request.requester, request.purpose) == ("bank", "treatment")
    await fan_out.deliver("a", "r1", reply("one"), size=1)
    await task


async def test_a_passage_that_may_not_be_quoted_stays_so(fan_out, mailbox, kit):
    await online(mailbox, "a")
    task = await started(fan_out, kit, ["a"])
    kept = EvidenceBody(document_id="d", document="a.md", chunk_id="d:0", span=(0, 3), text="one", quotable=False)
    await fan_out.deliver("a", "r1", EvidenceReply(evidence=[kept]), size=1)
    assert not (await task).evidence["a"][0].quotable


def kinds():
    """A passage, a point, a point that names no report, and a report's words as they stand."""
    kept = {"document_id": "d", "document": "a.md", "span": (0, 3), "text": "one"}
    told = [{}, {"point": "1", "report": "r"}, {"point": "1"}, {"report": "r"}]
    return [EvidenceBody(**kept, chunk_id=f"d:{n}", chunk_ids=["d:9"], **more) for n, more in enumerate(told)]


@pytest.mark.parametrize(("task", "used"), [("evidence", ["d:0"]), ("reports", ["d:1", "d:3"])])
async def test_passages_are_taken_where_passages_were_asked_and_points_where_points_were(fan_out, mailbox, kit, task, used):
    await online(mailbox, "a")
    task_of = asyncio.create_task(fan_out.ask(["a"], FanOutRequest("why?", 100, task=task, level=2, max_bytes=5000), deadline_s=5.0))
    (request,) = await mailbox.poll("a", wait_s=5)
    assert (request.task, request.level, request.max_bytes) == (task, 2, 5000)
    await fan_out.deliver("a", "r1", EvidenceReply(evidence=kinds(), reports=9, reports_there=4), size=1)
    result = await task_of
    (report,) = result.reports
    assert [passage.chunk_id for passage in result.evidence["a"]] == used
    assert (report.asked_for, report.evidence) == (task, len(used))
    assert (report.reports, report.reports_there) == ((4, 4) if task == "reports" else (0, 0))


@pytest.mark.parametrize(("task", "told"), [("reports", "3 unread, without a model"), ("evidence", "")])
async def test_what_an_edge_left_undone_of_its_reports_is_told(fan_out, mailbox, kit, task, told):
    await online(mailbox, "a", "b", "c")
    asking = asyncio.create_task(fan_out.ask(["a", "b", "c", "offline"], FanOutRequest("why?", 100, task=task), deadline_s=5.0))
    await mailbox.poll("c", wait_s=5)
    await fan_out.deliver("a", "r1", EvidenceReply(reports=4, reports_there=9, unread=3, without_model=True), size=1)
    await fan_out.deliver("b", "r2", EvidenceReply(reports=4, reports_there=9), size=1)
    await fan_out.spoil("c", "r3", "no reply of the agreed form")
    result = await asking
    assert [report.reason for report in result.reports][:2] == [told, ""]
    assert (result.unread, result.without_model) == (({"a": 3}, {"a"}) if told else ({}, frozenset()))


async def test_a_point_comes_with_its_report_and_its_further_chunks(fan_out, mailbox, kit):
    await online(mailbox, "a")
    asking = asyncio.create_task(fan_out.ask(["a"], FanOutRequest("why?", 100, task="reports"), deadline_s=5.0))
    await mailbox.poll("a", wait_s=5)
    await fan_out.deliver("a", "r1", EvidenceReply(evidence=kinds()), size=1)
    point = (await asking).evidence["a"][0]
    assert (point.point, point.report, point.chunk_ids) == ("1", "r", ("d:9",))


def test_transfers_are_told_edge_by_edge(fan_out, mailbox, kit, on_skipping_loop):
    async def main(_):
        await online(mailbox, "a", "b")
        task = await started(fan_out, kit, ["a", "b", "offline"])
        await fan_out.deliver("a", "r1", reply("one"), size=30)
        return await task

    result = on_skipping_loop(main)
    assert [(step.step, step.bytes_in) for step in result.transfers] == [("a: transfer", 30), ("b: transfer", 0)]
    assert all(step.bytes_out > 100 for step in result.transfers)
    assert result.bytes_out == sum(step.bytes_out for step in result.transfers)


async def test_an_edge_that_tells_of_many_steps_is_not_heard_to_the_end(fan_out, mailbox, kit):
    await online(mailbox, "a")
    task = await started(fan_out, kit, ["a"])
    await fan_out.deliver("a", "r1", EvidenceReply(trace=[TraceStep("map", 1.0)] * 64), size=1)
    assert len((await task).steps) == 16


@pytest.mark.parametrize(
    ("answer_s", "waited_s"), [([], 20.0), ([0.1], 20.0), ([0.1, 0.2], 5.0), ([0.1, 1.0], 5.0), ([0.1, 7.0], 10.65), ([0.1, 0.2, 4.0], 4.0)]
)
def test_half_of_the_replies_are_enough_when_the_others_had_three_times_as_long(mailbox, kit, on_skipping_loop, answer_s, waited_s):
    async def main(clock):
        numbers, loop = count(1), asyncio.get_running_loop()
        fan_out = FanOut(mailbox, clock, lambda: f"r{next(numbers)}")
        await online(mailbox, "a", "b", "c")
        task = asyncio.create_task(fan_out.ask(["a", "b", "c"], FanOutRequest("why?", 100), deadline_s=20.0, straggler_s=5.0))
        for edge, number, at in zip("abc", (1, 2, 3), answer_s, strict=False):
            loop.call_later(at, lambda *told: asyncio.ensure_future(fan_out.deliver(*told, reply("one"), size=1)), edge, f"r{number}")
        return await task, clock.monotonic()

    result, took_s = on_skipping_loop(main)
    assert took_s == pytest.approx(waited_s, abs=0.01)
    assert len(result.evidence) == len(answer_s)
    why = "no reply within 20 s" if waited_s == 20 else "no reply long after others had answered"
    assert {one.reason for one in result.missing} <= {why}


@pytest.mark.parametrize(
    ("earlier", "waited_s"), [(["answered"], 5.0), (["answered", "late"], 20.0), (["answered", "answered", "late"], 5.0)]
)
def test_a_later_rounds_edge_is_waited_for_as_if_all_were_asked_at_once(mailbox, on_skipping_loop, earlier, waited_s):
    async def main(clock):
        fan_out = FanOut(mailbox, clock, lambda: "r1")
        await online(mailbox, "a")
        before = [EdgeReport(f"e{place}", "evidence", status, 100.0, 0, 0) for place, status in enumerate(earlier)]
        await fan_out.ask(["a"], FanOutRequest("why?", 100), deadline_s=20.0, straggler_s=5.0, earlier=before)
        return clock.monotonic()

    assert on_skipping_loop(main) == pytest.approx(waited_s, abs=0.01)
