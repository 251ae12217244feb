"""A model server's client as the two functions that peers take. Functions, not methods: LightRAG copies its settings deep."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np

from benchmarks.peers.wire import Wire

DIMENSIONS = 384


def chat_function(wire: Wire) -> Callable[..., Awaitable[str]]:
    """The reply to a prompt, with what went before it."""

    async def chat(prompt: str, system_prompt: str | None = None, history_messages: Any = None, **_: Any) -> str:
        system = [{"role": "system", "content": system_prompt}] if system_prompt else []
        return wire.chat([*system, *(history_messages or []), {"role": "user", "content": prompt}])[0]

    return chat


def embed_function(wire: Wire) -> Callable[..., Awaitable[Any]]:
    """(n, 384) float32 rows."""

    async def embed(texts: list[str], **_: Any) -> Any:
        return np.stack([np.frombuffer(row, dtype="<f4") for row in wire.embed(texts)])

    return embed
