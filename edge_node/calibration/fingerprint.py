"""Which generator answers: its name, and with which word it would begin a text that leaves the choice open.

A server may be given another model behind the same name. Two models agree on the next word of a plain question, and hardly on this.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from shared.ports import Generator, Message, Prompt

PROBE = Prompt((Message("user", "Write any one word that comes to your mind, and nothing else."),), max_tokens=1, top_logprobs=10)
DEADLINE_S = 60.0
SAME = 0.1  # least shift between the shares that another model shows; the same one differs by the order of its sums


@dataclass(frozen=True, slots=True)
class Mark:
    """A generator's name, and the shares of its ten likeliest first tokens; none where its server does not tell."""

    name: str
    tokens: Mapping[str, float]


async def mark_of(generator: Generator) -> Mark:
    """Ask it. Raises ModelTimeout, ModelUnavailable, ModelReplyError."""
    reply = await generator.generate(PROBE, deadline_s=DEADLINE_S)
    likely = {token: math.exp(value) for token, value in sorted((reply.first_token or {}).items())}
    return Mark(generator.name, {token: round(value / sum(likely.values()), 4) for token, value in likely.items()})


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
