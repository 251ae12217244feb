import pytest

from shared.limits import Breaker
from tests.support.storing import SetClock


@pytest.fixture
def clock():
    return SetClock()


@pytest.fixture
def breaker(clock):
    return Breaker(failures=3, open_s=30.0, clock=clock)


def fail(breaker, times):
    for _ in range(times):
        breaker.failed()


def test_a_new_breaker_lets_every_call_go(breaker):
    assert [breaker.allows() for _ in range(10)] == [True] * 10


def test_it_opens_at_so_many_failures_in_a_row(breaker):
    fail(breaker, 2)
    assert breaker.allows()
    breaker.failed()
    assert not breaker.allows()
    assert breaker.left_s() == 30.0


def test_an_answer_between_failures_starts_the_count_again(breaker):
    fail(breaker, 2)
    breaker.succeeded()
    fail(breaker, 2)
    assert breaker.allows()


def test_while_open_no_call_goes_until_the_time_is_over(breaker, clock):
    fail(breaker, 3)
    clock.time += 29.9
    assert not breaker.allows()
    clock.time += 0.1
    assert breaker.left_s() == 0.0
    assert breaker.allows()


def test_half_open_exactly_one_probe_goes(breaker, clock):
    fail(breaker, 3)
    clock.time += 30
    assert [breaker.allows() for _ in range(5)] == [True, False, False, False, False]


def test_a_failed_probe_opens_it_anew_for_the_whole_time(breaker, clock):
    fail(breaker, 3)
    clock.time += 30
    breaker.allows()
    clock.time += 10
    breaker.failed()
    assert breaker.left_s() == 30.0


def test_a_probe_that_is_answered_closes_it(breaker, clock):
    fail(breaker, 3)
    clock.time += 30
    breaker.allows()
    breaker.succeeded()
    fail(breaker, 2)
    assert breaker.allows()


def test_a_probe_whose_end_nobody_tells_is_followed_by_another(breaker, clock):
    fail(breaker, 3)
    clock.time += 30
    breaker.allows()
    clock.time += 30
    assert [breaker.allows(), breaker.allows()] == [True, False]


def test_late_failures_of_calls_that_went_before_do_not_keep_it_open_longer(breaker, clock):
    fail(breaker, 3)
    clock.time += 20
    breaker.failed()
    assert breaker.left_s() == 10.0
