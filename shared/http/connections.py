"""What a connection may take before it is a request: seconds for TLS and for the head, and a share of all connections (goal S7).

uvicorn has no deadline for a request's head, and counts nobody's connections. A client that drips a byte a second (Slowloris), or
says nothing, would keep its place for ever.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from ipaddress import IPv6Address, ip_address
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
NETWORK_BITS = 64  # of an IPv6 address, that one customer is given whole
TELL_EVERY_S = 60.0
log = logging.getLogger("dgrag")


def network_of(address: str) -> str:
    """Who shares one count: an IPv4 address, or all of an IPv6 network; "" for what is no address.

    >>> network_of("203.0.113.9"), network_of("::ffff:203.0.113.9"), network_of("2001:db8::1") == network_of("2001:db8::2")
    ('203.0.113.9', '203.0.113.9', True)
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    return str(parsed.ipv4_mapped or int(parsed) >> (parsed.max_prefixlen - NETWORK_BITS))


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
    """What every connection of one server is held to. ``head_s``: from its first byte, or from the start, to the end of a head."""

    head_s: float
    crowd: Crowd
    tls: ssl.SSLContext | None = None  # its handshake is a part of the first head's time, and of the count


def bounded(limits: ConnectionLimits) -> Callable[..., asyncio.Protocol]:
    """For ``uvicorn.Config(http=…)``; the server itself is then given no certificate."""
    return partial(BoundedHttp, limits)


class BoundedHttp(HttpToolsProtocol):
    """uvicorn's own protocol, within limits."""

    def __init__(self, limits: ConnectionLimits, **given: Any) -> None:
        super().__init__(**given)
        self._limits = limits
        self._address: str | None = None  # None: not counted
        self._deadline: asyncio.TimerHandle | None = None
        self._early: list[bytes] = []  # came with the end of the handshake, before the connection was ours
        self._shaking: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let a connection in, or close it; it speaks TLS first where the server does."""
        peer = transport.get_extra_info("peername")
        address = network_of(str(peer[0])) if isinstance(peer, tuple) else ""
        if not self._limits.crowd.enter(address, now=self.loop.time()):
            transport.abort()
            return
        self._address = address
        if self._limits.tls is None:
            self._begin(transport)
        else:
            transport.pause_reading()  # what comes now is TLS's, not ours
            self._shaking = self.loop.create_task(self._shake(transport, self._limits.tls))

    async def _shake(self, transport: asyncio.Transport, context: ssl.SSLContext) -> None:
        head_s = self._limits.head_s
        try:
            tls = await self.loop.start_tls(transport, self, context, server_side=True, ssl_handshake_timeout=head_s)
        except OSError:  # no TLS, too slow, or gone
            tls = None
        if tls is None or self._address is None:  # the second: gone since the handshake
            self._leave()
            transport.abort()
        else:
            self._begin(tls)

    def _begin(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._arm()
        early, self._early = b"".join(self._early), []
        if early:
            self.data_received(early)

    def data_received(self, data: bytes) -> None:
        """Feed the parser; the first bytes after a response start the time of the next head."""
        if self.transport is None:
            self._early.append(data)
            return
        if self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            self._arm()
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """The head is there in time."""
        self._disarm()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place back."""
        self._leave()
        self._disarm()
        if self.transport is not None:
            super().connection_lost(exc)

    def _arm(self) -> None:
        self._deadline = self.loop.call_later(self._limits.head_s, self._too_slow)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(TOO_SLOW)
            self.transport.close()

    def _leave(self) -> None:
        if self._address is not None:
            self._limits.crowd.leave(self._address)
            self._address = None
