"""What every mailbox does: the one in memory, and one of two that share a PostgreSQL."""

import asyncio
from uuid import uuid4

import pytest

from cloud_server.answering.mailbox import LocalMailbox
from shared.errors import NotFound
from shared.wire import MAX_POLLED, EvidenceRequest


def request(name="r1", deadline_ms=10_000):
    return EvidenceRequest(request_id=name, question="why?", budget_tokens=100, deadline_ms=deadline_ms)


@pytest.fixture
def timed(clock):
    """The one in memory, with a clock that stands still."""
    return LocalMailbox(clock, grace_s=5)


@pytest.fixture(params=["local", pytest.param("shared", marks=pytest.mark.process)])
async def box(request, clock):
    if request.param == "local":
        yield LocalMailbox(clock, grace_s=5)
        return
    from tests.support.clouds import shared_mailbox

    async with shared_mailbox(request.getfixturevalue("postgres").fresh(), "one") as mailbox:
        yield mailbox


async def held_poll(box, kit, edge="ward", wait_s=30.0):
    task = asyncio.create_task(box.poll(edge, wait_s=wait_s))
    await kit.until(lambda: edge in box._boxes and box._boxes[edge].waiting and getattr(box._boxes[edge], "begun", True))
    return task


async def stored(box):
    """What it does a moment later is done."""
    await asyncio.gather(*getattr(box, "_work", ()))


async def test_an_edge_that_never_polled_is_offline(box):
    assert not box.online("ward")
    assert not await box.post("ward", request())


async def test_a_held_poll_returns_as_soon_as_a_request_comes(box, kit):
    task = await held_poll(box, kit)
    assert box.online("ward")
    assert await box.post("ward", request())
    assert [r.request_id for r in await task] == ["r1"]


async def test_a_poll_without_patience_returns_at_once(box):
    assert await box.poll("ward", wait_s=0) == []


async def test_a_poll_runs_out_empty(box):
    assert await box.poll("ward", wait_s=0.001) == []
    assert box.online("ward")


async def test_requests_posted_between_two_polls_wait_in_order(box):
    await box.poll("ward", wait_s=0)
    assert await box.post("ward", request("r1"))
    assert await box.post("ward", request("r2"))
    assert [r.request_id for r in await box.poll("ward", wait_s=30)] == ["r1", "r2"]
    assert await box.poll("ward", wait_s=0) == []


async def test_an_edge_is_offline_some_seconds_after_its_last_poll(timed, clock):
    await timed.poll("ward", wait_s=0)
    clock.seconds += 5
    assert timed.online("ward")
    clock.seconds += 0.1
    assert not await timed.post("ward", request())


async def test_of_two_polls_the_newer_gets_the_request(box, kit):
    older = await held_poll(box, kit)
    newer = asyncio.create_task(box.poll("ward", wait_s=30))
    assert await older == []
    await box.post("ward", request())
    assert len(await newer) == 1


async def test_a_request_goes_to_its_edge_only(box, kit):
    bank, ward = await held_poll(box, kit, "bank"), await held_poll(box, kit, "ward")
    await box.post("bank", request())
    assert len(await bank) == 1
    assert not ward.done()
    box.close()
    assert await ward == []


async def test_a_request_tells_the_time_left_when_it_is_handed_over(timed, clock):
    await timed.poll("ward", wait_s=0)
    await timed.post("ward", request(deadline_ms=10_000))
    clock.seconds += 4
    assert [r.deadline_ms for r in await timed.poll("ward", wait_s=0)] == [6_000]


async def test_a_request_whose_time_has_passed_is_not_handed_over(timed, clock):
    await timed.poll("ward", wait_s=0)
    await timed.post("ward", request(deadline_ms=1_000))
    clock.seconds += 2
    assert await timed.poll("ward", wait_s=0) == []


async def test_a_withdrawn_request_is_gone(box):
    await box.poll("ward", wait_s=0)
    await box.post("ward", request())
    box.withdraw("ward", "r1")
    await stored(box)
    box.withdraw("nobody", "r1")
    await stored(box)
    assert await box.poll("ward", wait_s=0) == []


async def test_a_request_that_the_edge_has_already_is_told_as_withdrawn_at_once_and_once(box, kit):
    await box.poll("ward", wait_s=0)
    await box.post("ward", request())
    await box.poll("ward", wait_s=0)
    held = await held_poll(box, kit)
    box.withdraw("ward", "r1")
    await stored(box)
    assert await held == []
    assert (box.withdrawn("ward"), box.withdrawn("ward"), box.withdrawn("nobody")) == (["r1"], [], [])


async def begun(box, *names):
    """The edge has these requests."""
    await box.poll("ward", wait_s=0)
    for name in names:
        await box.post("ward", request(name))
    while await box.poll("ward", wait_s=0):
        pass


async def test_what_was_withdrawn_between_two_polls_ends_the_next_one(box):
    await begun(box, "r1")
    box.withdraw("ward", "r1")
    await stored(box)
    assert await box.poll("ward", wait_s=30) == []
    assert box.withdrawn("ward") == ["r1"]


async def test_a_withdrawal_ends_one_poll_only_whether_or_not_anybody_asks_what_it_was(box, kit):
    await begun(box, "r1")
    box.withdraw("ward", "r1")
    await stored(box)
    assert await box.poll("ward", wait_s=30) == []
    held = await held_poll(box, kit)
    assert not held.done()
    held.cancel()


async def test_of_many_withdrawn_requests_the_last_ones_are_told(box):
    await begun(box, *(f"r{i}" for i in range(MAX_POLLED + 1)))
    for i in range(MAX_POLLED + 1):
        box.withdraw("ward", f"r{i}")
        await stored(box)
    assert await box.poll("ward", wait_s=30) == []
    assert box.withdrawn("ward") == [f"r{i}" for i in range(1, MAX_POLLED + 1)]


async def test_a_request_is_not_lost_with_a_poll_that_is_cancelled(box, kit):
    task = await held_poll(box, kit)
    await box.post("ward", request())
    task.cancel()
    await asyncio.wait({task})
    had = [] if task.cancelled() else task.result()  # on a busy machine the poll was quicker than its cancelling
    assert len(had or await box.poll("ward", wait_s=30)) == 1


async def test_closing_releases_all_polls_and_holds_no_more(box, kit):
    tasks = [await held_poll(box, kit, edge) for edge in ("a", "b", "c")]
    box.close()
    assert await asyncio.gather(*tasks) == [[], [], []]
    assert await box.poll("a", wait_s=30) == []


async def test_a_forgotten_edge_gets_its_poll_back_empty(box, kit):
    task = await held_poll(box, kit)
    await box.forget("ward")
    await box.forget("nobody")
    assert await task == []
    await kit.until(lambda: not box.online("ward"))


async def test_one_answer_to_a_poll_holds_so_many_requests_and_the_next_one_the_others(box):
    await box.poll("ward", wait_s=0)
    for i in range(MAX_POLLED + 1):
        await box.post("ward", request(f"r{i}"))
    assert [r.request_id for r in await box.poll("ward", wait_s=30.0)] == [f"r{i}" for i in range(MAX_POLLED)]
    assert [r.request_id for r in await box.poll("ward", wait_s=30.0)] == [f"r{MAX_POLLED}"]


async def test_a_reply_to_what_nobody_asked_is_not_found(box):
    with pytest.raises(NotFound):
        await box.forward("ward", uuid4().hex, b"{}")
