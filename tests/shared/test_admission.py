"""Turns are shared among askers: property tests over histories, and what an asker sees of it."""

import asyncio
import math
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.admission import Admission
from shared.errors import Overloaded
from tests.support.waiting import until

ASKERS = "abc"
STEPS = st.lists(
    st.tuples(st.sampled_from(["come", "come", "end", "cancel"]), st.sampled_from(ASKERS), st.integers(0, 20), st.booleans()),
    max_size=80,
)


@dataclass(eq=False)
class Request:
    """One request: its asker, when it may end, and what became of it."""

    admission: Admission
    asker: str
    cost: float = 1.0
    may_end: asyncio.Event = field(default_factory=asyncio.Event)
    state: str = "waits"

    def start(self):
        self.task = asyncio.create_task(self.run())
        return self

    async def run(self):
        try:
            async with self.admission.turn(self.asker, cost=self.cost):
                self.state = "runs"
                await self.may_end.wait()
            self.state = "done"
        except Overloaded:
            self.state = "refused"


async def settled():
    for _ in range(6):
        await asyncio.sleep(0)


async def play(admission, steps, check):
    """Let requests come, end and be cancelled; ``check`` looks after each step. Returns all requests."""
    requests = []
    for action, asker, number, is_last in steps:
        some = [one for one in requests if one.state == {"end": "runs"}.get(action, one.state) and not one.task.done()]
        if action == "come":
            requests.append(Request(admission, asker).start())
        elif some and action == "end":
            some[number % len(some)].may_end.set()
        elif some:
            some[number % len(some)].task.cancel()
        if is_last:  # of what happens in one turn of the event loop
            await settled()
            check([one for one in requests if not one.task.done()])
    return requests


def count(requests, state, asker=None):
    return sum(one.state == state and asker in (None, one.asker) for one in requests)


@given(steps=STEPS, at_once=st.integers(1, 4), waiting=st.integers(0, 6))
def test_whatever_comes_ends_or_goes_turns_and_shares_are_never_exceeded_and_no_turn_is_left_idle(steps, at_once, waiting):
    admission = Admission(at_once=at_once, waiting=waiting)

    def check(alive):
        assert count(alive, "runs") == admission.running <= at_once
        assert count(alive, "waits") == admission.waiting <= waiting
        allowed = [one for one in alive if one.state == "waits" and (len(askers(alive)) == 1 or below_half(alive, one.asker))]
        assert not allowed or admission.running == at_once

    def askers(alive):
        return {one.asker for one in alive}

    def below_half(alive, asker):
        return count(alive, "runs", asker) < math.ceil(at_once / 2)

    async def history():
        requests = await play(admission, steps, check)
        for one in requests:
            one.may_end.set()
        await asyncio.gather(*(one.task for one in requests), return_exceptions=True)
        assert {one.state for one in requests if not one.task.cancelled()} <= {"done", "refused"}
        assert (admission.running, admission.waiting) == (0, 0)
        assert [*admission._costs, *admission._queues, *admission._running] == []

    asyncio.run(history())


@given(greedy=st.integers(1, 60), others=st.integers(1, 4), at_once=st.integers(1, 4), waiting=st.integers(4, 16))
def test_whoever_asks_beside_a_greedy_asker_has_its_turn_before_the_greedy_one_has_as_many_again(greedy, others, at_once, waiting):
    admission = Admission(at_once=at_once, waiting=waiting)

    async def history():
        flood = [Request(admission, "greedy").start() for _ in range(greedy)]
        await settled()
        victims = [Request(admission, f"victim {number}").start() for number in range(min(others, waiting // 2))]
        await settled()
        for _ in range(at_once + len(victims)):  # as many turns end as there were, and one for each who came
            running = [one for one in (*flood, *victims) if one.state == "runs"]
            if running:
                running[0].may_end.set()
            await settled()
        assert not count(victims, "waits")
        assert not count(victims, "refused")
        await stop([*flood, *victims])

    asyncio.run(history())


@given(costs=st.lists(st.integers(1, 64), min_size=30, max_size=30))
def test_turns_that_cost_more_come_less_often(costs):
    """One turn at a time, two askers that always wait: what they have had differs by no more than the dearest turn."""
    admission = Admission(at_once=1, waiting=100)

    async def history():
        requests = [Request(admission, "dear", cost).start() for cost in costs]
        requests += [Request(admission, "cheap").start() for _ in range(60)]
        await settled()
        spent = {"dear": 0, "cheap": 0}
        while count(requests, "waits", "cheap") and count(requests, "waits", "dear"):
            (running,) = [one for one in requests if one.state == "runs"]
            spent[running.asker] += running.cost
            assert abs(spent["dear"] - spent["cheap"]) <= max(costs) + 1
            running.may_end.set()
            await settled()
        await stop(requests)

    asyncio.run(history())


async def stop(requests):
    for one in requests:
        one.task.cancel()
    await asyncio.gather(*(one.task for one in requests), return_exceptions=True)


async def test_alone_an_asker_has_all_turns_and_places_and_gives_half_of_them_to_another():
    admission = Admission(at_once=4, waiting=4)
    first = [Request(admission, "a").start() for _ in range(9)]
    await settled()
    assert [one.state for one in first] == ["runs"] * 4 + ["waits"] * 4 + ["refused"]
    second = [Request(admission, "b").start() for _ in range(3)]
    await settled()
    assert [one.state for one in first] == ["runs"] * 4 + ["waits"] * 2 + ["refused"] * 3  # the newest gave their places
    assert [one.state for one in second] == ["waits", "waits", "refused"]
    for one in first[:3]:
        one.may_end.set()
    await settled()
    assert (count(first, "runs"), count(second, "runs")) == (2, 2)
    await stop([*first, *second])


async def test_in_the_order_of_before_a_greedy_asker_keeps_everybody_out():
    """Null control: one name for all, as there was no asker before."""
    admission = Admission(at_once=4, waiting=16)
    flood = [Request(admission, "anybody").start() for _ in range(22)]
    await settled()
    with pytest.raises(Overloaded):
        admission.check("anybody")
    admission.check("victim")
    await stop(flood)


async def test_a_refusal_says_when_to_ask_again():
    admission = Admission(at_once=1, waiting=0)
    async with admission.turn("a"):
        with pytest.raises(Overloaded) as refused:
            admission.check("b")
    assert refused.value.retry_after_s >= 1
    assert not refused.value.of_caller
    admission.check("b")


async def test_who_gives_up_waiting_leaves_no_trace():
    admission = Admission(at_once=1, waiting=1)
    first, second = Request(admission, "a").start(), Request(admission, "b").start()
    await until(lambda: admission.waiting == 1)
    second.task.cancel()
    await asyncio.wait([second.task])
    assert admission.waiting == 0
    first.task.cancel()
    await asyncio.wait([first.task])
    async with admission.turn("c"):
        assert admission.running == 1


async def test_a_turn_passes_over_who_is_cancelled_as_it_comes():
    admission = Admission(at_once=1, waiting=2)
    first, second, third = (Request(admission, asker).start() for asker in ASKERS)
    await settled()
    first.may_end.set()
    second.task.cancel()
    await settled()
    assert [one.state for one in (first, second, third)] == ["done", "waits", "runs"]
    await stop([third])


async def test_a_request_goes_on_before_those_of_its_asker_that_have_not_begun_and_takes_turns_with_other_askers():
    admission, order = Admission(at_once=1, waiting=8), []

    async def in_parts(asker, name, parts):
        async with admission.turn(asker):
            order.append(name)
        for _ in range(parts - 1):
            async with admission.next_turn(asker):
                order.append(name)

    async with admission.turn("other"):
        work = [asyncio.create_task(in_parts(*one)) for one in (("a", "a1", 3), ("a", "a2", 1), ("a", "a3", 1), ("b", "b1", 2))]
        await settled()
    await asyncio.gather(*work)
    assert order == ["a1", "b1", "a1", "b1", "a1", "a2", "a3"]
    assert (admission.running, admission.waiting) == (0, 0)
