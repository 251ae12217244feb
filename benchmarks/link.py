"""Each service of a cluster in a network namespace of its own, and between each edge and the cloud a link of a given rate and delay.

A namespace has no device but its loopback, so nothing passes but what this process carries: a socket belongs to the namespace in which
it was made, so a relay that makes one in each is a wire between them. Every address stays 127.0.0.1, and no kernel module is needed.
The link is emulated on streams: in each direction an edge's bytes pass one after another at the rate and arrive ``delay_ms`` later, and to
open a connection takes a round trip. There are no packets: no headers (3 % of full ones), no loss, no slow start.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from benchmarks.errors import BenchmarkError

HOST = "127.0.0.1"
CLOUD = "cloud"
NAMESPACES = Path("/run/netns")
CLONE_NEWNET = 0x40000000  # linux/sched.h
PIECE_BYTES = 8_192  # read at once: 1.3 ms at 50 Mbit/s
WAITING = 64  # pieces on their way in one direction of a connection; then its sender waits


class LinkConfig(BaseModel):
    """``[link]`` of a benchmark's configuration."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mbit: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 50.0  # Mbit/s of each edge, each way
    delay_ms: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 15.0  # one way: a round trip takes twice as long
    required: bool = True  # False: where it cannot be had the run goes on without, and says so


@dataclass(slots=True)
class Lane:
    """One direction of a link: what passes on it passes in turn."""

    bytes_per_s: float
    delay_s: float
    free_at: float = 0.0
    carried: int = 0  # bytes

    def arrival(self, now: float, size: int) -> float:
        """When the last of so many bytes that are sent now is there.

        >>> lane = Lane(bytes_per_s=1000.0, delay_s=0.5)
        >>> lane.arrival(10.0, 1000), lane.arrival(10.0, 1000)
        (11.5, 12.5)
        """
        self.free_at = max(now, self.free_at) + size / self.bytes_per_s
        self.carried += size
        return self.free_at + self.delay_s


@dataclass(frozen=True, slots=True)
class Link:
    """An edge's way to the cloud, and back."""

    up: Lane
    down: Lane

    @property
    def round_trip_s(self) -> float:
        """What it takes to open a connection."""
        return self.up.delay_s + self.down.delay_s


@dataclass(frozen=True, slots=True)
class Place:
    """A port of 127.0.0.1 in a namespace; "": this process's own."""

    namespace: str
    port: int


def unable() -> str:
    """Why no namespace can be made here; empty if it can, which is tried."""
    if shutil.which("ip") is None or not Path("/proc/self/ns/net").exists():
        return "network namespaces need Linux and `ip` of iproute2"
    if os.geteuid():
        return "network namespaces can only be made by root"
    try:
        for verb in ("add", "delete"):
            _ip("netns", verb, f"dgrag-try-{os.getpid()}")
    except BenchmarkError as error:  # root in a container need not have the right
        return error.message
    return ""


class Links:
    """The namespaces of one cluster at a time, ``NAME-cloud`` and ``NAME-EDGE``, and all that passes between them."""

    def __init__(self, name: str, config: LinkConfig) -> None:
        self.name = name
        self._config = config
        self._links: dict[str, Link] = {}
        self._servers: list[asyncio.Server] = []
        self._relays: set[asyncio.Task[None]] = set()
        self._namespaces: list[str] = []

    async def open(self, ports: Mapping[str, int], *, model_port: int) -> None:
        """Make a namespace for each service, ``CLOUD`` and edges; all reach the model, we reach each at its own port, edges the cloud.

        Raises BenchmarkError.
        """
        for node in ports:
            self._add(self._namespace(node))
        for node, port in ports.items():
            there = self._namespace(node)
            await self._carry(Place("", port), Place(there, port))
            await self._carry(Place(there, model_port), Place("", model_port))
            if node != CLOUD:
                rate, delay_s = self._config.mbit * 1e6 / 8, self._config.delay_ms / 1000
                link = self._links[node] = Link(Lane(rate, delay_s), Lane(rate, delay_s))
                await self._carry(Place(there, ports[CLOUD]), Place(self._namespace(CLOUD), ports[CLOUD]), link)

    def close(self) -> dict[str, dict[str, int]]:
        """Take all away, and say how many bytes each edge has sent to the cloud and got from it."""
        carried = {edge: {"up": link.up.carried, "down": link.down.carried} for edge, link in self._links.items()}
        for server in self._servers:
            server.close()
        for relay in self._relays:
            relay.cancel()
        for namespace in self._namespaces:
            _ip("netns", "delete", namespace)
        self._links, self._servers, self._namespaces = {}, [], []
        return carried

    def _namespace(self, node: str) -> str:
        return f"{self.name}-{node}"

    def _add(self, namespace: str) -> None:
        if (NAMESPACES / namespace).exists():  # left by a run that was killed
            _ip("netns", "delete", namespace)
        _ip("netns", "add", namespace)
        self._namespaces.append(namespace)
        _ip("-n", namespace, "link", "set", "lo", "up")

    async def _carry(self, here: Place, there: Place, link: Link | None = None) -> None:
        def carried(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            relay = asyncio.create_task(_relay(reader, writer, there, link))
            self._relays.add(relay)
            relay.add_done_callback(self._relays.discard)

        with inside(here.namespace):
            listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, here.port))
        except OSError as error:
            listening.close()
            raise BenchmarkError(f"port {here.port} is taken", next_step="run again with another --work folder") from error
        self._servers.append(await asyncio.start_server(carried, sock=listening))


@contextlib.contextmanager
def inside(namespace: str) -> Iterator[None]:
    """In the block this thread makes its sockets in a namespace; "": where it is. Nothing may be awaited there."""
    if not namespace:
        yield
        return
    with Path("/proc/thread-self/ns/net").open("rb") as home, (NAMESPACES / namespace).open("rb") as there:
        _enter(there.fileno())
        try:
            yield
        finally:
            _enter(home.fileno())


def _enter(handle: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(handle, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, there: Place, link: Link | None) -> None:
    """Carry one connection to its end, half-closed ones too."""
    far_writer: asyncio.StreamWriter | None = None
    try:
        if link is not None:
            await asyncio.sleep(link.round_trip_s)
        with inside(there.namespace):
            far = socket.socket()
        far.setblocking(False)
        with contextlib.ExitStack() as unless_connected:
            unless_connected.callback(far.close)
            await asyncio.get_running_loop().sock_connect(far, (HOST, there.port))
            far_reader, far_writer = await asyncio.open_connection(sock=far)
            unless_connected.pop_all()
        lanes = (link.up, link.down) if link else (None, None)
        async with asyncio.TaskGroup() as ways:
            ways.create_task(_pass_on(reader, far_writer, lanes[0]))
            ways.create_task(_pass_on(far_reader, writer, lanes[1]))
    except* OSError:
        pass  # either end may close, or be away, at any time: the other sees it closed
    finally:
        for end in (writer, far_writer):
            if end is not None:
                end.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, lane: Lane | None) -> None:
    """All that comes, each piece when it would have come over the lane; then the end."""
    if lane is None:
        while piece := await reader.read(PIECE_BYTES):
            writer.write(piece)
            await writer.drain()
    else:
        await _delayed(reader, writer, lane)
    if writer.can_write_eof():
        writer.write_eof()


async def _delayed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, lane: Lane) -> None:
    now = asyncio.get_running_loop().time
    on_its_way = asyncio.Queue[tuple[float, bytes]](WAITING)

    async def deliver() -> None:
        while (due := await on_its_way.get())[1]:
            await asyncio.sleep(due[0] - now())
            writer.write(due[1])
            await writer.drain()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(deliver())
        while piece := await reader.read(PIECE_BYTES):
            await on_its_way.put((lane.arrival(now(), len(piece)), piece))
        await on_its_way.put((0.0, b""))


def _ip(*words: str) -> None:
    """Run ``ip``. Raises BenchmarkError with what it says."""
    done = subprocess.run([shutil.which("ip") or "ip", *words], capture_output=True, text=True, check=False)  # noqa: S603 - our own words
    if done.returncode:
        raise BenchmarkError(
            f"`ip {' '.join(words)}` failed: {done.stderr.strip()}",
            next_step="see that network namespaces are allowed here, or take [link] out",
        )
