"""Goal S5: no address in a request is ever called, however it is written: edges poll, and nobody has a callback."""

import asyncio
import contextlib

import pytest

from tests.support.both_services import QUERIES, SERVICES, as_json, filled
from tests.support.hostile import places, with_text
from tests.support.raw_asgi import send_request
from tests.support.waiting import until

pytestmark = pytest.mark.process

PORT = "{port}"
EVERY = 4  # each address in one of four fields, so that every field has a quarter of them
WRITTEN = """
http://127.0.0.1:{port}/ http://localhost:{port}/ https://127.0.0.1:{port}/ http://127.1:{port}/ http://127.0.1:{port}/ http://2130706433:{port}/
http://0x7f000001:{port}/ http://0x7f.0.0.1:{port}/ http://0177.0.0.1:{port}/ http://017700000001:{port}/ http://0:{port}/ http://0.0.0.0:{port}/
http://127.127.127.127:{port}/ http://[::1]:{port}/ http://[::]:{port}/ http://[::ffff:127.0.0.1]:{port}/ http://[::ffff:7f00:1]:{port}/
http://[0:0:0:0:0:0:0:1]:{port}/ http://[64:ff9b::7f00:1]:{port}/ http://user@127.0.0.1:{port}/ http://user:pw@127.0.0.1:{port}/
http://good.example@127.0.0.1:{port}/ http://127.0.0.1:{port}@good.example/ http://good.example#@127.0.0.1:{port}/ http://127.0.0.1:{port}\\\\@good/
http://127.0.0.1:{port}#good.example http://127.0.0.1:{port}?good.example http://127.0.0.1.nip.example:{port}/ http://localtest.example:{port}/
http://spoofed.burpcollaborator.example:{port}/ http://127。0。0。1:{port}/ http://①②⑦.⓪.⓪.①:{port}/ http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:{port}/ http://127%2e0%2e0%2e1:{port}/
http://%6c%6f%63%61%6c%68%6f%73%74:{port}/ http://LOCALHOST:{port}/ http://localhost.:{port}/ http://127.0.0.1.:{port}/ //127.0.0.1:{port}/
/\\\\127.0.0.1:{port}/ \\\\\\\\127.0.0.1:{port}\\\\share ftp://127.0.0.1:{port}/ gopher://127.0.0.1:{port}/_GET dict://127.0.0.1:{port}/info
ldap://127.0.0.1:{port}/a jar:http://127.0.0.1:{port}!/ file://127.0.0.1:{port}/etc/passwd file:///etc/passwd ws://127.0.0.1:{port}/
wss://127.0.0.1:{port}/ redis://127.0.0.1:{port}/ mailto:a@127.0.0.1:{port} tftp://127.0.0.1:{port}/ sftp://127.0.0.1:{port}/ netdoc://127.0.0.1:{port}/
http:127.0.0.1:{port}/ http:/127.0.0.1:{port}/ http:///127.0.0.1:{port}/ HTTP://127.0.0.1:{port}/ 127.0.0.1:{port} localhost:{port}
http://127.0.0.1:{port}/%0d%0aHost:evil http://redirect.example/?to=http://127.0.0.1:{port}/ http://rebind.example:{port}/
<img\\u0020src=http://127.0.0.1:{port}/> ![a](http://127.0.0.1:{port}/) [a](http://127.0.0.1:{port}/) @import\\u0020url(http://127.0.0.1:{port}/)
<?xml-stylesheet\\u0020href='http://127.0.0.1:{port}/'?> <!DOCTYPE\\u0020a\\u0020SYSTEM\\u0020'http://127.0.0.1:{port}/'> ${jndi:ldap://127.0.0.1:{port}/}
"""
ADDRESSES = WRITTEN.split()


@contextlib.asynccontextmanager
async def canary():
    """A listener that must hear nothing: yields its port and the connections that came."""
    heard = []

    async def connected(reader, writer):
        heard.append(writer.get_extra_info("peername"))
        writer.close()

    listener = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with listener:
        yield listener.sockets[0].getsockname()[1], heard


def test_there_are_at_least_60_addresses():
    assert len(set(ADDRESSES)) >= 60


@pytest.mark.parametrize("kind", SERVICES)
async def test_no_string_in_a_request_is_called(kind, tmp_path):
    async with canary() as (port, heard), SERVICES[kind](tmp_path) as service:
        for (method, path), body in service.bodies.items():
            fields = [place for place in places(body) if isinstance(at(body, place), str)]
            for number, address in enumerate(ADDRESSES):
                text = '"' + address.replace(PORT, str(port)) + '"'
                for place in fields[number % EVERY :: EVERY] or fields[:1]:
                    await send_request(service.app, service.request(method, filled(path), content=with_text(body, place, text)))
        assert heard == []


@pytest.mark.parametrize("kind", SERVICES)
async def test_no_header_is_called(kind, tmp_path):
    async with canary() as (port, heard), SERVICES[kind](tmp_path) as service:
        for method, path in service.routes:
            body = service.bodies.get((method, path))
            for name in ("origin", "referer", "x-forwarded-host", "x-callback-url", "forwarded", "link"):
                content = None if body is None else as_json(body)
                request = service.request(method, filled(path), content=content, query=QUERIES.get(path, ""))
                await send_request(service.app, request, headers=[(name, f"http://127.0.0.1:{port}/")])
        assert heard == []


async def test_the_canary_hears_a_call():
    """The null control."""
    async with canary() as (port, heard):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
        await writer.wait_closed()
        await until(lambda: len(heard) == 1)


def at(body, place):
    for step in place:
        body = body[step]
    return body
