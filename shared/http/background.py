"""What a service does beside its requests, watched: where an error ends it, the service says so and has to be started anew."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI

from shared.telemetry.logs import redacted

log = logging.getLogger("dgrag")
AGAIN_S = 10.0  # after which a task is cancelled once more: a library may swallow that (``wait_for`` of Python 3.11); more than any tidying
Background = Sequence[Callable[[], Coroutine[Any, Any, None]]]


@asynccontextmanager
async def at_work(app: FastAPI, background: Background) -> AsyncIterator[None]:
    """Run all of it within. Where an error ends a part, ``app.state.healthy`` is False from then on: who keeps the service starts it anew.

    In the end all of it is cancelled, and has ended.
    """

    def ended(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            log.critical("%s has ended, so this service has to be started anew: %s", task.get_name(), redacted(error))
            app.state.healthy = False

    tasks = [asyncio.create_task(work(), name=work.__qualname__) for work in background]
    for task in tasks:
        task.add_done_callback(ended)
    await asyncio.sleep(0)  # all have begun: one that is cancelled before it begins would leave out its ``finally``
    try:
        yield
    finally:
        for task in tasks:
            task.remove_done_callback(ended)
        left = set(tasks)
        while left:
            for task in left:
                task.cancel()
            _, left = await asyncio.wait(left, timeout=AGAIN_S)
