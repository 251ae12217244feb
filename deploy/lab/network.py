"""All links of one cluster: namespaces, devices, emulator, relays and the control socket, made together and taken away together."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import random
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from deploy.cluster import control
from deploy.cluster.errors import ClusterError
from deploy.cluster.services import Service
from deploy.lab import namespaces
from deploy.lab.links import Chance, Star, obeyed
from deploy.lab.relay import Endpoint, Relays
from deploy.lab.topology import CLOUD, LinkShape, Node, numbered, parsed, prefix_of
from shared.tls import is_loopback

PLAN = "wan.json"

CONGESTION = "congestion="
LINKS = "wan"  # name of the service that carries the links, and of its log

BIGGEST_PACKET = 65_535
AT_ONCE = 64  # packets of one device, then the others have their turn
NO_ROOM = (errno.EAGAIN, errno.ENOBUFS, errno.EIO)  # the device is full or down: the packet is lost, as on any wire


class Emulator:
    """One device a node, by its number; whoever opened them closes them, after the emulator."""

    def __init__(self, star: Star, devices: Mapping[int, int]) -> None:
        self._star = star
        self._devices = dict(devices)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        for device in self._devices.values():
            self._loop.add_reader(device, self._read, device)

    def close(self) -> None:
        """Stop; packets on their way are lost."""
        if self._timer:
            self._timer.cancel()
        for device in self._devices.values():
            self._loop.remove_reader(device)

    def _read(self, device: int) -> None:
        for _ in range(AT_ONCE):
            try:
                packet = os.read(device, BIGGEST_PACKET)
            except BlockingIOError:
                break
            self._star.send(self._loop.time(), packet)
        self._deliver()

    def _deliver(self) -> None:
        for receiver, packet in self._star.due(self._loop.time()):
            try:
                os.write(self._devices[receiver], packet)
            except OSError as error:
                if error.errno not in NO_ROOM:
                    raise
        if self._timer:
            self._timer.cancel()
        next_due = self._star.next_due()
        self._timer = self._loop.call_at(next_due, self._deliver) if next_due is not None else None


@dataclass(frozen=True, slots=True)
class WanPlan:
    """What a cluster's links are to be. Each service has the same port in its namespace as here."""

    prefix: str  # of the namespaces' names
    ports: Mapping[str, int]  # of "cloud" and of each edge, in their order
    model_port: int  # of the model server, which stays here
    shape: LinkShape = field(default_factory=LinkShape)
    congestion: str = ""  # TCP's congestion control on the links; empty: the system's
    seed: int = 0  # of what is lost

    def namespace(self, service: str) -> str:
        """Where a service, "cloud" or an edge, has to run."""
        return self.prefix + service


def written(plan: WanPlan, folder: Path) -> None:
    """Leave the plan where the process of the links finds it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PLAN).write_bytes(TypeAdapter(WanPlan).dump_json(plan, indent=1))


def read(folder: Path) -> WanPlan:
    """The plan of a state folder. Raises ClusterError where there is none."""
    try:
        return TypeAdapter(WanPlan).validate_json((folder / PLAN).read_bytes())
    except (FileNotFoundError, ValidationError) as error:
        raise ClusterError(f"{folder / PLAN} tells of no links", next_step="start with `dgrag up --runtime netns`") from error


@asynccontextmanager
async def opened(plan: WanPlan, folder: Path) -> AsyncIterator[Star]:
    """The links while the block runs; afterwards no namespace is left. What a killed run left behind is used again, or swept.

    Raises ClusterError.
    """
    nodes = numbered(edge for edge in plan.ports if edge != CLOUD)
    wanted = [plan.namespace(node.name) for node in nodes]
    async with contextlib.AsyncExitStack() as stack:
        for name in set(namespaces.left(plan.prefix)) - set(wanted):
            namespaces.remove(name)
        devices: dict[int, int] = {}
        for node, name in zip(nodes, wanted, strict=True):
            stack.callback(namespaces.remove, name)
            namespaces.make(name)
            devices[node.number] = namespaces.tun(name, node)
            stack.callback(os.close, devices[node.number])
        star = Star(nodes, plan.shape, lambda lane: _chance(plan.seed, lane))
        emulator = Emulator(star, devices)
        stack.callback(emulator.close)
        relays = Relays(plan.congestion)
        stack.push_async_callback(relays.close)
        await _carry(relays, plan, nodes)
        server = await control.serve(folder, partial(obeyed, star))
        stack.callback((folder / control.SOCKET).unlink, missing_ok=True)
        stack.callback(server.close)
        yield star


def _chance(seed: int, lane: str) -> Chance:
    return random.Random(f"{seed} {lane}").random


async def _carry(relays: Relays, plan: WanPlan, nodes: tuple[Node, ...]) -> None:
    """Each service's port to here, the model's to each service, and the cloud's over the link to each edge."""
    cloud, cloud_port = nodes[0], plan.ports[CLOUD]
    there = plan.namespace(CLOUD)
    await relays.carry(Endpoint(there, cloud_port, cloud.address), Endpoint(there, cloud_port))
    for node in nodes:
        name, port = plan.namespace(node.name), plan.ports[node.name]
        await relays.carry(Endpoint("", port), Endpoint(name, port))
        await relays.carry(Endpoint(name, plan.model_port), Endpoint("", plan.model_port))
        if node != cloud:
            await relays.carry(Endpoint(name, cloud_port), Endpoint(name, cloud_port, cloud.address))


@dataclass(frozen=True, slots=True)
class Linked:
    """Implements ``Places`` for the cluster in a state folder. ``link``: the words of ``--link``."""

    root: Path
    link: str = ""
    own_ports: bool = False  # each service's port is carried to here, so it has to be free here

    def arranged(self, services: Sequence[Service]) -> tuple[Service, ...]:
        """The links first, then each service behind what takes it into its namespace, which is made here.

        Raises ClusterError where no link can be made, for words that say nothing, and for a model server on another machine.
        """
        if why := namespaces.unable():
            raise ClusterError(f"links cannot be had: {why}", next_step="leave out --runtime netns")
        plan = planned(services, prefix_of(str(self.root)), self.link)
        written(plan, self.root)
        for name in plan.ports:
            namespaces.make(plan.namespace(name))
        command = ("-m", "deploy.lab", str(self.root))
        links = Service("link", LINKS, "", "", command, {})
        return (links, *(replace(service, prefix=_way_into(plan, service)) for service in services))


def planned(services: Sequence[Service], prefix: str, link: str) -> WanPlan:
    """What the links of these services are to be. Raises ClusterError as ``Linked.arranged``.

    The cloud has to be among the services; each edge gets a link to it.
    """
    words = link.split()
    congestion = "".join(word.removeprefix(CONGESTION) for word in words if word.startswith(CONGESTION))
    shape = parsed((word for word in words if not word.startswith(CONGESTION)), LinkShape())
    ports = {service.name: _port(service.url) for service in services if service.role in ("cloud", "edge")}
    cloud = next(service for service in services if service.role == "cloud")
    model = cloud.environment["DGRAG_MODEL_URL"]
    if not is_loopback(urlsplit(model).hostname or ""):
        raise ClusterError(
            f"a namespace reaches no other machine: the model server cannot be at {model}",
            next_step="take a model of the catalogue, or leave out --runtime netns",
        )
    return WanPlan(prefix, ports, _port(model), shape, congestion)


def _port(url: str) -> int:
    return urlsplit(url).port or 80


def _way_into(plan: WanPlan, service: Service) -> tuple[str, ...]:
    if service.name not in plan.ports:
        return ()
    return (shutil.which("ip") or "ip", "netns", "exec", plan.namespace(service.name))
