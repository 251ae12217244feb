"""Work for the language model in idle time: it is asked about one item after another; what a reply says is parsed, and committed by itself.

KET-RAG's ``CoreReader`` asks through ``ModelExtractor``, whose replies are gleaned and read again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import ExitStack
from typing import TypeVar

from edge_node.records import CachedGenerator, Cost, Progress
from shared.errors import ModelReplyError
from shared.ports import Prompt, Reply
from shared.text.fence import Fence

Item = TypeVar("Item")


class UncachedGenerator:
    """A Generator whose replies count but are not kept: each is committed as what it was written for, or not at all."""

    def __init__(self, generator: CachedGenerator) -> None:
        self._generator = generator

    @property
    def name(self) -> str:
        """The model's name."""
        return self._generator.name

    async def generate(self, prompt: Prompt, *, deadline_s: float) -> Reply:
        """As the port says."""
        return await self._generator.generate(prompt, deadline_s=deadline_s, usable=lambda _: False)

    def stream(self, prompt: Prompt, *, deadline_s: float) -> AsyncIterator[str]:
        """As the port says."""
        return self._generator.stream(prompt, deadline_s=deadline_s)


class ModelTask:
    """One kind of work."""

    def __init__(self, generator: CachedGenerator, log: logging.Logger, *, deadline_s: float) -> None:
        """``deadline_s``: of one call."""
        self._generator = UncachedGenerator(generator)
        self._log = log
        self._deadline_s = deadline_s

    @property
    def model(self) -> str:
        """The model's name."""
        return self._generator.name

    async def ask(self, prompt: Prompt, failure: str) -> tuple[Reply | None, Cost]:
        """The reply, and what it cost; None where this one item failed, which the log is told in the words of ``failure``.

        Raises ModelTimeout and ModelUnavailable: the other items would fail too.
        """
        try:
            reply = await self._generator.generate(prompt, deadline_s=self._deadline_s)
        except ModelReplyError as error:
            self._log.warning("%s: %s", failure, error.code)
            return None, Cost(calls=1)
        return reply, Cost(1, reply.tokens_in, reply.tokens_out)


async def each(stage: str, items: Sequence[Item], work: Callable[[Item], Awaitable[Cost]], progress: Progress, *, at_once: int) -> Cost:
    """Do the work on ``at_once`` items at a time, and return what all of it cost.

    Raises ModelError, as any other error, when what was begun beside the item that failed has ended; what was committed stays.
    """
    waiting, costs = deque(items), list[Cost]()

    async def one_after_another() -> None:
        while waiting:
            item = waiting.popleft()
            progress(stage, len(costs), len(items))
            with ExitStack() as failing:
                failing.callback(waiting.clear)  # whatever the error is: nobody begins another item
                costs.append(await work(item))
                failing.pop_all()

    ended = await asyncio.gather(*(one_after_another() for _ in range(at_once)), return_exceptions=True)
    if errors := [error for error in ended if error is not None]:
        raise errors[0]
    return sum(costs, Cost())


def lines_of(reply: Reply | None, prompt: Prompt, fence: Fence) -> str:
    """The reply's whole lines; "" where there is none, or it says nothing, or gives the prompt away."""
    text = reply.texts[0] if reply and reply.texts else ""
    if fence.is_given_away(text, prompt.messages):
        return ""
    return text.rpartition("\n")[0] if reply and any(reply.truncated) else text
