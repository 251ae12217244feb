"""All links of one cluster: namespaces, devices, emulator, relays and the control socket, made together and taken away together."""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from deploy.cluster.errors import ClusterError
from deploy.net import control, namespaces
from deploy.net.addresses import CLOUD, Node, numbered
from deploy.net.commands import obeyed
from deploy.net.emulator import Emulator
from deploy.net.relay import Place, Relays
from deploy.net.shape import Shape
from deploy.net.star import Chance, Star

PLAN = "wan.json"


@dataclass(frozen=True, slots=True)
class WanPlan:
    """What a cluster's links are to be. Each service has the same port in its namespace as here."""

    prefix: str  # of the namespaces' names
    ports: Mapping[str, int]  # of "cloud" and of each edge, in their order
    model_port: int  # of the model server, which stays here
    shape: Shape = field(default_factory=Shape)
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
    await relays.carry(Place(there, cloud_port, cloud.address), Place(there, cloud_port))
    for node in nodes:
        name, port = plan.namespace(node.name), plan.ports[node.name]
        await relays.carry(Place("", port), Place(name, port))
        await relays.carry(Place(name, plan.model_port), Place("", plan.model_port))
        if node != cloud:
            await relays.carry(Place(name, cloud_port), Place(name, cloud_port, cloud.address))
