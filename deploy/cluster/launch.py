"""From a plan to the services that a keeper shall run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Protocol

import httpx2

from cloud_server.registry.credentials import KEY_FILE
from deploy.cluster.errors import ClusterError
from deploy.cluster.names import Ports
from deploy.cluster.postgres import check_installed, url_of
from deploy.cluster.services import (
    CLOUD_PORT,
    EDGE_PORT,
    MODEL_PORT,
    REPLICA_PORT,
    EdgeOptions,
    ModelEndpoint,
    Service,
    balancer_service,
    cloud_service,
    database_service,
    edge_service,
    model_service,
    replica_service,
)
from deploy.cluster.state import Member, StateDir, SupervisorPlan
from shared.errors import FetchError
from shared.identity import open_identity
from shared.models.addresses import MODELS, addresses_of, is_deployment, key_headers, route_of
from shared.models.catalogue import model_named
from shared.models.chat_replies import model_names
from shared.models.fetch import LIGHTER, FetchProgress, Sources, fetch
from shared.models.settings import ModelSettings

EMBEDDER = "minilm"


def fetch_embedder(settings: ModelSettings, progress: FetchProgress) -> None:
    """Have the default embedder here, unless the settings name another one. Raises FetchError."""
    if settings.embedder == ModelSettings.model_fields["embedder"].default:
        fetch(model_named(EMBEDDER), settings.dir, progress, sources=Sources(hub_url=settings.hub_url))


def fetch_generator(name: str, settings: ModelSettings, progress: FetchProgress) -> Path:
    """The weights of a chat model, fetched if need be. Raises FetchError, SettingsError for an unknown name."""
    model = model_named(name)
    folder = fetch(model, settings.dir, progress, sources=Sources(hub_url=settings.hub_url))
    return folder / model.files[0].name


class Places(Protocol):
    """Where the processes of a cluster stand."""

    @property
    def own_ports(self) -> bool:
        """True where cloud and edges have every port for themselves. The model server is always where we are."""

    def arranged(self, services: Sequence[Service]) -> tuple[Service, ...]:
        """The services as they are started there: each behind its prefix, and all behind what has to run before them.

        What is added has the role ``link``. The keeper starts them in this order and waits for none: a prefix may. Raises ClusterError.
        """


@dataclass(frozen=True, slots=True)
class Here:
    """All where we are, so each takes a port that is free."""

    own_ports: bool = False

    def arranged(self, services: Sequence[Service]) -> tuple[Service, ...]:
        """As they are."""
        return tuple(services)


@dataclass(frozen=True, slots=True)
class Plan:
    """What ``dgrag up`` shall start. ``model`` is a name of the catalogue, or the URL of a server that runs."""

    edges: tuple[str, ...]
    model: str = "standard"
    options: EdgeOptions = field(default_factory=EdgeOptions)
    model_port: int = MODEL_PORT
    cloud_port: int = CLOUD_PORT
    edge_port: int = EDGE_PORT
    places: Places = field(default_factory=Here)
    clouds: int = 1  # more than one: over a PostgreSQL of the cluster's own, behind one address


def is_url(model: str) -> bool:
    """True for a model server that somebody else runs.

    >>> is_url("http://gpu:8000/v1"), is_url("standard")
    (True, False)
    """
    return model.startswith(("http://", "https://"))


def charge_of(plan: Plan, root: Path, http: httpx2.Client, *, on_fetch: FetchProgress) -> SupervisorPlan:
    """Fetch what is missing, and say what to run: model server, cloud and edges, whose states lie below ``root``.

    Raises FetchError, SettingsError, and ClusterError when the model's URL does not answer.
    """
    ports, settings = Ports(StateDir(root).ports()), ModelSettings()
    take = int if plan.places.own_ports else ports.take
    fetch_embedder(settings, on_fetch)
    services: list[Service] = []
    others: tuple[Member, ...] = ()
    if is_url(plan.model):
        model = remote_model(plan.model, http, settings)
        others = (Member("model", model.name, model.url),)
    else:
        weights = _weights(plan.model, settings, on_fetch)
        services.append(model_service(plan.model, str(weights), port=ports.take(plan.model_port)))
        model = ModelEndpoint(services[0].url, plan.model)
    if plan.clouds > 1:
        services += _clouds(plan, model, root, ports)
    else:
        services.append(cloud_service(model, str(root / "cloud"), port=take(plan.cloud_port)))
    (cloud_url,) = (service.url for service in services if service.role == "cloud")
    for place, edge in enumerate(plan.edges):
        port = plan.edge_port + place if plan.places.own_ports else ports.of_edge(edge, plan.edge_port)
        services.append(edge_service(edge, model, cloud_url, str(root / "edges" / edge), plan.options, port=port))
    return SupervisorPlan(plan.places.arranged(services), others)


def _weights(name: str, settings: ModelSettings, progress: FetchProgress) -> Path:
    """As ``fetch_generator``; where they cannot be had, a lighter model is named too."""
    try:
        return fetch_generator(name, settings, progress)
    except FetchError as error:
        raise FetchError(error.message, next_step=error.next_step + LIGHTER.get(name, "")) from error


def _clouds(plan: Plan, model: ModelEndpoint, root: Path, ports: Ports) -> list[Service]:
    """Several clouds, what they share, and what stands before them. Raises NotInstalled, ClusterError."""
    check_installed()
    state, folder = root / "cloud", root / "database"
    database, url = database_service(str(folder)), url_of(folder)
    open_identity(state / KEY_FILE)  # before they start: each of them would make one
    taken = [ports.take(REPLICA_PORT) for _ in range(plan.clouds)]
    replicas = [replica_service(n + 1, model, str(state), database, url, port=port) for n, port in enumerate(taken)]
    return [database, balancer_service(replicas, port=ports.take(plan.cloud_port)), *replicas]


def remote_model(url: str, http: httpx2.Client, settings: ModelSettings) -> ModelEndpoint:
    """The model behind a URL, given with ``/v1`` or without: the one that the settings name, else the first that it serves.

    Some servers list no models: then it is the one that the settings name. Raises ClusterError.
    """
    headers = key_headers(url, settings.key())
    failure: Exception | None = None
    for address in addresses_of(url):
        try:
            # not with a service's key
            response = http.get(route_of(address, MODELS), headers=headers, timeout=10.0, auth=None)
            if response.status_code == HTTPStatus.NOT_FOUND and is_deployment(url):
                return ModelEndpoint(address, settings.name)
            served = model_names(response.raise_for_status().json())
        except (httpx2.HTTPError, ValueError) as error:
            failure = failure or error
            continue
        if settings.name in served:
            return ModelEndpoint(address, settings.name)
        if served:
            return ModelEndpoint(address, served[0])
        failure = None
        break
    if failure is None:
        raise ClusterError(f"{url} serves no model", next_step="load a model there")
    step = f"try `curl {route_of(url, MODELS)}`"
    raise ClusterError(f"no OpenAI-compatible server answers at {url}", next_step=step) from failure
