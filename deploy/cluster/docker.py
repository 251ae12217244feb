"""A cluster as containers, from the project's docker-compose.yml; the engine starts again what ends."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import yaml

from deploy.cluster.errors import ChildCrashError, ClusterError
from deploy.cluster.launch import Plan, is_url
from deploy.cluster.names import Ports
from deploy.cluster.processes import CODE_ROOT
from deploy.cluster.runtimes import Fault
from deploy.cluster.services import HOST, EdgeOptions, ModelEndpoint, Service
from deploy.cluster.state import ClusterState, Member, StateDir
from shared.identity import replace_private
from shared.models.fetch import FetchProgress
from shared.models.settings import ModelSettings
from shared.reduce import ignore_text
from shared.tls import is_loopback

INSIDE = "http://model:8090/v1"  # of the file's own model server, as containers call it
COMPOSE_FILE = CODE_ROOT / "docker-compose.yml"
SEVERAL_CLOUDS = ["scale"]  # profiles of what stands in the place of the one cloud
KEY_WORDS = ("run", "--rm", "-T", "setup", "key")
AUTHORITY_WORDS = ("run", "--rm", "-T", "--entrypoint", "cat", "setup", "/trust/ca.pem")
LOOK_S = 3.0  # between two looks at the containers, each of which takes processes
WORDS: dict[Fault, tuple[str, ...]] = {
    "kill": ("kill", "start"),  # the engine does not start again what was killed by hand
    "pause": ("pause",),
    "resume": ("unpause",),
    "restart": ("restart",),
}

HEALTH = "{{if .State.Health}}{{.State.Health.Status}}{{else}}unasked{{end}}"
FACTS = '{{index .Config.Labels "com.docker.compose.service"}} {{.State.Running}} {{.RestartCount}} {{.State.ExitCode}} ' + HEALTH

SCALED = "edge"  # the project's one service of all edges
SHARED_STORE = "edges:"  # the volume that the replicas of a scaled edge share
CLOUD_INSIDE, EDGE_INSIDE = 8099, 8100  # ports within the containers


@dataclass(frozen=True, slots=True)
class Container:
    """What the engine says of one. ``exit_code`` is of its last run, as `docker` counts: 137 for SIGKILL."""

    service: str
    running: bool
    restarts: int
    exit_code: int
    healthy: bool = True  # False also while its check has not succeeded yet; True where it has none


def compose() -> tuple[str, ...]:
    """The command that is installed. Raises ClusterError where none is."""
    if docker := shutil.which("docker"):
        tried = subprocess.run([docker, "compose", "version"], capture_output=True, check=False)  # noqa: S603 - our own words
        if tried.returncode == 0:
            return docker, "compose"
    if older := shutil.which("docker-compose"):
        return (older,)
    raise ClusterError("Docker Compose is not installed", next_step="install docker and its compose plug-in, or leave out --runtime docker")


def docker(*words: str) -> str:
    """What a `docker` command says. Raises ClusterError."""
    return _said([shutil.which("docker") or "docker", *words])


@dataclass(frozen=True, slots=True)
class Project:
    """The containers of one compose file. ``folder``: where its relative paths begin."""

    name: str
    file: Path
    folder: Path

    def tell(self, *words: str) -> str:
        """What a `compose` command says. Raises ClusterError with the last line of what went wrong."""
        return _said(self._command(*words))

    def _command(self, *words: str) -> list[str]:
        project = ("--project-name", self.name, "--file", str(self.file), "--project-directory", str(self.folder))
        return [*compose(), *project, *words]

    def tell_at_length(self, log: Path, *words: str) -> None:
        """As ``tell``, for what takes minutes: what it says can be read in ``log`` meanwhile. Raises ClusterError."""
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w", encoding="utf-8") as file:
            done = subprocess.run(self._command(*words), stdout=file, stderr=subprocess.STDOUT, check=False)  # noqa: S603 - our own words
        if done.returncode:
            why = blame(log.read_text(encoding="utf-8", errors="replace")) or f"exit status {done.returncode}"
            raise ClusterError(f"compose {words[0]} failed: {why}", next_step=f"read {log}, and see that `docker ps` works for this user")

    def containers(self) -> list[Container]:
        """Those that there are, also ones that have ended."""
        every = ("--all",) if compose()[-1] == "compose" else ()  # the older one means all by itself, and has no such word for --quiet
        ids = self.tell("ps", *every, "--quiet").split()
        return read(docker("inspect", "--format", FACTS, *ids)) if ids else []

    def volumes(self) -> dict[str, str]:
        """What compose calls each volume that there is, by the engine's name of it: also of services that the file has no more."""
        label = f"label=com.docker.compose.project={self.name}"
        rows = docker("volume", "ls", "--filter", label, "--format", '{{.Name}} {{.Label "com.docker.compose.volume"}}').splitlines()
        return dict(row.split() for row in rows)


def read(facts: str) -> list[Container]:
    """Lines as ``FACTS`` asks for.

    >>> read("edge-ward true 2 137 starting")
    [Container(service='edge-ward', running=True, restarts=2, exit_code=137, healthy=False)]
    """
    rows = [line.split() for line in facts.splitlines() if line.strip()]
    return [
        Container(service, running == "true", int(restarts), int(code), health in ("healthy", "unasked"))
        for service, running, restarts, code, health in rows
    ]


def _said(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own words
    except FileNotFoundError as error:
        raise ClusterError(f"{command[0]} is not installed", next_step="install docker and its compose plug-in") from error
    if done.returncode:
        why = blame(done.stderr or done.stdout) or f"exit status {done.returncode}"
        raise ClusterError(f"{Path(command[0]).name} failed: {why}", next_step="see that `docker ps` works for this user")
    return done.stdout


def blame(said: str) -> str:
    """The line of a failed command that says why: its last error, else its last line.

    >>> blame("Creating x" + chr(10) + "ERROR: for x  no such image" + chr(10) + "Encountered errors while bringing up the project.")
    'ERROR: for x  no such image'
    """
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return (errors or lines or [""])[-1]


def composed(
    base: Mapping[str, Any],
    ports: Mapping[str, int],
    *,
    cloud_port: int,
    options: EdgeOptions,
    model: str | ModelEndpoint,
    anew: Collection[str] = (),
) -> dict[str, Any]:
    """The project's file with the service ``edge-NAME`` for each edge in ``ports`` in place of the one that is scaled.

    An address is then an edge's own: a replica's port is drawn anew at each start of its container. The copies stand for themselves:
    compose's own `extends` refuses a service that depends on others. ``model``: a name of the catalogue, or a server of somebody else.
    ``anew``: edges that the cloud may know, but that have lost the volume with their key.
    """
    file = {key: deepcopy(value) for key, value in base.items() if not key.startswith("x-")}
    services = file["services"] = {name: one for name, one in file["services"].items() if one.get("profiles") != SEVERAL_CLOUDS}
    for name in ("cloud", "enrol", SCALED):
        services[name].pop("profiles", None)  # they run whatever `.env` says
    theirs = {} if isinstance(model, str) else model.environment()
    replica = services.pop(SCALED)
    del file["volumes"][SHARED_STORE.rstrip(":")]
    # the compose file's own edges are a demonstration's, and share all: these are somebody's
    chosen = {"DGRAG_EDGE_SHARE": "summary", **options.environment(), **theirs}
    for place, (name, port) in enumerate(ports.items()):
        services[service_of(name)] = _edge(replica, name, port, chosen, builds=place == 0)
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


class ByDocker:
    """Implements ``Runtime``. Containers outlive the command that started them, whether that is detached or not."""

    def __init__(self, directory: StateDir, tell: Callable[[str], None] = ignore_text) -> None:
        """``tell``: hears what takes long."""
        self.directory = directory
        self._tell = tell
        name = hashlib.sha256(str(directory.root).encode()).hexdigest()[:8]  # two folders, two clusters
        self._project = Project(f"dgrag-{name}", directory.root / "compose.json", COMPOSE_FILE.parent)
        self._looked = -LOOK_S

    @property
    def state(self) -> ClusterState:
        """What was started."""
        return self.directory.load() or ClusterState(runtime="docker")

    def is_up(self) -> bool:
        """True while there are containers: what has ended starts again with the machine."""
        return self._project.file.exists() and bool(self._project.containers())

    def start(self, plan: Plan, http: httpx2.Client, on_fetch: FetchProgress) -> list[Service]:
        """Build images, start containers, and get the key and the authority that calls of them take; only edges are waited for."""
        del http, on_fetch  # the containers fetch for themselves
        free = Ports(self.directory.ports())
        cloud_port = free.take(plan.cloud_port)
        ports = {edge: free.of_edge(edge, plan.edge_port) for edge in plan.edges}
        model = served_elsewhere(plan.model) if is_url(plan.model) else plan.model
        anew = sorted(set(plan.edges) - set(self.known_edges())) if "cloud" in self._project.volumes().values() else ()
        file = composed(_base(), ports, cloud_port=cloud_port, options=plan.options, model=model, anew=anew)
        if is_url(plan.model) and (key := ModelSettings().key()):
            file["secrets"]["model_key"]["file"] = str(self._secret(key))
        self.directory.root.mkdir(parents=True, exist_ok=True)
        self._project.file.write_text(json.dumps(file, indent=1), encoding="utf-8")
        edges = [Service("edge", edge, f"http://{HOST}:{port}", f"http://{HOST}:{port}/ready", (), {}) for edge, port in ports.items()]
        asked = Member("model", model, INSIDE) if isinstance(model, str) else Member("model", model.name, model.url)
        cloud = Member("cloud", "cloud", f"https://{HOST}:{cloud_port}")
        members = (asked, cloud, *(Member(edge.role, edge.name, edge.url) for edge in edges))
        self.directory.save(ClusterState(members=members, runtime="docker"))
        self.directory.save_ports(ports)
        log = self.directory.log("images")
        self._tell(f"building images, which takes minutes the first time; {log} tells how far it is")
        self._project.tell_at_length(log, "build")
        self._tell("starting containers")
        self._project.tell("up", "--detach")
        replace_private(self.directory.key_file, self._project.tell(*KEY_WORDS).encode())
        replace_private(self.directory.authority, self._project.tell(*AUTHORITY_WORDS).encode())
        return edges

    def _secret(self, key: str) -> Path:
        """A file that the containers' user can read, in a folder that no other user of this machine gets into."""
        folder = self.directory.root / "secrets"
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        replace_private(folder / "model_key", key.encode())
        (folder / "model_key").chmod(0o444)
        return folder / "model_key"

    def check(self) -> None:
        """Raise ChildCrashError when a container has crashed since the start; looks now and then."""
        if time.monotonic() < self._looked + LOOK_S:
            return
        self._looked = time.monotonic()
        for found in self._project.containers():
            if found.restarts or (not found.running and found.exit_code):
                said = self._project.tell("logs", "--no-color", "--tail", "200", found.service)
                log = self.directory.log(found.service)  # the container itself goes with a start that fails
                log.write_text(said, encoding="utf-8")
                code = None if found.running else found.exit_code
                raise ChildCrashError(found.service, exit_code=code, tail="\n".join(said.splitlines()[-20:]), log=str(log))

    def watch(self, tell: Callable[[str], None]) -> None:
        """Stay until no container runs, telling of each that was started again."""
        seen: dict[str, int] = {}
        while any(found.running for found in self._project.containers()):
            for found in self._project.containers():
                if found.restarts > seen.get(found.service, found.restarts):
                    tell(f"{found.service} was started again")
                seen[found.service] = found.restarts
            time.sleep(LOOK_S)

    def inflict(self, fault: Fault, member: Member) -> None:
        """Let compose do it."""
        for word in WORDS[fault]:
            self._project.tell(word, _service(member))

    def log(self, name: str, *, lines: int) -> str:
        """The end of a container's log."""
        member = next((member for member in self.state.members if member.name == name), None)
        if member is None:
            raise ClusterError("containers have no keeper: the engine starts them again", next_step="see `docker ps`")
        return self._project.tell("logs", "--no-color", "--tail", str(lines), _service(member))

    def stop(self) -> list[Member]:
        """Take the containers down; their volumes stay."""
        running = [member for member in self.state.members if member.role != "model" or member.url == INSIDE]
        if self._project.file.exists():
            self._project.tell("down")
        self.directory.forget()
        return running

    def is_ready(self, member: Member) -> bool | None:
        """Of the file's own model server, which only containers reach: whether it is healthy."""
        if member.url != INSIDE:
            return None
        return any(found.service == "model" and found.running and found.healthy for found in self._project.containers())

    def known_edges(self) -> list[str]:
        """Ids of the edges that have a volume here, as they first ran."""
        edge = service_of("")
        return self.directory.in_order(name.removeprefix(edge) for name in self._project.volumes().values() if name.startswith(edge))

    def purge(self) -> None:
        """Delete the volumes, also those of edges that the last start left out. The images stay."""
        if self._project.file.exists():
            self._project.tell("down", "--volumes")
            if left := list(self._project.volumes()):
                docker("volume", "rm", *left)


def served_elsewhere(url: str) -> ModelEndpoint:
    """A model server that somebody else runs, under the name that the settings have. Raises ClusterError for one of this machine only."""
    if is_loopback(urlsplit(url).hostname or ""):
        step = "let it listen on the engine's bridge too, and put host.docker.internal in the place of the host"
        raise ClusterError(f"a container does not reach {url}", next_step=step)
    return ModelEndpoint(url.rstrip("/"), ModelSettings().name)


def _service(member: Member) -> str:
    return service_of(member.name) if member.role == "edge" else member.role


def _base() -> dict[str, Any]:
    """The project's file. Raises ClusterError where only the package is installed."""
    try:
        return dict(yaml.safe_load(COMPOSE_FILE.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise ClusterError("containers are built from the project's source", next_step="run `dgrag` from a checkout of it") from error
