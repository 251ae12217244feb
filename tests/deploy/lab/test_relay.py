import asyncio
import contextlib

import pytest

from deploy.cluster.errors import ClusterError
from deploy.cluster.names import Ports
from deploy.lab.relay import HOST, Endpoint, Relays

LONG = b"evidence " * 40_000


@pytest.fixture
def places():
    free = Ports()
    return Endpoint("", free.take(24_000)), Endpoint("", free.take(24_000))


@pytest.fixture
async def relays():
    made = Relays()
    yield made
    await made.close()


async def thrice(reader, writer):
    """Say all of it again, three times, once the other end has said everything."""
    writer.write(await reader.read() * 3)
    await writer.drain()
    writer.close()


async def said(place, words):
    reader, writer = await asyncio.open_connection(HOST, place.port)
    writer.write(words)
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    return answer


async def test_all_that_is_said_is_carried_both_ways_also_after_one_end_has_finished(places, relays):
    await relays.carry(*places)
    service = await asyncio.start_server(thrice, HOST, places[1].port)
    assert await asyncio.gather(*(said(places[0], LONG + bytes([n])) for n in range(5))) == [(LONG + bytes([n])) * 3 for n in range(5)]
    service.close()


async def test_a_service_that_is_away_closes_the_connection(places, relays):
    await relays.carry(*places)
    with contextlib.suppress(ConnectionError):  # closed in order, or reset: both tell that nobody is there
        assert await said(places[0], b"x" * 100) == b""


async def test_a_connection_that_is_open_is_broken_when_the_relays_close(places, relays):
    await relays.carry(*places)

    async def listen(reader, writer):
        await reader.read()
        writer.close()

    service = await asyncio.start_server(listen, HOST, places[1].port)
    reader, writer = await asyncio.open_connection(HOST, places[0].port)
    writer.write(b"x")
    await writer.drain()
    await relays.close()
    with contextlib.suppress(ConnectionError):
        assert await asyncio.wait_for(reader.read(), 10) == b""
    writer.close()
    service.close()


async def test_a_port_that_is_taken_is_told(places, relays):
    taken = await asyncio.start_server(thrice, HOST, places[0].port)
    with pytest.raises(ClusterError, match=f"port {places[0].port} cannot be had"):
        await relays.carry(*places)
    taken.close()


async def test_a_congestion_control_that_is_not_there_is_told(places):
    with pytest.raises(ClusterError, match="no congestion control 'hope'"):
        await Relays("hope").carry(*places)
