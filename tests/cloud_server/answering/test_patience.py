"""An edge that is late on purpose costs itself, and not who asks; on a loop whose time only waiting takes."""

import asyncio
from itertools import count
from random import Random
from statistics import quantiles

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_server.answering.availability import Availability
from cloud_server.answering.fan_out import FanOut, FanOutRequest
from cloud_server.answering.mailbox import LocalMailbox
from cloud_server.answering.patience import LEAST_S, LONGER, Patience, straggler
from cloud_server.database.opening import open_database
from shared.records import EdgeReport
from shared.wire import EvidenceBody, EvidenceReply

QUESTIONS = 100
TEXT = "The pump was replaced in March."
PASSAGE = EvidenceBody(document_id="d", document="a.md", chunk_id="d:0", span=(0, len(TEXT)), text=TEXT)
NEVER = 10_000.0


class Federation:
    """Edges that reply after so many seconds; ``pace(edge, chance)`` says how many."""

    def __init__(self, clock, database, pace, names):
        numbers = count(1)
        self.clock, self.pace, self.names, self.chance = clock, pace, names, Random(7)
        self.mailbox = LocalMailbox(clock)
        self.fan_out = FanOut(self.mailbox, clock, lambda: f"r{next(numbers)}")
        self.availability = Availability(database, clock, breaker_failures=5, breaker_s=30.0, deadline_s=5.0, rng=Random(1))
        self._at_work = set()

    async def serve(self, edge):
        while True:
            for request in await self.mailbox.poll(edge, wait_s=25):
                task = asyncio.create_task(self.reply(edge, request.request_id))
                self._at_work.add(task)
                task.add_done_callback(self._at_work.discard)

    async def reply(self, edge, request_id):
        await asyncio.sleep(self.pace(edge, self.chance))
        if request_id in self.fan_out._pending:
            await self.fan_out.deliver(edge, request_id, EvidenceReply(evidence=[PASSAGE]), size=100)

    async def ask(self):
        """(seconds, reports) of one question, put to all edges that may be asked."""
        asked, skipped = self.availability.chosen(self.names, k=len(self.names), online=self.fan_out.reaches)
        began = self.clock.monotonic()
        result = await self.fan_out.ask(asked, FanOutRequest("why?", 100), deadline_s=20.0, straggler_s=5.0)
        seconds = self.clock.monotonic() - began
        await self.availability.note(result.reports, matched=asked, useful=result.evidence, outpaced=result.outpaced)
        return seconds, [*result.reports, *skipped]


@pytest.fixture
def asked(on_skipping_loop, tmp_path):
    """What QUESTIONS questions took, and their reports."""
    numbers = count()

    def run(pace, names, questions=QUESTIONS):
        async def main(clock):
            database = open_database(tmp_path / str(next(numbers)), "")
            federation = Federation(clock, database, pace, names)
            serving = [asyncio.create_task(federation.serve(edge)) for edge in names]
            await asyncio.sleep(0.01)
            try:
                return [await federation.ask() for _ in range(questions)]
            finally:
                for task in (*serving, *federation._at_work):
                    task.cancel()
                await asyncio.gather(*serving, return_exceptions=True)
                database.close()

        return on_skipping_loop(main)

    return run


def p95(results):
    return quantiles([seconds for seconds, _ in results], n=20, method="inclusive")[-1]


def lateness_of(edge, results):
    return sum(report.status != "answered" for _, reports in results for report in reports if report.edge == edge)


HONEST = [f"edge-{number}" for number in range(9)]
PACES = {  # of an honest edge, in seconds
    "as fast as each other": lambda chance: 3.0,
    "each time another": lambda chance: chance.uniform(1.0, 4.0),
    "fast": lambda chance: chance.uniform(0.1, 0.4),
    "now and then long": lambda chance: 9.0 if chance.random() < 0.05 else chance.uniform(1.0, 2.0),
}
SLOW = [1.5, 2.9, 4.9, 5.5, 8.9, 15.0, 19.9, NEVER]


@pytest.mark.parametrize("slow_s", SLOW)
@pytest.mark.parametrize("kind", PACES)
def test_beside_nine_edges_one_that_is_as_slow_as_it_may_be_at_most_doubles_the_time_or_costs_the_least_patience(asked, kind, slow_s):
    def pace(edge, chance):
        return slow_s if edge == "mallory" else PACES[kind](chance)

    without = p95(asked(pace, HONEST))
    assert p95(asked(pace, [*HONEST, "mallory"])) <= max(LEAST_S, 2 * without) + 0.02


@pytest.mark.parametrize("slow_s", [4.9, 15.0, NEVER])
def test_beside_two_edges_that_are_asked_too_it_is_the_same(asked, slow_s):
    def pace(edge, chance):
        return slow_s if edge == "mallory" else 1.0

    assert p95(asked(pace, ["edge-1", "edge-2", "mallory"])) <= LEAST_S + 0.02


def test_one_that_is_late_as_late_as_it_is_still_heard_gains_no_time_by_its_habit(asked):
    """It replies just before it would be left out, later each time."""
    tried = count(1)

    def pace(edge, chance):
        return 1.0 + 0.05 * next(tried) if edge == "mallory" else 1.0

    assert p95(asked(pace, [*HONEST, "mallory"])) <= LEAST_S + 0.02


def test_null_control_the_patience_of_before_lets_it_decide(asked, monkeypatch):
    """Ten times the slowest that came, and five seconds at least."""

    def former(self, pending, came_s, *, among, straggler_s, is_later):
        return max(straggler_s, 10 * max(came_s)) if came_s and 2 * len(came_s) >= among else None

    monkeypatch.setattr(Patience, "limit_s", former)
    assert p95(asked(lambda edge, _: 15.0 if edge == "mallory" else 3.0, [*HONEST, "mallory"])) == pytest.approx(15.0, abs=0.02)


def test_who_is_left_out_again_and_again_is_asked_no_more_for_a_while_and_the_reports_say_both(asked):
    results = asked(lambda edge, _: 15.0 if edge == "mallory" else 3.0, [*HONEST, "mallory"], questions=8)
    said = [report for _, reports in results for report in reports if report.edge == "mallory"]
    assert [report.status for report in said] == ["late"] * 5 + ["skipped"] * 3
    assert said[0].reason == "no reply long after others had answered"
    assert said[-1].reason.startswith("it failed several times in a row")
    assert [round(seconds) for seconds, _ in results] == [6] * 5 + [3] * 3


@pytest.mark.parametrize("slow_s", [0.7, 6.0, 12.0, 18.0])
def test_when_all_are_slow_all_are_heard(asked, slow_s):
    results = asked(lambda _, chance: slow_s * chance.uniform(0.8, 1.1), HONEST, questions=30)
    assert sum(lateness_of(edge, results) for edge in HONEST) == 0


def test_when_most_become_slow_the_others_do_not_shut_them_out(asked):
    results = asked(lambda edge, chance: (9.0 if edge < "edge-6" else 1.0) * chance.uniform(0.9, 1.1), HONEST, questions=30)
    assert sum(lateness_of(edge, results) for edge in HONEST) == 0


def test_an_edge_on_a_slower_machine_is_heard_within_what_an_answer_may_take_and_beside_one_other_as_before(asked):
    slower = asked(lambda edge, _: 1.8 if edge == "edge-8" else 1.0, HONEST, questions=30)
    assert lateness_of("edge-8", slower) == 0
    of_two = asked(lambda edge, _: 4.0 if edge == "b" else 1.0, ["a", "b"], questions=30)
    assert lateness_of("b", of_two) == 0


@pytest.mark.parametrize("far_s", [0.6, 2.0, 2.9])
def test_a_far_or_slow_site_beside_fast_ones_is_heard(asked, far_s):
    assert lateness_of("far", asked(lambda edge, _: far_s if edge == "far" else 0.3, [*HONEST, "far"], questions=30)) == 0


def test_who_refuses_at_once_says_nothing_of_how_long_a_question_takes(on_skipping_loop):
    async def main(clock):
        numbers, loop = count(1), asyncio.get_running_loop()
        mailbox = LocalMailbox(clock)
        fan_out = FanOut(mailbox, clock, lambda: f"r{next(numbers)}")
        names = ["a", "b", "c", "d"]
        for edge in names:
            await mailbox.poll(edge, wait_s=0)
        asking = asyncio.create_task(fan_out.ask(names, FanOutRequest("why?", 100), deadline_s=20.0, straggler_s=5.0))
        replies = [(0.05, EvidenceReply(refused="policy"))] * 3 + [(6.0, EvidenceReply(evidence=[PASSAGE]))]
        for number, (at, body) in enumerate(replies, start=1):
            edge = names[number - 1]
            loop.call_later(at, lambda *sent: asyncio.ensure_future(fan_out.deliver(*sent, size=1)), edge, f"r{number}", body)
        return await asking

    assert [report.status for report in on_skipping_loop(main).reports] == ["refused"] * 3 + ["answered"]


times = st.floats(0.01, 60.0)


@given(st.lists(times, min_size=3, max_size=12), st.lists(times, min_size=0, max_size=60))
def test_whatever_an_edge_took_before_it_gets_twice_of_what_the_others_take_at_most(came_s, before_s):
    """Of at least four edges, where the others are as they usually are."""
    patience = Patience()
    for number, seconds in enumerate(came_s):
        patience.note(f"edge-{number}", seconds)
    for seconds in before_s:
        patience.note("mallory", seconds)
    limit_s = patience.limit_s({"mallory"}, came_s, among=len(came_s) + 1, straggler_s=5.0, is_later=False)
    assert limit_s <= max(LEAST_S, LONGER * max(came_s)) + 1e-9


@given(st.lists(times, min_size=3, max_size=12))
def test_nobody_is_left_out_before_the_slowest_of_the_others_came_twice_or_the_typical_one_three_times(came_s):
    limit_s = Patience().limit_s({"new"}, came_s, among=len(came_s) + 1, straggler_s=5.0, is_later=False)
    middle = sorted(came_s)[(len(came_s) - 1) // 2]
    assert limit_s >= min(LONGER * max(came_s), 3 * middle) - 1e-9


def test_who_held_the_first_round_up_is_not_asked_in_a_second_one():
    def report(edge, ms, status="answered"):
        return EdgeReport(edge, "evidence", status, ms, 0, 0)

    three = [report("a", 3000.0), report("b", 3100.0), report("c", 6000.0)]
    assert straggler(three) == "c"
    assert straggler([report("a", 3000.0), report("b", 3100.0), report("c", 4000.0)]) is None
    assert straggler([report("a", 10.0), report("b", 20.0), report("c", 700.0)]) is None
    assert straggler(three[1:]) is None
    assert straggler([*three[:2], report("c", 6000.0, "late")]) is None
