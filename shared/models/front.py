"""The door of the local model server: no web page and nobody without the key gets a word out of the engine behind it.

llama.cpp answers any Host and any Origin, and its health check asks for no key. So it listens on a socket in a folder of this user, and
this front on the port. A connection is for one request, so that each is looked at; what is let in is passed on byte by byte.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import socket
import threading
from dataclasses import dataclass
from pathlib import Path

import orjson

from shared.tls import is_loopback

LONGEST_HEAD = 32_768  # bytes
HEAD_DEADLINE_S = 10.0
LINGER_S = 2.0  # for what is still being sent to one who is refused: a connection that closes on unread bytes loses the answer
PIECE = 65_536  # bytes
NOT_OURS = (403, "this server answers no web page, and only under its own names; name further ones by --allow-host")
NO_KEY = (401, "a key is needed")
WRONG_KEY = (401, "the key is wrong: it is not the one that this server was started with")
NO_HTTP = (400, "this is no HTTP request")
LOADING = (503, "the model is being loaded")
REASONS = {400: b"Bad Request", 401: b"Unauthorized", 403: b"Forbidden", 503: b"Service Unavailable"}
Refusal = tuple[int, str]  # status, and what to say


@dataclass(frozen=True, slots=True)
class Door:
    """Who may come in. ``key``: "" for everybody on this machine. ``hosts``: names of the server beside those of loopback."""

    key: str = ""
    hosts: frozenset[str] = frozenset()

    def refusal(self, head: bytes) -> Refusal | None:
        r"""Why the request with this head is refused; None where it is not. Without the key nothing else is told.

        >>> Door("k").refusal(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        (401, 'a key is needed')
        >>> Door("k").refusal(b"GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer j\r\n\r\n") == WRONG_KEY
        True
        >>> Door("k").refusal(b"GET / HTTP/1.1\r\nHost: [::1]:8090\r\nAuthorization: Bearer k\r\n\r\n") is None
        True
        """
        lines = head.decode("latin-1").split("\r\n")[1:]
        pairs = [(name.strip().lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines if line)]
        said = dict(pairs)
        if not hmac.compare_digest(said.get("authorization", "").encode(), f"Bearer {self.key}".encode()) and self.key:
            return WRONG_KEY if said.get("authorization") else NO_KEY
        if [name for name, _ in pairs].count("host") != 1 or not self._is_ours(said["host"]):
            return NOT_OURS
        if "origin" in said or said.get("sec-fetch-site", "none") != "none":
            return NOT_OURS
        return None

    def _is_ours(self, host: str) -> bool:
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() and not host.endswith("]") else host
        return is_loopback(name) or name.lower() in self.hosts


def listen(door: Door, host: str, port: int, engine: Path) -> socket.socket:
    """Open the port and serve it in a thread that ends with the process. ``engine``: the socket of what answers. Raises OSError."""
    listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    threading.Thread(target=lambda: asyncio.run(_serve(door, listening, engine)), name="front", daemon=True).start()
    return listening


async def _serve(door: Door, listening: socket.socket, engine: Path) -> None:
    async def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _met(door, engine, reader, writer)
        except (ConnectionError, TimeoutError):
            pass  # whoever asked has gone
        finally:
            writer.close()

    server = await asyncio.start_server(met, sock=listening, limit=LONGEST_HEAD)
    await server.serve_forever()


async def _met(door: Door, engine: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        async with asyncio.timeout(HEAD_DEADLINE_S):
            head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return await _refuse(reader, writer, NO_HTTP)
    if refusal := door.refusal(head):
        return await _refuse(reader, writer, refusal)
    try:
        answers, asks = await asyncio.open_unix_connection(str(engine))
    except (FileNotFoundError, ConnectionRefusedError):
        return await _refuse(reader, writer, LOADING)
    asks.write(for_one_request(head))
    ways = [asyncio.create_task(_carry(reader, asks)), asyncio.create_task(_carry(answers, writer))]
    try:  # the end of either ends both: the engine stops its work when whoever asked has gone
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        asks.close()


def for_one_request(head: bytes) -> bytes:
    r"""The head with the wish that the connection ends behind the answer.

    >>> for_one_request(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n")
    b'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
    """
    lines = [line for line in head[:-4].split(b"\r\n") if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*lines, b"Connection: close", b"", b""])


async def _carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while piece := await source.read(PIECE):
        sink.write(piece)
        await sink.drain()


async def _refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, refusal: Refusal) -> None:
    status, message = refusal
    body = orjson.dumps({"error": {"message": message, "code": status}})
    head = b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
    writer.write(head % (status, REASONS[status], len(body)) + body)
    with contextlib.suppress(OSError):  # who asked may have gone
        writer.write_eof()
    async with asyncio.timeout(LINGER_S):
        while await reader.read(PIECE):
            pass
