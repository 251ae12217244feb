"""Threads of the write path."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
THREADS = 4  # documents that come, an estimate, an erasure, and the worker


class Background:
    """Runs what changes the store, and what it would cost: a question, in the loop's own threads, never waits behind that.

    Threads are started when they are needed first.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="write path")

    async def run(self, work: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """What ``work`` returns, or raises, in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, partial(work, *arguments, **named))

    def close(self) -> None:
        """Drop what waits, and wait for what is under way."""
        self._pool.shutdown(cancel_futures=True)
