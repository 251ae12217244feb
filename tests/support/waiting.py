"""Waiting for a state of another task that nothing announces."""

import asyncio
import time

HANGS_S = 300.0  # a machine with much else to do takes long to start a process; only a test that hangs takes so long


async def until(condition, *, limit_s=HANGS_S):
    """Return when ``condition()`` is true; fail after ``limit_s`` seconds."""
    async with asyncio.timeout(limit_s):
        while not condition():  # noqa: ASYNC110 - the product has no event for it, and needs none
            await asyncio.sleep(0.005)


def eventually(condition, *, limit_s=HANGS_S, every_s=0.005):
    """``until`` for tests without an event loop; False after ``limit_s`` seconds. A condition that costs much is tried less often."""
    ends = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > ends:
            return False
        time.sleep(every_s)
    return True
