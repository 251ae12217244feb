"""The reduce step of a global answer: one call over the best points, told sentence by sentence as they are written (GraphRAG §2.6)."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from shared.deadline import Deadline
from shared.fence import FENCE_BYTES, Fence, one_line
from shared.passages import listed
from shared.ports import Generator, Message, Prompt, Reply
from shared.prompts import load_prompt
from shared.records import Evidence
from shared.reducing import Teller, Told, listable
from shared.sentences import sentences
from shared.support import Checking
from shared.trace import Trace

REDUCE = load_prompt("shared", "reduce")
_MARKERS = re.compile(r"(?:\s*(?:\[[^\[\]]{0,40}\]|\([^()]{0,40}\)))*\s*")
MOST_PROBES = 16  # of a global answer: as many sentences as the model is asked for, twice over
_ENDED = re.compile(r"[.!?…\])\"'”’]\s*$")  # behind a stop or a marker
Hear = Callable[[str], None]  # is told the next sentences of an answer; "" says that what was heard so far, if anything was, is void


def unheard(text: str) -> None:
    """Nobody listens: the answer is wanted as a whole."""


class Reducer:
    """Writes an answer out of points. ``count``: tokens of a text, for the trace, as a stream does not tell them."""

    def __init__(self, generator: Generator, count: Callable[[str], int], *, max_tokens: int) -> None:
        self._generator = generator
        self._count = count
        self._max_tokens = max_tokens

    async def reduce(
        self, question: str, points: Sequence[Evidence], trace: Trace, *, deadline_s: float, hear: Hear = unheard
    ) -> Told | None:
        """The answer; None where no sentence of it rests on a point, and where the model gives its instructions away.

        Then ``hear`` is told that what was heard is void, and where the call fails. Raises ModelError.
        """
        teller, is_whole = Teller(points, Checking(self._generator, trace, Deadline(deadline_s), MOST_PROBES)), False
        try:
            is_whole = await self._write(question, points, teller, trace, deadline_s, hear)
        finally:
            if not is_whole:
                hear("")
        told = teller.told()
        return told if is_whole and told.text else None

    async def _write(self, question: str, points: Sequence[Evidence], teller: Teller, trace: Trace, deadline_s: float, hear: Hear) -> bool:
        """Whether it could be written to its end."""
        fence = Fence(secrets.token_hex(FENCE_BYTES))
        messages = REDUCE.render(points=fence.around(listed(listable(points))), question=one_line(question))
        prompt, text = Prompt(messages, self._max_tokens, stop=("\nQuestion:",)), ""
        with trace.step("reduce") as step:
            try:
                async with aclosing(self._sentences(prompt, deadline_s)) as parts:
                    async for part in parts:
                        text += part
                        if fence.is_given_away(text, messages):
                            return False
                        if shown := await teller.add(part):
                            hear(shown)
            finally:
                step.model(Reply((text,), self._tokens(messages), self._count(text)))
        return True

    async def _sentences(self, prompt: Prompt, deadline_s: float) -> AsyncGenerator[str, None]:
        """Whole sentences of the stream, each with the markers behind it, without a last one that was cut off, unless it is the only one.

        A stream does not say why it ends: a sentence counts as whole with a stop or a marker at its end.
        """
        waiting, is_first = "", True
        async for piece in self._generator.stream(prompt, deadline_s=deadline_s):
            waiting += piece
            begins = sentences(waiting)[-1][0]
            markers = _MARKERS.match(waiting, begins)
            ends = markers.end() if markers else begins
            if begins and waiting[ends:] and waiting[ends] not in "[(":
                yield waiting[:ends]
                waiting, is_first = waiting[ends:], False
        if waiting.strip() and (is_first or _ENDED.search(waiting)):
            yield waiting

    def _tokens(self, messages: Sequence[Message]) -> int:
        return sum(self._count(message.content) for message in messages)
