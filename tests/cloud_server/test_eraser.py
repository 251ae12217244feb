import asyncio
import contextlib

import pytest

from cloud_server.database.erasing import Eraser
from shared.errors import DiskFull
from tests.support.waiting import until


class Store:
    """Counts erasures; each of ``outcomes`` is what one of them does, then they succeed."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)
        self.erased = 0

    def erase(self):
        self.erased += 1
        outcome = self.outcomes.pop(0) if self.outcomes else True
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


@contextlib.asynccontextmanager
async def running(eraser):
    task = asyncio.create_task(eraser.run())
    yield
    task.cancel()
    await asyncio.wait([task])


async def test_a_start_erases_once_and_then_only_what_is_noted():
    store = Store()
    eraser = Eraser(store, every_s=0.001)
    async with running(eraser):
        await until(lambda: store.erased == 1)
        eraser.note()
        eraser.note()
        await until(lambda: store.erased == 2)


@pytest.mark.parametrize("outcome", [False, DiskFull("/store")])
async def test_what_could_not_be_erased_is_tried_again(outcome):
    store = Store(outcome)
    async with running(Eraser(store, every_s=0.001)):
        await until(lambda: store.erased == 2)
