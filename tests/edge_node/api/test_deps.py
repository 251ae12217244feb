"""Turns and deadlines of questions, with stand-ins for what answers them."""

import asyncio
import time
from dataclasses import fields
from types import SimpleNamespace

import pytest

from edge_node.answering.answerer import Ask
from edge_node.answering.fast_path import NOTHING_SEEN, FastPathResult
from edge_node.answering.overview import GlobalAsk
from edge_node.api.streaming import hearing
from edge_node.node import Admissions, EdgeNode
from edge_node.settings import EdgeSettings
from shared.admission import Admission
from shared.errors import DiskFull, ModelTimeout, ModelUnavailable, Overloaded
from shared.records import Answer
from shared.telemetry.metrics import Meter
from shared.telemetry.trace import Trace
from tests.support.metrics_pages import samples_of
from tests.support.waiting import until


async def nothing_remembered(*_):
    return NOTHING_SEEN


async def forgotten(*_, **__):
    pass


class Words(Meter):
    """Counts failures; the answers of these tests are words."""

    def answered(self, answer, seconds, *, at_cloud=False):
        self.told = answer


class Node(SimpleNamespace):
    """What of an edge answers, with stand-ins for the rest."""

    ask, _alone, _answer, check_turn = EdgeNode.ask, EdgeNode._alone, EdgeNode._answer, EdgeNode.check_turn
    _made = EdgeNode._made


def node_of(answer, *, deadline_s=5.0, remembered=nothing_remembered, given=forgotten):
    settings = EdgeSettings(global_deadline_s=deadline_s, answer_deadline_s=deadline_s)
    answerer = SimpleNamespace(answer=answer, remembered=remembered)
    overview, feedback = SimpleNamespace(answer=answer), SimpleNamespace(given=given, arrivals=0)
    return Node(settings=settings, overview=overview, answerer=answerer, feedback=feedback, meter=Words("ward"), admissions=admissions())


REMEMBERED = Answer("q", "Ann Lee [1]", (), "memory")


def asked(turns, node, ask, trace):
    """As an edge with these turns answers."""
    node.admissions = turns
    return node.ask(ask, trace)


def admissions(waiting=4):
    return Admissions(*[Admission(at_once=1, waiting=waiting) for _ in fields(Admissions)])


async def hanging(*_):
    await asyncio.Event().wait()


@pytest.mark.parametrize("ask", [GlobalAsk("What happened?"), Ask("Who did it?")])
async def test_a_question_ends_with_its_deadline(ask):
    with pytest.raises(ModelTimeout):
        await asked(admissions(), node_of(hanging, deadline_s=0.01), ask, Trace())


async def test_the_deadline_of_a_question_about_everything_begins_before_its_turn():
    turns, given = admissions(), []

    async def answer(ask, trace, deadline, on_text):
        given.append(deadline)

    async with turns.overviews.turn("another"):
        asking = asyncio.create_task(asked(turns, node_of(answer), GlobalAsk("What happened?"), Trace()))
        await until(lambda: turns.overviews.waiting)
        waited_until = time.monotonic()
    await asking
    assert given[0]._ends <= waited_until + 5.0


@pytest.mark.parametrize(
    ("first", "second"), [(GlobalAsk("What happened?"), Ask("Who did it?")), (Ask("Who did it?"), GlobalAsk("What happened?"))]
)
async def test_questions_about_everything_and_others_do_not_wait_for_each_other(first, second):
    turns = admissions()
    held = asyncio.create_task(asked(turns, node_of(hanging), first, Trace()))
    await until(lambda: turns.of(first).running)

    async def answer(*_):
        return "done"

    async with asyncio.timeout(5):
        assert await asked(turns, node_of(answer), second, Trace()) == "done"
    held.cancel()


async def test_an_answer_from_memory_waits_for_no_turn_at_the_model():
    turns = admissions()

    async def remembered(*_):
        return FastPathResult(answer=REMEMBERED)

    async def answer(ask, trace, look):
        return look.answer

    async with turns.questions.turn("another"), asyncio.timeout(5):
        assert await asked(turns, node_of(answer, remembered=remembered), Ask("Who did it?"), Trace()) is REMEMBERED


def failed(node):
    """{code: questions that failed by it}."""
    return {
        labels[0][1]: count for (name, labels), count in samples_of(node.meter.page()).items() if name == "dgrag_questions_failed_total"
    }


def raising(error):
    async def answer(*_, **__):
        raise error

    return answer


@pytest.mark.parametrize(
    ("answer", "deadline_s", "raised", "code"),
    [
        (raising(ModelUnavailable("away")), 5.0, ModelUnavailable, "model_unavailable"),
        (raising(ValueError("a surprise")), 5.0, ValueError, "internal"),
        (hanging, 0.01, ModelTimeout, "model_timeout"),
    ],
)
async def test_a_question_that_fails_is_counted_once(answer, deadline_s, raised, code):
    node = node_of(answer, deadline_s=deadline_s)
    with pytest.raises(raised):
        await asked(admissions(), node, Ask("Who did it?"), Trace())
    assert failed(node) == {code: 1}


async def test_a_question_that_fails_while_its_answer_is_heard_is_counted_once():
    node = node_of(raising(ModelUnavailable("away")))
    (last,) = [told async for told in hearing(node, Ask("Who did it?"))]
    assert isinstance(last, ModelUnavailable)
    assert failed(node) == {"model_unavailable": 1}


async def test_an_answer_that_cannot_be_kept_for_a_verdict_has_failed_and_is_no_answer():
    async def answer(*_):
        return "done"

    node = node_of(answer, given=raising(DiskFull("no room")))
    with pytest.raises(DiskFull):
        await asked(admissions(), node, Ask("Who did it?"), Trace())
    assert failed(node) == {DiskFull.code: 1}
    assert not hasattr(node.meter, "told")


async def test_a_question_that_gets_no_turn_is_counted_whether_its_answer_is_heard_or_not():
    turns, node, ask = admissions(waiting=0), node_of(hanging), Ask("Who did it?")
    node.admissions = turns
    async with turns.questions.turn("another"):
        with pytest.raises(Overloaded):
            await asked(turns, node, ask, Trace())
        with pytest.raises(Overloaded):
            node.check_turn(ask)
    assert failed(node) == {"overloaded": 2}


async def test_a_question_whose_caller_went_has_not_failed():
    turns, node = admissions(), node_of(hanging)
    asking = asyncio.create_task(asked(turns, node, Ask("Who did it?"), Trace()))
    await until(lambda: turns.questions.running)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert failed(node) == {}
