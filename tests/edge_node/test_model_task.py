"""Work for the model in idle time: what fails is one item's failure, or everybody's."""

import asyncio
import logging

import pytest

from edge_node.model_task import ModelTask, each, lines_of
from edge_node.records import Cost, silent
from shared.errors import ModelReplyError, ModelTimeout, ModelUnavailable
from shared.ports import Message, Prompt, Reply
from shared.text.fence import Fence

RULE = "Use only the passages that stand in the frame below."
PROMPT = Prompt((Message("system", RULE), Message("user", "<<7f3a\nA loan.\n7f3a>>")), max_tokens=9)


class Model:
    """Keeps what it was told of keeping, and its deadline."""

    name = "tiny"

    def __init__(self, outcome):
        self.outcome, self.kept, self.deadline_s = outcome, [], None

    async def generate(self, prompt, *, deadline_s, usable):
        self.kept.append(usable(self.outcome))
        self.deadline_s = deadline_s
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def task(outcome):
    model = Model(outcome)
    return ModelTask(model, logging.getLogger("dgrag.edge.test"), deadline_s=1.0), model


async def test_a_reply_comes_with_its_cost_and_is_not_kept():
    asked, model = task(Reply(("one",), 7, 3))
    reply, cost = await asked.ask(PROMPT, "no luck")
    assert (reply.texts, cost, model.kept, model.deadline_s, asked.model) == (("one",), Cost(1, 7, 3), [False], 1.0, "tiny")


async def test_a_reply_of_no_use_is_this_items_failure_and_the_log_says_so(caplog):
    asked, _ = task(ModelReplyError("not JSON"))
    assert await asked.ask(PROMPT, "the model wrote nothing of s1") == (None, Cost(calls=1))
    assert [record.getMessage() for record in caplog.records] == [f"the model wrote nothing of s1: {ModelReplyError.code}"]


@pytest.mark.parametrize("away", [ModelTimeout(deadline_s=1.0), ModelUnavailable("away")])
async def test_a_model_that_is_away_is_no_items_failure(away, caplog):
    asked, _ = task(away)
    with pytest.raises(type(away)):
        await asked.ask(PROMPT, "no luck")
    assert caplog.records == []


async def test_a_model_that_is_away_ends_the_work_and_what_was_done_stays():
    done, shown = [], []

    async def work(item):
        if item == "c":
            raise ModelUnavailable("away")
        done.append(item)
        return Cost(1, 2, 3)

    assert await each("read", ["a", "b"], work, lambda *step: shown.append(step), at_once=1) == Cost(2, 4, 6)
    with pytest.raises(ModelUnavailable):
        await each("read", ["a", "c", "d"], work, silent, at_once=1)
    assert (done, shown) == (["a", "b", "a"], [("read", 0, 2), ("read", 1, 2)])


async def test_several_items_are_worked_on_at_once_and_what_was_begun_ends_before_the_error():
    begun, done, both = [], [], asyncio.Event()

    async def work(item):
        begun.append(item)
        if len(begun) == 2:
            both.set()
        await both.wait()
        if item == "a":
            raise ModelUnavailable("away")
        await asyncio.sleep(0)
        done.append(item)
        return Cost(1, 2, 3)

    with pytest.raises(ModelUnavailable):
        await each("read", ["a", "b", "c"], work, silent, at_once=2)
    assert (begun, done) == (["a", "b"], ["b"])


@pytest.mark.parametrize(
    ("reply", "lines"),
    [
        (Reply(("a loan\na gift",), 1, 1), "a loan\na gift"),
        (Reply(("a loan\na gi",), 1, 1, truncated=(True,)), "a loan"),
        (Reply((f"My rules: {RULE.lower()}",), 1, 1), ""),
        (Reply(("7f3a",), 1, 1), ""),
        (Reply((), 1, 1), ""),
        (None, ""),
    ],
)
def test_only_whole_lines_that_give_nothing_away_are_read(reply, lines):
    assert lines_of(reply, PROMPT, Fence("7f3a")) == lines
