"""One address for several clouds: turns, clouds that are gone, and bytes as they came."""

import asyncio
import contextlib
from collections import Counter

from deploy.cluster.balancing import HOST, Balancer
from deploy.cluster.names import Ports


@contextlib.asynccontextmanager
async def echo(name):
    """Says its name, then what it hears, until its caller says no more; yields its port."""

    async def answer(reader, writer):
        writer.write(name + await reader.read())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, HOST, 0) as server:
        yield server.sockets[0].getsockname()[1]


async def said(port, words=b""):
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(words)
    writer.write_eof()
    try:
        return await reader.read()
    finally:
        writer.close()


@contextlib.asynccontextmanager
async def balanced(*ports):
    port = Ports().take(18_600)
    async with await Balancer([(HOST, one) for one in ports]).serve(port):
        yield port


async def test_connections_go_to_each_in_turn():
    async with echo(b"a") as first, echo(b"b") as second, balanced(first, second) as port:
        assert Counter([await said(port) for _ in range(6)]) == {b"a": 3, b"b": 3}


async def test_who_takes_no_connection_is_passed_over():
    gone = Ports().take(18_700)
    async with echo(b"a") as first, balanced(gone, first, gone) as port:
        assert [await said(port) for _ in range(4)] == [b"a"] * 4


async def test_all_bytes_come_through_and_both_ends_are_told():
    words = bytes(range(256)) * 4000
    async with echo(b"") as first, balanced(first) as port:
        assert await said(port, words) == words


async def test_without_any_the_connection_ends():
    async with balanced(Ports().take(18_800)) as port:
        with contextlib.suppress(ConnectionResetError):
            assert await said(port) == b""


async def test_a_cloud_that_breaks_off_breaks_off_its_caller():
    async def cut(reader, writer):
        writer.transport.abort()

    async with await asyncio.start_server(cut, HOST, 0) as server, balanced(server.sockets[0].getsockname()[1]) as port:
        with contextlib.suppress(ConnectionResetError):
            assert await said(port) == b""
