"""Which generator answers: its name, and with which word it would begin a text that leaves the choice open.

A server may be given another model behind the same name. Two models agree on the next word of a plain question, and hardly on this.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass

from shared.errors import ModelError
from shared.limits import Deadline
from shared.models.catalogue import Certainties, certainties_of
from shared.ports import Generator, Message, Prompt, Reply
from shared.telemetry.trace import Trace

log = logging.getLogger("dgrag.models")
PROBE = Prompt((Message("user", "Write any one word that comes to your mind, and nothing else."),), max_tokens=1, top_logprobs=10)
DEADLINE_S = 60.0
LOOK_S, AGAIN_S = 600.0, 60.0  # between two looks whether it is still the same one; where it could not be asked
SAME = 0.3  # shift between the shares from which on it is another model: 0.09 was the most of the same one, whose sums go in any order


@dataclass(frozen=True, slots=True)
class Mark:
    """A generator's name, and the shares of its ten likeliest first tokens; none where its server does not tell."""

    name: str
    tokens: Mapping[str, float]


async def mark_of(generator: Generator) -> Mark:
    """Ask it. Raises ModelTimeout, ModelUnavailable, ModelReplyError."""
    return _mark(generator.name, await generator.generate(PROBE, deadline_s=DEADLINE_S))


def _mark(name: str, reply: Reply) -> Mark:
    likely = {token: math.exp(value) for token, value in sorted((reply.first_token or {}).items())}
    return Mark(name, {token: round(value / sum(likely.values()), 4) for token, value in likely.items()})


def is_same(one: Mark, other: Mark) -> bool:
    """Whether both are of one model: by name, and by half of the sum of all differences between the shares.

    >>> is_same(Mark("small", {"Apple": 0.6, "Sun": 0.3}), Mark("small", {"Apple": 0.58, "Sun": 0.31}))
    True
    >>> is_same(Mark("small", {"Apple": 0.6, "Sun": 0.3}), Mark("small", {"Apple": 0.3, "Sky": 0.5}))
    False
    """
    tokens = {*one.tokens, *other.tokens}
    shift = sum(abs(one.tokens.get(token, 0.0) - other.tokens.get(token, 0.0)) for token in tokens) / 2
    return one.name == other.name and shift < SAME


class Measured:
    """How sure the generator has to be, as was measured with it; looked at when it is first wanted, and again after ``LOOK_S``."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._known = certainties_of(generator.name)
        self._is_it, self._holds = False, Deadline(0.0)

    async def certainties(self, trace: Trace, deadline: Deadline) -> Certainties | None:
        """None where another model answers than was measured, or its server tells no shares, or could not be asked of late.

        Raises ModelTimeout, ModelUnavailable, ModelReplyError.
        """
        if self._known is not None and self._holds.left_s() <= 0:
            self._holds = Deadline(AGAIN_S)  # others go on by the former look meanwhile
            try:
                with trace.step("which model") as step:
                    reply = step.model(await self._generator.generate(PROBE, deadline_s=deadline.left_s()))
            except ModelError:
                self._is_it = False
                raise
            measured = Mark(self._generator.name, self._known.first_words)
            self._is_it, self._holds = is_same(_mark(self._generator.name, reply), measured), Deadline(LOOK_S)
            if not self._is_it:
                log.warning("another model than the measured one answers as %s: memory asks it nothing", self._generator.name)
        return self._known if self._is_it else None
