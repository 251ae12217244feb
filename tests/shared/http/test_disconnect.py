import asyncio

import pytest
from fastapi import Request
from starlette.exceptions import HTTPException

from shared.http.middleware import while_connected


def request(gone):
    async def receive():
        await gone.wait()
        return {"type": "http.disconnect"}

    return Request({"type": "http", "headers": []}, receive)


async def test_work_ends_with_its_value_while_the_client_is_there():
    async def work():
        return 7

    assert await while_connected(request(asyncio.Event()), work()) == 7


async def test_an_error_of_the_work_is_raised():
    async def work():
        raise KeyError("x")

    with pytest.raises(KeyError):
        await while_connected(request(asyncio.Event()), work())


async def test_work_is_cancelled_when_the_client_goes():
    gone, began, cancelled = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work():
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    task = asyncio.create_task(while_connected(request(gone), work()))
    await began.wait()
    assert not cancelled.is_set()
    gone.set()
    with pytest.raises(HTTPException):
        await task
    assert cancelled.is_set()
