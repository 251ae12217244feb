from dataclasses import astuple
from random import Random

import pytest

from cloud_server.answering.availability import PROBE_SHARE, WRITTEN_EVERY_S, Availability, Reliability
from cloud_server.database.opening import FILE, open_database
from shared.errors import DiskFull
from shared.records import EdgeReport
from tests.support.restoring import backup


def standing_of(database, clock, **changes):
    return Availability(database, clock, rng=Random(1), **{"breaker_failures": 5, "breaker_s": 30.0, "deadline_s": 2.0, **changes})


@pytest.fixture
def availability(database, clock):
    return standing_of(database, clock)


def report(edge, status, ms=2000.0):
    return EdgeReport(edge, "evidence", status, ms, 0, 0, "")


async def note(availability, edge, status, times=1, *, ms=2000.0, useful=False, requester=""):
    """Another edge is of use each time, or there would be nothing to learn."""
    for _ in range(times):
        sent = ["other", *([edge] if useful else [])]
        await availability.note([report(edge, status, ms)], matched=[edge], useful=sent, requester=requester)


def chosen(availability, *edges, k=5, offline=(), requester=""):
    asked, skipped = availability.chosen(edges, k=k, online=lambda edge: edge not in offline, requester=requester)
    return asked, {one.edge: one.reason for one in skipped}


async def test_after_five_failures_an_edge_is_left_alone_for_30_s_and_then_probed_once(availability, clock):
    await note(availability, "a", "late", 5)
    asked = []
    for _ in range(300):  # ten questions a second
        asked += chosen(availability, "a")[0]
        clock.seconds += 0.1
    assert asked == []
    assert chosen(availability, "a")[0] == ["a"]
    assert chosen(availability, "a")[0] == []


async def test_without_a_breaker_it_is_asked_every_time(database, clock):
    availability = standing_of(database, clock, breaker_failures=10**9)
    await note(availability, "a", "late", 500)
    assert chosen(availability, "a")[0] == ["a"]


@pytest.mark.parametrize("status", ["late", "failed"])
async def test_failures_open_the_breaker_and_the_answer_says_for_how_long(availability, status):
    await note(availability, "a", status, 5)
    assert chosen(availability, "a") == ([], {"a": "it failed several times in a row; asked again in 30 s"})


@pytest.mark.parametrize("status", ["refused", "offline", "answered"])
async def test_who_refuses_or_is_offline_does_not_fail(availability, status):
    await note(availability, "a", status, 19)
    assert chosen(availability, "a")[0] == ["a"]


async def test_an_asker_in_a_hurry_opens_no_breakers(availability):
    await note(availability, "a", "late", 100, ms=1500.0)  # three quarters of what the site gives
    assert chosen(availability, "a")[0] == ["a"]
    await note(availability, "a", "late", 5, ms=1990.0)
    assert chosen(availability, "a")[0] == []


async def test_who_answers_one_round_and_has_little_time_for_the_next_has_not_failed(availability):
    rounds = [report("a", "answered", 1500.0), report("a", "late", 500.0)]
    for _ in range(100):
        await availability.note(rounds, matched=[], useful=[])
    assert chosen(availability, "a")[0] == ["a"]


async def test_who_answers_one_round_and_is_late_in_the_next_each_time_fails(availability):
    for _ in range(5):
        await availability.note([report("a", "answered"), report("a", "late")], matched=[], useful=[])
    assert chosen(availability, "a")[0] == []


@pytest.mark.parametrize("status", ["answered", "refused", "late"])
async def test_what_an_edge_sent_in_one_round_is_judged_once_whatever_it_says_in_the_next(availability, status):
    for _ in range(20):
        await availability.note([report("a", "answered"), report("a", status, 10.0)], matched=["a"], useful=["other"])
    assert availability.view("a").reliability == 0.0
    assert astuple(availability._seen["a"][""]) == (0.0, 20.0)


async def test_who_is_passed_over_takes_nobodys_place(availability):
    await note(availability, "a", "late", 5)
    assert chosen(availability, "a", "b", "c", "d", k=2)[0] == ["b", "c"]
    assert chosen(availability, "b", "c", "d", k=2, offline=["b"])[0] == ["b", "c", "d"]


async def test_after_fifty_useless_replies_it_is_asked_one_time_in_five(availability):
    await note(availability, "a", "answered", 50)
    asked = sum(chosen(availability, "a")[0] == ["a"] for _ in range(2000))
    assert 0.17 < asked / 2000 < 0.23
    assert "its replies were hardly ever of use" in [chosen(availability, "a")[1].get("a") for _ in range(50)]


async def test_nineteen_useless_replies_prove_nothing_and_twenty_do(availability):
    await note(availability, "a", "answered", 19)
    assert availability.view("a").reliability == 1.0
    await note(availability, "a", "answered")
    assert availability.view("a").reliability == 0.0


async def test_an_edge_that_becomes_useful_is_asked_always_again(availability):
    await note(availability, "a", "answered", 50)
    await note(availability, "a", "answered", 15, useful=True)
    assert all(chosen(availability, "a")[0] == ["a"] for _ in range(100))


async def test_only_edges_that_their_summaries_brought_in_are_judged(availability):
    for _ in range(50):
        await availability.note([report("asker", "answered")], matched=[], useful=[])
    assert availability.view("asker").reliability == 1.0


@pytest.mark.parametrize("askers", [["mallory"], ["mallory", "eve"]])
async def test_what_two_askers_saw_costs_an_edge_nobody_elses_questions(availability, askers):
    for asker in askers:
        await note(availability, "a", "answered", 100, requester=asker)
    assert availability.view("a").reliability == 0.0
    assert all(chosen(availability, "a", requester="ward")[0] == ["a"] for _ in range(100))
    assert sum(chosen(availability, "a", requester="mallory")[0] == ["a"] for _ in range(100)) < 50


async def test_an_edge_of_no_use_to_many_is_hardly_asked_by_one_who_knows_nothing_of_it(availability):
    for number in range(10):
        await note(availability, "a", "answered", 5, requester=f"edge-{number}")
    assert sum(chosen(availability, "a", requester="ward")[0] == ["a"] for _ in range(1000)) < 300


async def test_of_a_question_that_nobody_could_serve_nothing_is_learnt(availability):
    for _ in range(50):
        await availability.note([report("a", "answered")], matched=["a"], useful=[])
    assert availability.view("a").reliability == 1.0


async def test_what_was_learnt_outlives_a_restart(availability, database, clock):
    await note(availability, "a", "answered", 30)
    clock.seconds += WRITTEN_EVERY_S
    await note(availability, "a", "answered", requester="ward")
    again = standing_of(database, clock)
    assert again.view("a").reliability == 0.0
    assert again._seen == availability._seen


async def test_a_full_disk_costs_no_answer(availability, database, clock, monkeypatch):
    def full():
        raise DiskFull("here")

    clock.seconds += WRITTEN_EVERY_S
    monkeypatch.setattr(database, "write", full)
    await note(availability, "a", "answered", 30)
    assert availability.view("a").reliability == 0.0


def test_old_replies_weigh_less_and_less():
    one = Reliability()
    for _ in range(1000):
        one = one.after(useful=False)
    assert one.useful + one.useless == pytest.approx(50)
    for _ in range(50):
        one = one.after(useful=True)
    assert one.share > 0.6


async def test_of_a_fan_out_with_a_deadline_of_its_own_that_one_counts(availability):
    for ms, asked in ((100_000.0, ["a"]), (170_000.0, [])):
        for _ in range(5):
            await availability.note([report("a", "late", ms)], matched=[], useful=[], deadline_s=200.0)
        assert chosen(availability, "a")[0] == asked


async def test_who_is_late_with_reports_is_passed_over_for_reports_alone(availability):
    late = EdgeReport("a", "reports", "late", 9_000.0, 0, 0)
    for _ in range(5):
        await availability.note([late], matched=[], useful=[], outpaced=["a"])
    (skipped,) = availability.chosen(["a"], k=5, online=lambda _: True, task="reports")[1]
    assert skipped.asked_for == "reports"
    assert chosen(availability, "a")[0] == ["a"]


async def test_a_view_tells_the_breaker_and_how_much_is_asked_and_is_no_probe(availability, clock):
    assert astuple(availability.view("a")) == (1.0, 1.0, "closed", 0.0)
    await note(availability, "a", "late", 5)
    clock.seconds += 10
    assert astuple(availability.view("a")) == (1.0, 1.0, "open", 20.0)
    clock.seconds += 20
    assert [availability.view("a").breaker for _ in range(2)] == ["half-open"] * 2
    assert chosen(availability, "a")[0] == ["a"]
    await note(availability, "a", "answered", 20)
    assert astuple(availability.view("a")) == (0.0, PROBE_SHARE, "closed", 0.0)


async def test_what_two_clouds_learn_of_an_edge_adds_up(database, clock):
    clouds = [standing_of(database, clock) for _ in range(2)]
    for cloud in clouds:
        await note(cloud, "a", "answered", 12, requester="ward")
    clock.seconds += WRITTEN_EVERY_S
    for cloud in clouds:
        await note(cloud, "a", "answered", requester="ward")
    assert clouds[0].view("a").asked == 1.0  # what it saw by itself is too little to conclude anything
    await note(clouds[0], "b", "answered", useful=True, requester="mill")  # not written yet
    await clouds[0].renew()
    assert (clouds[0].view("a").reliability, clouds[0].view("a").asked) == (0.0, PROBE_SHARE)
    assert clouds[0]._seen["b"]["mill"] == Reliability(1.0, 0.0)
    assert astuple(standing_of(database, clock).view("a")) == astuple(clouds[0].view("a"))


async def test_what_was_learnt_is_read_anew_from_a_store_that_was_restored(tmp_path, clock):
    database = open_database(tmp_path, "")
    one, two = (standing_of(database, clock) for _ in range(2))
    with backup(database, file=tmp_path / FILE) as restore:
        await note(one, "a", "answered", 40)
        clock.seconds += WRITTEN_EVERY_S
        await note(one, "a", "answered")
        await two.renew()
        assert two.view("a").reliability == 0.0
        restore()
    three = standing_of(database, clock)
    clock.seconds += WRITTEN_EVERY_S
    await note(three, "b", "answered")
    await two.renew()
    assert two.view("a").reliability == 1.0
    database.close()
