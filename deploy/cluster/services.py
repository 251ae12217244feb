"""The command line and the environment of each service. Pure."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from edge_node.records import Share

HOST = "127.0.0.1"
Role = Literal["model", "cloud", "edge", "link", "replica", "database"]  # "link": what carries the packets between the others
Summaries = Literal["extractive", "model"]
MODEL_PORT = 8090
CLOUD_PORT = 8099
REPLICA_PORT = 8300  # of the first of several clouds; CLOUD_PORT is then what stands before them
EDGE_PORT = 8100


@dataclass(frozen=True, slots=True)
class Service:
    """What to start, and where it answers 200 once it can be used."""

    role: Role
    name: str
    url: str
    ready_url: str  # empty: nobody waits for it
    command: tuple[str, ...]  # arguments of the Python interpreter
    environment: Mapping[str, str]
    health_url: str = ""  # answers at once as long as the process is not stuck; empty: nobody asks
    prefix: tuple[str, ...] = ()  # a command that becomes the one behind it, as `ip netns exec NAME`


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """A chat model as the services see it."""

    url: str  # ends in /v1
    name: str

    def environment(self) -> dict[str, str]:
        """Settings that point a service at it."""
        return {"DGRAG_MODEL_URL": self.url, "DGRAG_MODEL_NAME": self.name}


@dataclass(frozen=True, slots=True)
class EdgeOptions:
    """What ``dgrag up`` lets a user choose for all edges; None: as the surroundings say, else an edge's default."""

    extraction_share: float | None = None  # β of KET-RAG §4: share of chunks that the model extracts
    summaries: Summaries | None = None
    share: Share | None = None  # of documents without a label, at sites that have no policy yet

    def environment(self) -> dict[str, str]:
        """Settings of an edge that say so.

        >>> EdgeOptions(0.5).environment()
        {'DGRAG_EDGE_EXTRACTION_SHARE': '0.5'}
        """
        chosen = {
            "DGRAG_EDGE_EXTRACTION_SHARE": self.extraction_share,
            "DGRAG_EDGE_SUMMARIES": self.summaries,
            "DGRAG_EDGE_SHARE": self.share,
        }
        return {name: str(value) for name, value in chosen.items() if value is not None}


def model_service(name: str, weights: str, *, port: int) -> Service:
    """The local model server, one for the whole machine."""
    url = f"http://{HOST}:{port}/v1"
    command = ("-m", "shared.models.serve", "--model", weights, "--name", name, "--host", HOST, "--port", str(port))
    return Service("model", name, url, f"{url}/models", command, {"GOMP_SPINCOUNT": "1000"})


def database_service(folder: str) -> Service:
    """What several clouds share."""
    return Service("database", "database", "", "", ("-m", "deploy.cluster.postgres", "serve", folder), {})


def balancer_service(replicas: Sequence[Service], *, port: int) -> Service:
    """The one address of several clouds; it is ready when one of them is."""
    addresses = [replica.url.removeprefix("http://") for replica in replicas]
    url = f"http://{HOST}:{port}"
    return Service("cloud", "cloud", url, f"{url}/ready", ("-m", "deploy.cluster.balancing", str(port), *addresses), {})


def replica_service(number: int, model: ModelEndpoint, state_dir: str, database: Service, database_url: str, *, port: int) -> Service:
    """One of several clouds: it starts when the database takes connections. They share a folder: it holds their common key, no store."""
    one, name = cloud_service(model, state_dir, port=port), f"cloud-{number}"
    environment = {**one.environment, "DGRAG_CLOUD_DATABASE_URL": database_url, "DGRAG_CLOUD_REPLICA": name}
    waits = (sys.executable, "-P", "-m", "deploy.cluster.postgres", "behind", database.command[-1])
    return replace(one, role="replica", name=name, environment=environment, prefix=waits)


def cloud_service(model: ModelEndpoint, state_dir: str, *, port: int) -> Service:
    """The cloud."""
    url = f"http://{HOST}:{port}"
    own = {"DGRAG_CLOUD_HOST": HOST, "DGRAG_CLOUD_PORT": str(port), "DGRAG_CLOUD_STATE_DIR": state_dir}
    environment = {**own, **model.environment()}
    return Service("cloud", "cloud", url, f"{url}/ready", ("-m", "cloud_server"), environment, f"{url}/health")


def edge_service(edge: str, model: ModelEndpoint, cloud_url: str, state_dir: str, options: EdgeOptions, *, port: int) -> Service:
    """One edge, told where the cloud and the model are."""
    url = f"http://{HOST}:{port}"
    own = {
        "DGRAG_EDGE_ID": edge,
        "DGRAG_EDGE_HOST": HOST,
        "DGRAG_EDGE_PORT": str(port),
        "DGRAG_EDGE_STATE_DIR": state_dir,
        "DGRAG_EDGE_CLOUD_URL": cloud_url,
        "OPENBLAS_NUM_THREADS": "1",  # a question's products are small: a second thread doubles the processor time and gains nothing
    }
    environment = {**own, **options.environment(), **model.environment()}
    return Service("edge", edge, url, f"{url}/ready", ("-m", "edge_node"), environment, f"{url}/health")
