"""The compose file of one cluster, made from the project's: a service with a volume and a fixed port for each edge. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import deepcopy
from typing import Any

from deploy.cluster.services import HOST, EdgeOptions, Model

SCALED = "edge"  # the project's one service of all edges
SHARED_STORE = "edges:"  # the volume that the replicas of a scaled edge share
CLOUD_INSIDE, EDGE_INSIDE = 8099, 8100  # ports within the containers


def composed(
    base: Mapping[str, Any],
    ports: Mapping[str, int],
    *,
    cloud_port: int,
    options: EdgeOptions,
    model: str | Model,
    anew: Collection[str] = (),
) -> dict[str, Any]:
    """The project's file with the service ``edge-NAME`` for each edge in ``ports`` in place of the one that is scaled.

    An address is then an edge's own: a replica's port is drawn anew at each start of its container. The copies stand for themselves:
    compose's own `extends` refuses a service that depends on others. ``model``: a name of the catalogue, or a server of somebody else.
    ``anew``: edges that the cloud may know, but that have lost the volume with their key.
    """
    file = {key: deepcopy(value) for key, value in base.items() if not key.startswith("x-")}
    services = file["services"]
    theirs = {} if isinstance(model, str) else model.environment()
    replica = services.pop(SCALED)
    del file["volumes"][SHARED_STORE.rstrip(":")]
    for place, (name, port) in enumerate(ports.items()):
        services[service_of(name)] = _edge(replica, name, port, {**options.environment(), **theirs}, builds=place == 0)
        file["volumes"][service_of(name)] = {}
    cloud = services["cloud"]
    cloud |= {"ports": [f"{HOST}:{cloud_port}:{CLOUD_INSIDE}"], "environment": {**cloud.get("environment", {}), **theirs}}
    services["enrol"]["command"] = ["enrol", *(edge for edge in ports if edge not in anew), *(["again", *anew] if anew else [])]
    if isinstance(model, str):
        services["model"]["command"][1] = model
    else:
        del services["model"]
    return file


def _edge(replica: Mapping[str, Any], name: str, port: int, environment: Mapping[str, str], *, builds: bool) -> dict[str, Any]:
    service = deepcopy(dict(replica))
    # a name without a value, a secret's, is passed on by compose from whoever starts it: nothing secret is written down
    service["environment"] = {**service.get("environment", {}), **environment, "DGRAG_EDGE_ID": name}
    service |= {"command": ["edge"], "ports": [f"{HOST}:{port}:{EDGE_INSIDE}"]}
    service["networks"] = {network: {"aliases": [SCALED]} for network in service["networks"]}  # who reads metrics asks all by one name
    service["volumes"] = [_own(volume, service_of(name)) for volume in service["volumes"]]
    if not builds:  # one image for all
        service.pop("build", None)
    return service


def service_of(name: str) -> str:
    """What compose calls an edge; never a name of the project's file.

    >>> service_of("ward")
    'edge-ward'
    """
    return f"edge-{name}"


def _own(volume: str, name: str) -> str:
    return f"{name}:{volume.removeprefix(SHARED_STORE)}" if volume.startswith(SHARED_STORE) else volume
