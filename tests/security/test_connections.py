"""Goals S1, S7 on real sockets: who is slow to say what they want, or comes too often at once, loses the connection."""

import asyncio
import contextlib
import logging
import ssl
import threading
from types import SimpleNamespace

import httpx2
import pytest
import trustme
import uvicorn
from fastapi import FastAPI, Request

from cloud_server.settings import CloudSettings
from edge_node.settings import EdgeSettings
from shared.http import connections
from shared.http.connections import ConnectionLimits, Crowd, bounded, network_of
from shared.http.service import limits_of, server_config
from tests.support.sockets import in_a_thread

pytestmark = pytest.mark.process

HEAD_S = 1.0  # long for what is sent at once, also on a busy machine
PATIENCE_S = 30.0
NEVER_S = 600.0  # so long no test waits
CLOSE = b"connection: close\r\n\r\n"
HEAD = b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
FRONT = {
    "host": "127.0.0.1", "port": 0, "tls_cert": None, "tls_key": None, "behind_tls_proxy": False, "requests_per_minute": 60,
    "head_s": HEAD_S, "connections_per_address": 0,
}  # fmt: skip


# Ours, and the one that our services have on Windows.
on_both_loops = pytest.mark.parametrize("loop", ["uvloop", "asyncio"])


def served():
    """An app with a route that reads its body, and one that answers when it is let."""
    app = FastAPI()
    app.state.release = threading.Event()

    @app.get("/")
    async def root():
        return "here"

    @app.post("/body")
    async def body(request: Request):
        return len(await request.body())

    @app.get("/held")
    async def held():
        await asyncio.to_thread(app.state.release.wait, PATIENCE_S)
        return "at last"

    return app


def on_a_socket(config):
    return in_a_thread(uvicorn.Server(config))


def ours(app=None, *, crowd=0, tls=None, loop="uvloop", head_s=HEAD_S):
    """The server of both services, and how many connections of one address it takes."""
    config = server_config(app or served(), SimpleNamespace(**FRONT))
    config.http = bounded(ConnectionLimits(head_s, Crowd(crowd), tls))
    config.loop = loop
    return config


def plain(app=None, **given):
    """The null control: uvicorn as it is."""
    return uvicorn.Config(app or served(), port=0, loop="uvloop", http="httptools", log_config=None, **given)


class Line:
    """A client that sends what and when it likes."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    async def say(self, data):
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self):
        """The status line of the next response, with its body read."""
        async with asyncio.timeout(PATIENCE_S):
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await self.reader.readexactly(int(length.partition(b":")[2]))
            return head.partition(b"\r\n")[0]

    async def end(self):
        """All that still comes, until the server closes."""
        async with asyncio.timeout(PATIENCE_S):
            try:
                return await self.reader.read()
            except ConnectionError:
                return b""

    async def speak_tls(self, trust):
        await self.writer.start_tls(trust, server_hostname="127.0.0.1")

    async def drip(self, data):
        """A byte now and then, until the connection is gone."""
        with contextlib.suppress(ConnectionError):
            for byte in data:
                await self.say(bytes([byte]))
                await asyncio.sleep(HEAD_S / 8)


@contextlib.asynccontextmanager
async def line(port, trust=None):
    """A connection; with TLS, where it is said whom to trust."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
    try:
        yield Line(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def is_refused(slow, data):
    """Whether the server says 408 and closes, while a client drips; who still sends may see the closed line before the words."""
    said = await ended(slow, data)
    return said.startswith(b"HTTP/1.1 408 ") or (data and not said)


async def ended(slow, data):
    """What the server says until it closes, while a client drips."""
    dripping = asyncio.create_task(slow.drip(data))
    try:
        return await slow.end()
    finally:
        dripping.cancel()
        await asyncio.wait([dripping])


@pytest.mark.parametrize(
    "sent", [b"", HEAD[:-2] + b"x: " + b"y" * 1000, b"\r\n" * 1000], ids=["nothing", "a byte at a time", "empty lines"]
)
async def test_a_head_that_does_not_come_in_time_ends_the_connection(sent):
    async with on_a_socket(ours()) as port, line(port) as slow:
        assert await is_refused(slow, sent)


async def test_null_control_uvicorn_alone_waits_for_a_head_as_long_as_one_likes():
    async with on_a_socket(plain()) as port, line(port) as slow, on_a_socket(ours()) as other, line(other) as silent:
        await slow.say(HEAD[:10])
        await silent.end()  # so long
        await slow.say(HEAD[10:])
        assert await slow.answer() == b"HTTP/1.1 200 OK"


@pytest.mark.parametrize("sent", [HEAD[:-2] + b"x: " + b"y" * 1000, b"\r\n" * 1000], ids=["a byte at a time", "empty lines"])
async def test_the_second_head_of_a_connection_has_a_deadline_too(sent):
    async with on_a_socket(ours()) as port, line(port) as slow:
        await slow.say(HEAD)
        assert await slow.answer() == b"HTTP/1.1 200 OK"
        assert await is_refused(slow, sent)


async def test_a_held_answer_and_a_body_that_takes_its_time_are_no_slow_heads():
    app = served()
    async with on_a_socket(ours(app)) as port, line(port) as poll, line(port) as upload, line(port) as silent:
        await poll.say(b"GET /held HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        await upload.say(b"POST /body HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 4\r\n\r\nab")
        await silent.end()  # the time of a head is over
        app.state.release.set()
        await upload.say(b"cd")
        assert [await poll.answer(), await upload.answer()] == [b"HTTP/1.1 200 OK"] * 2


async def test_one_address_has_no_more_connections_than_it_may_and_gets_a_place_when_one_is_free(caplog):
    app = served()
    async with on_a_socket(ours(app, crowd=2)) as port, line(port) as first, line(port) as second:
        for one in (first, second):
            await one.say(b"GET /held HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        with caplog.at_level(logging.WARNING, logger="dgrag"):
            for _ in range(3):
                async with line(port) as refused:
                    assert await refused.end() == b""
        assert [message for message in caplog.messages if "CONNECTIONS_PER_ADDRESS" in message] == caplog.messages
        assert len(caplog.messages) == 1  # a flood does not fill the log
        app.state.release.set()
        assert [await first.answer(), await second.answer()] == [b"HTTP/1.1 200 OK"] * 2
        first.writer.close()
        await taken(port)


async def taken(port, trust=None):
    """Returns when the server takes one more connection; ``trust``: of a client that speaks TLS."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                async with line(port, trust) as again:
                    await again.say(HEAD)
                    assert await again.answer() == b"HTTP/1.1 200 OK"
                    return


async def test_null_control_without_the_cap_a_third_connection_is_served():
    app = served()
    async with on_a_socket(ours(app)) as port, line(port) as first, line(port) as second, line(port) as third:
        for one in (first, second):
            await one.say(b"GET /held HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        await third.say(HEAD)
        assert await third.answer() == b"HTTP/1.1 200 OK"
        app.state.release.set()


@pytest.fixture
def authority():
    return trustme.CA()


@pytest.fixture
def tls(authority):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


@pytest.fixture
def trust(authority):
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


HALF_A_HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"


@on_both_loops
async def test_who_does_not_finish_tls_is_cut_off_and_counted_meanwhile(loop, tls, trust):
    async with on_a_socket(ours(crowd=2, tls=tls, loop=loop)) as port, line(port) as silent, line(port) as halting:
        await halting.say(HALF_A_HELLO)
        async with line(port) as third:
            assert await third.end() == b""
        assert [await silent.end(), await halting.end()] == [b"", b""]
        async with line(port, trust) as first, line(port, trust) as second:  # both places are free
            for one in (first, second):
                await one.say(HEAD)
                assert await one.answer() == b"HTTP/1.1 200 OK"


@on_both_loops
async def test_who_goes_away_within_the_handshake_gives_the_place_back(loop, tls, trust):
    async with on_a_socket(ours(crowd=1, tls=tls, loop=loop, head_s=NEVER_S)) as port:
        for end in ("close", "abort"):
            async with line(port) as cut:
                await cut.say(HALF_A_HELLO)
                getattr(cut.writer.transport, end)()
            await taken(port, trust)


@on_both_loops
async def test_the_handshake_and_the_first_head_share_one_deadline(loop, tls, trust):
    async with on_a_socket(ours(tls=tls, loop=loop)) as port, line(port) as early:
        await asyncio.sleep(HEAD_S / 2)
        async with line(port, trust) as late:
            await early.speak_tls(trust)  # after the other, but its time runs since it came
            ends = {asyncio.create_task(one.end()): one for one in (early, late)}
            first, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            assert [ends[one] for one in first] == [early]
            assert all([(await one).startswith(b"HTTP/1.1 408 ") for one in ends])


@on_both_loops
async def test_plain_http_at_a_port_with_tls_is_ended_at_once(loop, tls):
    async with on_a_socket(ours(tls=tls, loop=loop, head_s=NEVER_S)) as port, line(port) as plain_http:
        await plain_http.say(HEAD)
        assert await plain_http.end() == b""


@on_both_loops
async def test_a_refused_connection_costs_no_tls(loop, tls, trust, monkeypatch):
    begun = []

    class Noted(connections.TlsConnection):
        def __init__(self, *given, **options):
            begun.append(self)
            super().__init__(*given, **options)

    monkeypatch.setattr(connections, "TlsConnection", Noted)
    async with on_a_socket(ours(crowd=1, tls=tls, loop=loop)) as port, line(port, trust):
        for _ in range(5):
            async with line(port) as refused:
                await refused.say(HALF_A_HELLO)
                assert await refused.end() == b""
        assert len(begun) == 1


async def test_null_control_uvicorn_alone_waits_for_tls(tls):
    async with on_a_socket(plain(ssl_context_factory=lambda *_: tls)) as port, line(port) as slow:
        async with on_a_socket(ours(tls=tls)) as other, line(other) as silent:
            await silent.end()
        reading = asyncio.create_task(slow.reader.read())
        assert not (await asyncio.wait([reading], timeout=0))[0]
        reading.cancel()
        slow.writer.transport.abort()


@on_both_loops
async def test_tls_serves_who_speaks_it_and_knows_that_it_is_https(loop, tls, trust):
    app, schemes = served(), []

    @app.post("/scheme")
    async def scheme(request: Request):
        schemes.append(request.url.scheme)
        return len(await request.body())

    async with on_a_socket(ours(app, tls=tls, loop=loop)) as port, httpx2.AsyncClient(verify=trust, trust_env=False) as http:
        sizes = [(await http.post(f"https://127.0.0.1:{port}/scheme", content=b"x" * size)).json() for size in (1, 2**20)]
    assert (sizes, schemes) == ([1, 2**20], ["https"] * 2)


@on_both_loops
async def test_a_request_in_the_packet_that_ends_the_handshake_is_served(loop, tls, trust):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trust.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    async with on_a_socket(ours(tls=tls, loop=loop)) as port, line(port) as eager:
        with contextlib.suppress(ssl.SSLWantReadError):
            client.do_handshake()
        await eager.say(outgoing.read())
        finished = False
        while not finished:
            incoming.write(await asyncio.wait_for(eager.reader.read(65_536), PATIENCE_S))
            with contextlib.suppress(ssl.SSLWantReadError):
                client.do_handshake()
                finished = True
        client.write(HEAD[:-2] + CLOSE)
        await eager.say(outgoing.read())  # Finished and the request together
        said = b""
        while b"here" not in said:
            incoming.write(await asyncio.wait_for(eager.reader.read(65_536), PATIENCE_S))
            with contextlib.suppress(ssl.SSLWantReadError):
                while piece := client.read(65_536):
                    said += piece
    assert said.startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("settings", [EdgeSettings, CloudSettings])
def test_addresses_are_counted_where_strangers_come_by_their_own(settings, tmp_path):
    def limit(**changes):
        return limits_of(settings(state_dir=tmp_path, **changes)).crowd.per_address

    default = settings.model_fields["connections_per_address"].default
    assert (limit(host="0.0.0.0"), limit(host="0.0.0.0", behind_tls_proxy=True), limit()) == (default, 0, 0)
    assert limit(host="::", connections_per_address=7) == 7


def test_a_whole_ipv6_network_is_one_address():
    assert network_of("2001:db8:1:2::1") == network_of("2001:db8:1:2:ffff::9") != network_of("2001:db8:1:3::1")
    assert network_of("fe80::1%eth0")
    assert network_of("") == network_of("a name") == ""


SAID = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}


async def test_every_response_tells_browsers_what_it_is_for():
    async with on_a_socket(ours()) as port, httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http:
        for path in ("/", "/nowhere"):
            got = await http.get(path)
            assert {name: got.headers[name] for name in SAID} == SAID
            policy = got.headers["content-security-policy"]
            assert {"default-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "object-src 'none'"} <= set(policy.split("; "))
            assert "unsafe" not in policy
        async with line(port) as bad:
            await bad.say(b"nonsense\r\n\r\n")
            assert b"frame-ancestors 'none'" in await bad.end()
