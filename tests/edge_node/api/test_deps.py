"""Turns and deadlines of questions, with stand-ins for what answers them."""

import asyncio
import time
from types import SimpleNamespace

import pytest

from edge_node.answer.answerer import Ask
from edge_node.answer.memorizer import NOTHING_SEEN, Look
from edge_node.answer.overview import GlobalAsk
from edge_node.api.deps import Admissions, answered
from shared.admission import Admission
from shared.errors import ModelTimeout
from shared.records import Answer
from shared.trace import Trace
from tests.support.waiting import until


async def nothing_remembered(*_):
    return NOTHING_SEEN


async def forgotten(*_):
    pass


def node_of(answer, *, deadline_s=5.0, remembered=nothing_remembered):
    limits = SimpleNamespace(deadline_s=deadline_s, answer_deadline_s=deadline_s)
    answerer = SimpleNamespace(answer=answer, remembered=remembered, limits=limits)
    overview, verdicts = SimpleNamespace(answer=answer, limits=limits), SimpleNamespace(given=forgotten)
    return SimpleNamespace(overview=overview, answerer=answerer, verdicts=verdicts, meter=SimpleNamespace(answered=lambda *_: None))


REMEMBERED = Answer("q", "Ann Lee [1]", (), "memory")


def admissions():
    return Admissions(Admission(at_once=1, waiting=4), Admission(at_once=1, waiting=4))


async def hanging(*_):
    await asyncio.Event().wait()


@pytest.mark.parametrize("ask", [GlobalAsk("What happened?"), Ask("Who did it?")])
async def test_a_question_ends_with_its_deadline(ask):
    with pytest.raises(ModelTimeout):
        await answered(admissions(), node_of(hanging, deadline_s=0.01), ask, Trace())


async def test_the_deadline_of_a_question_about_everything_begins_before_its_turn():
    turns, given = admissions(), []

    async def answer(ask, trace, deadline, hear):
        given.append(deadline)

    async with turns.overviews.turn():
        asking = asyncio.create_task(answered(turns, node_of(answer), GlobalAsk("What happened?"), Trace()))
        await until(lambda: turns.overviews.waiting)
        waited_until = time.monotonic()
    await asking
    assert given[0]._ends <= waited_until + 5.0


@pytest.mark.parametrize(
    ("first", "second"), [(GlobalAsk("What happened?"), Ask("Who did it?")), (Ask("Who did it?"), GlobalAsk("What happened?"))]
)
async def test_questions_about_everything_and_others_do_not_wait_for_each_other(first, second):
    turns = admissions()
    held = asyncio.create_task(answered(turns, node_of(hanging), first, Trace()))
    await until(lambda: turns.of(first).running)

    async def answer(*_):
        return "done"

    async with asyncio.timeout(5):
        assert await answered(turns, node_of(answer), second, Trace()) == "done"
    held.cancel()


async def test_an_answer_from_memory_waits_for_no_turn_at_the_model():
    turns = admissions()

    async def remembered(*_):
        return Look(answer=REMEMBERED)

    async def answer(ask, trace, look):
        return look.answer

    async with turns.questions.turn(), asyncio.timeout(5):
        assert await answered(turns, node_of(answer, remembered=remembered), Ask("Who did it?"), Trace()) is REMEMBERED
