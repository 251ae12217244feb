"""Where ``dgrag up --runtime netns`` puts the services: each in a namespace of its own, with links that one more process carries."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from deploy.cluster.errors import ClusterError
from deploy.cluster.services import Service
from deploy.net import namespaces, wan
from deploy.net.addresses import prefix_of
from deploy.net.shape import Shape, parsed
from shared.loopback import is_loopback

CONGESTION = "congestion="
LINKS = "wan"  # name of the service that carries the links, and of its log


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
        wan.written(plan, self.root)
        for name in plan.ports:
            namespaces.make(plan.namespace(name))
        command = ("-m", "deploy.net", str(self.root))
        links = Service("link", LINKS, "", "", command, {})
        return (links, *(replace(service, prefix=_way_into(plan, service)) for service in services))


def planned(services: Sequence[Service], prefix: str, link: str) -> wan.WanPlan:
    """What the links of these services are to be. Raises ClusterError as ``Linked.arranged``.

    The cloud has to be among the services; each edge gets a link to it.
    """
    words = link.split()
    congestion = "".join(word.removeprefix(CONGESTION) for word in words if word.startswith(CONGESTION))
    shape = parsed((word for word in words if not word.startswith(CONGESTION)), Shape())
    ports = {service.name: _port(service.url) for service in services if service.role in ("cloud", "edge")}
    cloud = next(service for service in services if service.role == "cloud")
    model = cloud.environment["DGRAG_MODEL_URL"]
    if not is_loopback(urlsplit(model).hostname or ""):
        raise ClusterError(
            f"a namespace reaches no other machine: the model server cannot be at {model}",
            next_step="take a model of the catalogue, or leave out --runtime netns",
        )
    return wan.WanPlan(prefix, ports, _port(model), shape, congestion)


def _port(url: str) -> int:
    return urlsplit(url).port or 80


def _way_into(plan: wan.WanPlan, service: Service) -> tuple[str, ...]:
    if service.name not in plan.ports:
        return ()
    return (shutil.which("ip") or "ip", "netns", "exec", plan.namespace(service.name))
