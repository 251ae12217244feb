import asyncio

import pytest

from shared.errors import Overloaded
from shared.limits import Admission
from tests.support.waiting import until


async def test_two_run_one_waits_and_the_next_is_sent_away_with_a_time():
    admission, end = Admission(at_once=2, waiting=1), asyncio.Event()

    async def work():
        async with admission.turn():
            await end.wait()

    tasks = [asyncio.create_task(work()) for _ in range(3)]
    await until(lambda: (admission.running, admission.waiting) == (2, 1))
    with pytest.raises(Overloaded) as refused:
        admission.check()
    assert refused.value.retry_after_s >= 1
    assert not refused.value.of_caller
    with pytest.raises(Overloaded):
        await work()
    end.set()
    await asyncio.gather(*tasks)
    admission.check()
    assert (admission.running, admission.waiting) == (0, 0)


async def test_who_gives_up_waiting_leaves_no_trace():
    admission, end = Admission(at_once=1, waiting=1), asyncio.Event()

    async def work():
        async with admission.turn():
            await end.wait()

    first, second = asyncio.create_task(work()), asyncio.create_task(work())
    await until(lambda: admission.waiting == 1)
    second.cancel()
    await asyncio.wait([second])
    assert admission.waiting == 0
    admission.check()
    first.cancel()
    await asyncio.wait([first])
    async with admission.turn():
        assert admission.running == 1
