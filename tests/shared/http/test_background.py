"""What a service does beside its requests."""

import asyncio

from fastapi import FastAPI

from shared.http import background


async def test_a_part_that_swallows_its_cancellation_is_cancelled_again(monkeypatch):
    monkeypatch.setattr(background, "AGAIN_S", 0.0)
    swallowed, begun = [], asyncio.Event()

    async def deaf():
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            swallowed.append(True)
        await asyncio.Event().wait()

    async with background.at_work(FastAPI(), [deaf]):
        await begun.wait()
    assert swallowed == [True]


async def test_a_service_that_stops_at_once_still_tidies_up():
    tidied = []

    async def tidy():
        try:
            await asyncio.Event().wait()
        finally:
            tidied.append(True)

    async with background.at_work(FastAPI(), [tidy]):
        pass
    assert tidied == [True]
