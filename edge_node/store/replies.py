"""A model's good replies, kept: a crash, a retry or a second document with the same passage never pays twice (design §4)."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from dataclasses import asdict

import orjson

from edge_node.store.database import Database
from shared.ports import Clock, Generator, Prompt, Reply

USAGE = ("model_calls", "tokens_in", "tokens_out")  # running totals in the meta table


def prompt_hash(prompt: Prompt) -> str:
    """Hash of the whole request: prompt text (so its version too), schema, limits and temperature."""
    return hashlib.sha256(orjson.dumps(asdict(prompt), option=orjson.OPT_SORT_KEYS)).hexdigest()


def usage(database: Database) -> dict[str, int]:
    """What the write path has used of the model since the store was made: each reply counts when it comes, whatever follows."""
    return {key: int(database.meta(key, "0")) for key in USAGE}


class RememberingGenerator:
    """A Generator that answers from the store what it has answered before, and counts what is paid.

    For temperature 0, on the write path.
    """

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
        row = await asyncio.to_thread(self._database.row, "SELECT reply FROM llm_results WHERE input_hash = ? AND model = ?", key)
        if row:
            return Reply(texts=tuple(orjson.loads(row["reply"])), tokens_in=0, tokens_out=0, truncated=(False,) * prompt.n)
        reply = await self._generator.generate(prompt, deadline_s=deadline_s)
        await asyncio.to_thread(self._keep, key, reply)
        return reply

    def _keep(self, key: tuple[str, str], reply: Reply) -> None:
        with self._database.write() as tx:
            tx.executemany(
                "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + excluded.value",
                zip(USAGE, (1, reply.tokens_in, reply.tokens_out), strict=True),
            )
            if all(text.strip() for text in reply.texts) and not any(reply.truncated):
                tx.execute(
                    "INSERT OR REPLACE INTO llm_results VALUES (?, ?, ?, ?)", (*key, orjson.dumps(reply.texts).decode(), self._clock.now())
                )

    def stream(self, prompt: Prompt, *, deadline_s: float) -> AsyncIterator[str]:
        """Streams are not kept."""
        return self._generator.stream(prompt, deadline_s=deadline_s)
