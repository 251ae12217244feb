"""Waiting for a state of another task that nothing announces."""

import asyncio
import time


async def until(condition, *, limit_s=30):
    """Return when ``condition()`` is true; fail after ``limit_s`` seconds."""
    async with asyncio.timeout(limit_s):
        while not condition():  # noqa: ASYNC110 - the product has no event for it, and needs none
            await asyncio.sleep(0.005)


def eventually(condition, *, limit_s=10):
    """``until`` for tests without an event loop; False after ``limit_s`` seconds."""
    ends = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > ends:
            return False
        time.sleep(0.005)
    return True
