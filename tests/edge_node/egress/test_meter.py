"""Daily limits: for each requester, and for all of them together."""

import random
from types import SimpleNamespace

import pytest

from edge_node.egress import meter as module
from edge_node.egress.meter import EgressMeter, Told
from edge_node.policy.rules import Daily, DailyAll, parse
from tests.support.storing import SetClock

NOTHING = dict.fromkeys(("replies", "passages", "bytes"), 0)


class Ledger:
    """What was sent before; None: to all."""

    def __init__(self, **before):
        self.before = before
        self.asked = []

    def spent(self, requester, *, since):
        self.asked.append(requester)
        return SimpleNamespace(replies=self.before.get(requester or "everybody", 0), passages=0, bytes=0)

    def disclosed(self, requester, *, since):
        return frozenset()


def limits(each=Daily(**NOTHING), everybody=DailyAll(**NOTHING)):  # noqa: B008 - frozen
    return SimpleNamespace(daily=each, daily_all=everybody)


def passages(*sizes):
    return [Told(size, (f"d:{number}",)) for number, size in enumerate(sizes)]


def take(meter, requester, sizes, policy):
    return meter.take(requester, passages(*sizes), policy, 1_000)


def allowance(meter, requester, sizes, policy):
    return meter.allowance(requester, passages(*sizes), policy, 1_000)


@pytest.fixture
def meter():
    return EgressMeter(Ledger(), SetClock())


def test_whatever_names_ask_all_together_get_no_more_than_their_limit(meter):
    both = limits(Daily(replies=2), Daily(passages=7))
    rng = random.Random(3)
    assert sum(take(meter, f"ghost-{rng.randrange(99)}", [5, 5], both) for _ in range(200)) == 7


def test_what_one_requester_has_no_limit_for_counts_for_all(meter):
    everybody = limits(everybody=Daily(replies=2))
    assert [take(meter, name, [5], everybody) for name in ("a", "b", "c")] == [1, 1, 0]


def test_a_look_counts_nothing(meter):
    assert [allowance(meter, "a", [5], limits(Daily(replies=1), Daily(replies=1))) for _ in range(3)] == [1, 1, 1]


def test_a_limit_that_comes_during_the_day_counts_what_went_before_it(meter):
    take(meter, "a", [5], limits())
    meter._ledger.before["a"] = 1
    assert take(meter, "a", [5], limits(Daily(replies=1))) == 0


def test_without_a_limit_no_name_is_remembered_and_with_one_not_more_than_ten_thousand(meter, monkeypatch):
    for number in range(5):
        take(meter, f"n{number}", [5], limits())
    assert (meter._had, meter._ledger.asked) == ({}, [])
    monkeypatch.setattr(module, "MAX_NAMES", 3)
    for number in range(9):
        take(meter, f"n{number}", [5], limits(Daily(replies=1)))
    assert len(meter._had) == 3


@pytest.mark.parametrize(("everybody", "replies"), [("", 5_000), ("[daily_all]\nreplies = 0\npassages = 0\nbytes = 0", 30_000)])
def test_however_many_names_are_invented_what_is_remembered_has_a_bound(meter, everybody, replies):
    policy, kept = parse(f"version = 1\n{everybody}"), 0
    for number in range(30_000):
        kept += take(meter, f"ghost-{number}", [5], policy)
    most = min(replies, module.MAX_NAMES) + 1  # and all of them together
    assert (kept, len(meter._had) <= most, len(meter._seen) <= most) == (replies, True, True)
    assert len(meter._ledger.asked) <= replies + 1  # once all is spent, no name is looked up


def test_what_all_together_had_is_never_forgotten(meter, monkeypatch):
    monkeypatch.setattr(module, "MAX_NAMES", 3)
    for number in range(9):
        take(meter, f"n{number}", [5], limits(Daily(replies=1), Daily(replies=99)))
    assert (meter._ledger.asked.count(None), meter._had[None][0]) == (1, 9)


def test_a_point_counts_for_every_chunk_that_it_rests_on(meter):
    point, share = [Told(5, ("a:0", "b:0", "c:0"))], limits(Daily(**NOTHING, share=0.1))
    assert [meter.take("a", point, limits(Daily(passages=7), DailyAll(**NOTHING)), 1_000) for _ in range(3)] == [1, 1, 0]
    assert (meter.take("b", point, share, 20), meter.take("b", point, share, 30), meter.take("b", point, share, 30)) == (0, 1, 1)
    assert meter.take("b", [Told(5, ("d:0",))], share, 30) == 0
