"""Carries TCP connections from a port in one network namespace to a port in another.

A socket belongs to the namespace in which it was made, so a process that makes one in each is a wire between them.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from dataclasses import dataclass

from deploy.cluster.errors import ClusterError
from deploy.lab.namespaces import inside

HOST = "127.0.0.1"
PIECE_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A port of an address in a namespace; "": this process's own."""

    namespace: str
    port: int
    host: str = HOST


class Relays:
    """Ports that are carried, until they are closed."""

    def __init__(self, congestion: str = "") -> None:
        """``congestion``: TCP's congestion control of all that is carried, as "reno"; empty: the system's."""
        self._congestion = congestion
        self._servers: list[asyncio.Server] = []
        self._relays: set[asyncio.Task[None]] = set()

    async def carry(self, here: Endpoint, there: Endpoint) -> None:
        """Take connections here, and carry each one there. Raises ClusterError where the port is taken."""

        def carried(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            relay = asyncio.create_task(self._relay(reader, writer, there))
            self._relays.add(relay)
            relay.add_done_callback(self._relays.discard)

        listening = self._socket(here.namespace)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((here.host, here.port))
        except OSError as error:
            listening.close()
            raise ClusterError(f"port {here.port} cannot be had: {error.strerror}", next_step="name other ports") from error
        self._servers.append(await asyncio.start_server(carried, sock=listening))

    async def close(self) -> None:
        """Take no more connections, and break those that are open."""
        for server in self._servers:
            server.close()
        relays = list(self._relays)
        for relay in relays:
            relay.cancel()
        await asyncio.gather(*relays, return_exceptions=True)
        self._servers = []

    def _socket(self, namespace: str) -> socket.socket:
        with inside(namespace):
            made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # with no protocol asyncio leaves Nagle on: 30 ms
        made.setblocking(False)
        if self._congestion:
            try:
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self._congestion.encode())
            except OSError as error:
                made.close()
                step = "take one of /proc/sys/net/ipv4/tcp_allowed_congestion_control"
                raise ClusterError(f"there is no congestion control {self._congestion!r} here", next_step=step) from error
        return made

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, there: Endpoint) -> None:
        """Carry one connection to its end, half-closed ones too."""
        far_writer: asyncio.StreamWriter | None = None
        try:
            far = self._socket(there.namespace)
            with contextlib.ExitStack() as unless_connected:
                unless_connected.callback(far.close)
                await asyncio.get_running_loop().sock_connect(far, (there.host, there.port))
                far_reader, far_writer = await asyncio.open_connection(sock=far)
                unless_connected.pop_all()
            async with asyncio.TaskGroup() as ways:
                ways.create_task(_pass_on(reader, far_writer))
                ways.create_task(_pass_on(far_reader, writer))
        except* OSError:
            pass  # either end may close, or be away, at any time: the other sees it closed
        finally:
            for end in (writer, far_writer):
                if end is not None:
                    end.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(PIECE_BYTES):
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
