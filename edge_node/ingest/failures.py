"""What the write path does about errors: they are values, or they are waited out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from edge_node.ingest.progress import Backoff, Step
from shared.errors import DiskFailed, DiskFull

log = logging.getLogger("dgrag.edge.ingest")
T = TypeVar("T")


class StoppingError(Exception):
    """Ends a long step in its thread when its job was stopped; nobody waits for it any more."""


async def failure_of(work: Coroutine[Any, Any, None]) -> BaseException | None:
    """What ``work`` raised, as a value: one document's error, even one that nobody foresaw, must not end the edge."""
    return (await asyncio.gather(work, return_exceptions=True))[0]


async def with_space(work: Callable[[], Awaitable[T]], tell: Callable[[Step], Awaitable[None]]) -> T:
    """What ``work`` returns; while the disk is full or fails it is tried again and again, which is told each time."""
    trouble = Backoff()
    while True:
        try:
            return await work()
        except (DiskFull, DiskFailed) as error:
            wait_s = trouble.next_s()
            log.error("%s; again in %.1f s", error.message, wait_s)
            await tell(Step("waiting for the disk"))
            await asyncio.sleep(wait_s)
