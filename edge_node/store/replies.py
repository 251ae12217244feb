"""A model's good replies, kept: a crash, a retry or a second document with the same passage never pays twice (design §4)."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from dataclasses import asdict

import orjson

from edge_node.store.database import Database
from shared.ports import Clock, Generator, Prompt, Reply


def prompt_hash(prompt: Prompt) -> str:
    """Hash of the whole request: prompt text (so its version too), schema, limits and temperature."""
    return hashlib.sha256(orjson.dumps(asdict(prompt), option=orjson.OPT_SORT_KEYS)).hexdigest()


class RememberingGenerator:
    """A Generator that answers from the store what it has answered before. For temperature 0, on the write path."""

    def __init__(self, generator: Generator, database: Database, clock: Clock) -> None:
        self._generator = generator
        self._database = database
        self._clock = clock

    @property
    def name(self) -> str:
        """The model's name."""
        return self._generator.name

    async def generate(self, prompt: Prompt, *, deadline_s: float) -> Reply:
        """From the store at no cost, else from the model; a cut or empty reply is returned but not kept."""
        key = (prompt_hash(prompt), self.name)
        row = self._database.row("SELECT reply FROM llm_results WHERE input_hash = ? AND model = ?", key)
        if row:
            return Reply(texts=tuple(orjson.loads(row["reply"])), tokens_in=0, tokens_out=0, truncated=(False,) * prompt.n)
        reply = await self._generator.generate(prompt, deadline_s=deadline_s)
        if all(text.strip() for text in reply.texts) and not any(reply.truncated):
            with self._database.write() as tx:
                tx.execute(
                    "INSERT OR REPLACE INTO llm_results VALUES (?, ?, ?, ?)", (*key, orjson.dumps(reply.texts).decode(), self._clock.now())
                )
        return reply

    def stream(self, prompt: Prompt, *, deadline_s: float) -> AsyncIterator[str]:
        """Streams are not kept."""
        return self._generator.stream(prompt, deadline_s=deadline_s)
