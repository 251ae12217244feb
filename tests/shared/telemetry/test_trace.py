"""A call of a model is counted in the step that is under way, for code that is handed no trace."""

import asyncio

import pytest

from shared.ports import Reply
from shared.telemetry.trace import Trace, count_call

REPLY = Reply(("yes",), tokens_in=7, tokens_out=1)


def calls(trace):
    return [(step.step, step.calls) for step in trace.steps()]


async def streaming(trace):
    with trace.step("stream"):
        yield 1


async def test_a_call_counts_in_the_innermost_step_and_in_the_outer_one_when_that_has_ended():
    trace = Trace()
    with trace.step("outer"):
        with trace.step("inner"):
            await asyncio.create_task(asyncio.to_thread(count_call, REPLY))
        count_call(REPLY)
        count_call(REPLY)
    assert calls(trace) == [("inner", 1), ("outer", 2)]


def test_a_call_behind_a_step_that_failed_counts_nowhere():
    trace = Trace()
    with pytest.raises(RuntimeError), trace.step("broken"):
        raise RuntimeError
    assert count_call(REPLY) is REPLY
    assert calls(trace) == [("broken", 0)]


async def test_a_stream_that_is_broken_off_in_another_task_leaves_no_step_that_counts():
    trace = Trace()
    running = streaming(trace)
    await asyncio.create_task(anext(running))
    await running.aclose()
    count_call(REPLY)
    assert calls(trace) == [("stream", 0)]


async def test_a_step_that_ends_within_another_ones_time_takes_nothing_from_it():
    trace = Trace()
    running = streaming(trace)
    await anext(running)
    with trace.step("reader"):
        await running.aclose()
        count_call(REPLY)
    count_call(REPLY)
    assert calls(trace) == [("stream", 0), ("reader", 1)]
