"""Work for the language model in idle time: ask, parse, commit."""

from __future__ import annotations

from collections.abc import AsyncIterator

from edge_node.records import CachedGenerator
from shared.ports import Prompt, Reply
from shared.text.fence import Fence


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


def said_by(reply: Reply, prompt: Prompt, fence: Fence) -> str:
    """The reply's whole lines; "" where it says nothing, or gives the prompt away."""
    text = reply.texts[0] if reply.texts else ""
    if fence.is_given_away(text, prompt.messages):
        return ""
    return text.rpartition("\n")[0] if any(reply.truncated) else text
