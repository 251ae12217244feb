"""What is held while it is used."""

import threading

import pytest

from shared.idle import HeldWhileUsed


class Opened:
    """Counts what was opened; tells when one was closed."""

    def __init__(self):
        self.count, self.closed, self.has_closed = 0, [], threading.Event()

    def open(self):
        self.count += 1
        return self.count

    def close(self, number):
        self.closed.append(number)
        self.has_closed.set()

    def held(self, idle_s):
        return HeldWhileUsed(self.open, idle_s=idle_s, close=self.close)


def numbers(held, times):
    for _ in range(times):
        with held.used() as number:
            yield number


def test_it_is_opened_once_for_all_and_closed_when_nobody_has_used_it():
    things = Opened()
    assert list(numbers(things.held(60.0), 3)) == [1, 1, 1]
    held = things.held(0.01)
    assert list(numbers(held, 1)) == [2]
    assert things.has_closed.wait(30)
    assert (things.closed, held.now) == ([2], None)
    assert list(numbers(held, 1)) == [3]


def test_while_it_is_used_it_stays_however_long_that_takes():
    things = Opened()
    held, looked = things.held(0.0), threading.Event()
    held._look = lambda: (looked.set(), HeldWhileUsed._look(held))
    with held.used():
        assert looked.wait(30)
        assert things.closed == []
    assert things.has_closed.wait(30)


def test_what_fails_in_use_is_opened_anew():
    things = Opened()
    held = things.held(60.0)
    with pytest.raises(ValueError, match="broken"), held.used():
        raise ValueError("broken")
    assert things.closed == [1]
    assert list(numbers(held, 1)) == [2]
