"""What a connection may take before it is a request: seconds for TLS and for the head, and a share of all connections (goal S7).

uvicorn has no deadline for a request's head, and counts nobody's connections. A client that drips a byte a second (Slowloris), or
says nothing, would keep its place for ever.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from asyncio.sslproto import SSLProtocol
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from shared.http.addresses import network_of

TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
TELL_EVERY_S = 60.0
READ_BYTES = 2**14  # at once, a TLS record; asyncio's 2**18 would be held for every connection
log = logging.getLogger("dgrag")


@dataclass(slots=True)
class Crowd:
    """The connections of one server, counted by address. ``per_address``: the most that one may have; 0: any number."""

    per_address: int
    _open: Counter[str] = field(default_factory=Counter)
    _told_at: float = float("-inf")

    def enter(self, address: str, *, now: float) -> bool:
        """Count one more connection; False, and nothing is counted, where the address has as many as it may."""
        if self.per_address and self._open[address] >= self.per_address:
            if now - self._told_at >= TELL_EVERY_S:
                self._told_at = now
                log.warning(
                    "one address has %d connections: further ones are closed; where many share it, raise CONNECTIONS_PER_ADDRESS",
                    self.per_address,
                )
            return False
        self._open[address] += 1
        return True

    def leave(self, address: str) -> None:
        """Count one connection less."""
        self._open[address] -= 1
        if self._open[address] <= 0:
            del self._open[address]


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What every connection of one server is held to.

    ``head_s``: seconds from the start to the end of the first head, TLS handshake included, and
    from the first byte to the end of each further head.
    """

    head_s: float
    crowd: Crowd
    tls: ssl.SSLContext | None = None


def bounded(limits: ConnectionLimits) -> Callable[..., asyncio.BaseProtocol]:
    """For ``uvicorn.Config(http=…)``; the server itself is then given no certificate."""
    return partial(Acceptor, limits)


class TimedHttp(HttpToolsProtocol):
    """uvicorn's own protocol, with a deadline for each head."""

    def __init__(self, head_s: float, **options: Any) -> None:
        super().__init__(**options)
        self._head_s = head_s
        self._accepted_at = self.loop.time()
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first head; its time began when TCP was accepted."""
        super().connection_made(transport)
        self._deadline = self.loop.call_at(self._accepted_at + self._head_s, self._too_slow)

    def data_received(self, data: bytes) -> None:
        """Feed the parser; the first bytes after a response start the time of the next head."""
        if self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            self._deadline = self.loop.call_later(self._head_s, self._too_slow)
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """The head is there in time."""
        self._disarm()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the time."""
        self._disarm()
        super().connection_lost(exc)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(TOO_SLOW)
            self.transport.close()


class Counted(asyncio.BaseProtocol):
    """A connection with a place in the count, which it gives back at its end."""

    leave: Callable[[], None]

    def connection_lost(self, exc: Any) -> None:
        """Give the place back."""
        self.leave()
        super().connection_lost(exc)


class PlainConnection(Counted, TimedHttp):
    """TCP, then HTTP."""


class TlsConnection(Counted, SSLProtocol):
    """TCP, then TLS, then HTTP."""

    max_size = READ_BYTES

    def __init__(self, tls: ssl.SSLContext, head_s: float, **options: Any) -> None:
        http = TimedHttp(head_s, **options)
        waiter: Any = None  # nobody waits for the handshake
        handshake_s: Any = head_s  # a float, though typeshed has int
        super().__init__(http.loop, http, tls, waiter, server_side=True, ssl_handshake_timeout=handshake_s)


class Acceptor(asyncio.Protocol):
    """Counts a TCP connection by its address before anything is spent on it, then passes it on.

    It is passed on at once, so that TLS has it from its first byte. ``loop.start_tls`` would have
    it a turn later: uvloop reads after ``connection_made``, though reading was paused there.
    """

    def __init__(self, limits: ConnectionLimits, **options: Any) -> None:
        self._limits = limits
        self._options = options  # of uvicorn's protocol

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Pass the connection on, or abort it."""
        limits = self._limits
        peer = transport.get_extra_info("peername")
        address = network_of(str(peer[0])) if isinstance(peer, tuple) else ""
        if not limits.crowd.enter(address, now=asyncio.get_running_loop().time()):
            transport.abort()
            return
        connection: PlainConnection | TlsConnection
        if limits.tls is None:
            connection = PlainConnection(limits.head_s, **self._options)
        else:
            connection = TlsConnection(limits.tls, limits.head_s, **self._options)
        connection.leave = partial(limits.crowd.leave, address)
        transport.set_protocol(connection)
        connection.connection_made(transport)
