"""A cluster as containers, from the project's docker-compose.yml; the engine starts again what ends."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import yaml

from deploy.cluster.composed import composed, service_of
from deploy.cluster.engine import Project, docker
from deploy.cluster.errors import ChildCrashError, ClusterError
from deploy.cluster.free_ports import Ports
from deploy.cluster.launch import Plan, is_url
from deploy.cluster.processes import CODE_ROOT
from deploy.cluster.runtimes import Fault
from deploy.cluster.services import HOST, Model, Service
from deploy.cluster.state import ClusterState, Member, StateDir
from shared.loopback import is_loopback
from shared.models.fetch import FetchProgress
from shared.models.settings import ModelSettings
from shared.private_files import replace_private
from shared.reducer import unheard

INSIDE = "http://model:8090/v1"  # of the file's own model server, as containers call it
COMPOSE_FILE = CODE_ROOT / "docker-compose.yml"
KEY_WORDS = ("run", "--rm", "-T", "setup", "key")
AUTHORITY_WORDS = ("run", "--rm", "-T", "--entrypoint", "cat", "setup", "/trust/ca.pem")
LOOK_S = 3.0  # between two looks at the containers, each of which takes processes
WORDS: dict[Fault, tuple[str, ...]] = {
    "kill": ("kill", "start"),  # the engine does not start again what was killed by hand
    "pause": ("pause",),
    "resume": ("unpause",),
    "restart": ("restart",),
}


class ByDocker:
    """Implements ``Runtime``. Containers outlive the command that started them, whether that is detached or not."""

    def __init__(self, directory: StateDir, tell: Callable[[str], None] = unheard) -> None:
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

    def start(self, plan: Plan, http: httpx.Client, on_fetch: FetchProgress) -> list[Service]:
        """Build images, start containers, and get the key and the authority that calls of them take; only edges are waited for."""
        del http, on_fetch  # the containers fetch for themselves
        take = Ports().take
        cloud_port = take(plan.cloud_port)
        ports = {edge: take(plan.edge_port + place) for place, edge in enumerate(plan.edges)}
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
        """Ids of the edges that have a volume here, sorted."""
        return sorted(name.removeprefix(service_of("")) for name in self._project.volumes().values() if name.startswith(service_of("")))

    def purge(self) -> None:
        """Delete the volumes, also those of edges that the last start left out. The images stay."""
        if self._project.file.exists():
            self._project.tell("down", "--volumes")
            if left := list(self._project.volumes()):
                docker("volume", "rm", *left)


def served_elsewhere(url: str) -> Model:
    """A model server that somebody else runs, under the name that the settings have. Raises ClusterError for one of this machine only."""
    if is_loopback(urlsplit(url).hostname or ""):
        step = "let it listen on the engine's bridge too, and put host.docker.internal in the place of the host"
        raise ClusterError(f"a container does not reach {url}", next_step=step)
    return Model(url.rstrip("/"), ModelSettings().name)


def _service(member: Member) -> str:
    return service_of(member.name) if member.role == "edge" else member.role


def _base() -> dict[str, Any]:
    """The project's file. Raises ClusterError where only the package is installed."""
    try:
        return dict(yaml.safe_load(COMPOSE_FILE.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise ClusterError("containers are built from the project's source", next_step="run `dgrag` from a checkout of it") from error
