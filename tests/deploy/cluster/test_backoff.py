"""When a service starts again: time is a number here."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.cluster.supervisor import (
    FIRST_WAIT_S,
    LONG_RUN_S,
    LONGEST_WAIT_S,
    SETTINGS_WITHIN_S,
    RestartWait,
    ServiceRun,
    hopeless,
    next_start,
)


def waits(run_lengths, *, exit_code=-9):
    """How long it is waited after each run of a service, on a scripted clock."""
    now, short, found = 0.0, 0, []
    for length in run_lengths:
        run, now = ServiceRun(now, short), now + length
        wait = next_start(run, now=now, exit_code=exit_code)
        assert wait
        found.append(wait.until - now)
        now, short = wait.until, wait.short_before
    return found


def test_a_crash_loop_waits_twice_as_long_each_time_up_to_a_minute():
    assert waits([1.0] * 9) == pytest.approx([0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0])


def test_a_run_of_a_minute_lets_it_begin_anew_and_a_wait_of_a_minute_does_not():
    assert waits([1.0, 1.0, LONG_RUN_S, 1.0]) == pytest.approx([0.5, 1.0, 0.5, 1.0])
    assert waits([1.0] * 12)[-3:] == pytest.approx([60.0, 60.0, 60.0])


@given(st.integers(0, 10_000), st.floats(0, 1e6))
def test_a_wait_is_never_shorter_than_the_first_nor_longer_than_the_longest(short, length):
    wait = next_start(ServiceRun(0.0, short), now=length, exit_code=1 if short else 3)
    assert wait
    assert wait.until - length + 1e-6 >= FIRST_WAIT_S
    assert wait.until - length <= LONGEST_WAIT_S + 1e-6


@pytest.mark.parametrize("exit_code", [5, 6])
def test_damaged_data_and_data_in_use_are_never_tried_again(exit_code):
    assert next_start(ServiceRun(0.0), now=1e6, exit_code=exit_code) is None
    assert hopeless(ServiceRun(0.0, 4), now=1.0, exit_code=exit_code)


@pytest.mark.parametrize("exit_code", [1, 2])
def test_settings_that_cannot_be_used_are_not_tried_again_but_a_failure_long_after_the_start_is(exit_code):
    assert next_start(ServiceRun(0.0), now=SETTINGS_WITHIN_S - 1, exit_code=exit_code) is None
    assert next_start(ServiceRun(0.0), now=SETTINGS_WITHIN_S + 1, exit_code=exit_code) == RestartWait(SETTINGS_WITHIN_S + 1.5, 1)
    assert next_start(ServiceRun(0.0, 1), now=1.0, exit_code=exit_code) == RestartWait(2.0, 2)


@pytest.mark.parametrize("exit_code", [0, -9, -15, 3, 130])
def test_whatever_else_ends_is_started_again(exit_code):
    assert next_start(ServiceRun(10.0), now=11.0, exit_code=exit_code) == RestartWait(11.5, 1)
