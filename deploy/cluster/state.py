"""``cluster.json``: what one state directory has started."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from deploy.cluster.errors import ClusterError
from deploy.cluster.processes import Mark
from deploy.cluster.services import Role, Service
from shared.identity import replace_private

RuntimeName = Literal["process", "docker"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Member:
    """One service of the cluster; ``mark`` is None for one that is no process of ours (a model server given by URL, a container)."""

    role: Role
    name: str  # edge id, or name of the model
    url: str
    mark: Mark | None = None
    restarts: int = 0  # how often it was started again since `up`
    last_exit: int | None = None  # of the run before this one, or of the last; negative: the signal that ended it
    given_up: str = ""  # why it is not started again


@dataclass(frozen=True, slots=True)
class ClusterState:
    """Everything started, in order.

    ``supervisor``: the foreground ``dgrag up``, None when detached. ``keeper``: the process that starts the others again.
    """

    supervisor: Mark | None = None
    members: tuple[Member, ...] = field(default=())
    keeper: Mark | None = None
    runtime: RuntimeName = "process"

    def with_member(self, member: Member) -> ClusterState:
        """The state with one more member, or with another word about one that it has."""
        kept = tuple(member if (member.role, member.name) == (other.role, other.name) else other for other in self.members)
        return replace(self, members=kept if member in kept else (*kept, member))

    def marks(self) -> list[Mark]:
        """The processes that are ours."""
        return [member.mark for member in self.members if member.mark]

    def running(self) -> list[Member]:
        """The members whose process runs now."""
        return [member for member in self.members if member.mark and member.mark.alive()]

    def is_up(self) -> bool:
        """True while a process runs, or one that will start others again."""
        return bool(self.running()) or any(mark is not None and mark.alive() for mark in (self.supervisor, self.keeper))

    def of(self, role: Role) -> list[Member]:
        """The members of one role."""
        return [member for member in self.members if member.role == role]


@dataclass(frozen=True, slots=True)
class SupervisorPlan:
    """What a keeper is told to keep running: ``plan.json``. It holds no secrets: those stay in the environment.

    ``others``: members that are not ours to start. ``supervisor``: as the state has it.
    """

    services: tuple[Service, ...]
    others: tuple[Member, ...] = ()
    supervisor: Mark | None = None


class StateDir:
    """The folder of one cluster: ``cluster.json``, ``plan.json``, ``ports.json``, ``model.key``, ``logs/``, ``cloud/``, ``edges/<id>/``."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.file = self.root / "cluster.json"
        self.lock_file = self.root / "cluster.lock"
        self.plan_file = self.root / "plan.json"
        self.ports_file = self.root / "ports.json"  # outlives a stop: where each edge answered last
        self.key_file = self.root / "user.key"  # where the services want a key: the one that this user has, and whom to trust
        self.authority = self.root / "ca.pem"
        self.model_key_file = self.root / "model.key"  # of the model server that this cluster has started

    def log(self, name: str) -> Path:
        """Where a process writes."""
        return self.root / "logs" / f"{name}.log"

    def known_edges(self) -> list[str]:
        """Ids of the edges that have a store here, as they first ran."""
        return self.in_order(folder.name for folder in (self.root / "edges").glob("*") if folder.is_dir())

    def in_order(self, edges: Iterable[str]) -> list[str]:
        """Edges as they first ran here; behind them those of which that is not written down, by name."""
        first = {edge: place for place, edge in enumerate(self.ports())}
        return sorted(edges, key=lambda edge: (first.get(edge, len(first)), edge))

    def ports(self) -> dict[str, int]:
        """Where each edge that has run here answered last, as they first ran. Raises ClusterError for a file that is not ours."""
        return _read(self.ports_file, dict[str, int]) if self.ports_file.exists() else {}

    def save_ports(self, ports: Mapping[str, int]) -> None:
        """Write down where edges answer; what is known of others stays."""
        _write(self.ports_file, {**self.ports(), **ports})

    def load(self) -> ClusterState | None:
        """What was started; None when nothing is. Raises ClusterError for a file that is not ours."""
        return _read(self.file, ClusterState) if self.file.exists() else None

    def save(self, state: ClusterState) -> None:
        """Replace the file in one step."""
        _write(self.file, asdict(state))

    def charge(self) -> SupervisorPlan:
        """What the keeper shall do. Raises ClusterError for a file that is not ours."""
        return _read(self.plan_file, SupervisorPlan)

    def save_charge(self, charge: SupervisorPlan) -> None:
        """Write down what the keeper shall do."""
        _write(self.plan_file, asdict(charge))

    def model_key(self) -> str:
        """The key of this cluster's own model server; "" where it has none."""
        return self.model_key_file.read_text(encoding="ascii") if self.model_key_file.exists() else ""

    def forget(self) -> None:
        """Nothing runs any more."""
        self.file.unlink(missing_ok=True)
        for file in (self.plan_file, self.key_file, self.authority, self.model_key_file):
            file.unlink(missing_ok=True)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Held by the one ``up`` that works here; the system lets go when it dies. Raises ClusterError when it is held."""
        self.root.mkdir(parents=True, exist_ok=True)
        with self.lock_file.open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise already_running(self.root) from error
            os.set_inheritable(file.fileno(), False)
            yield


def _read(file: Path, kind: type[T]) -> T:
    try:
        return TypeAdapter(kind).validate_json(file.read_bytes())
    except (ValidationError, FileNotFoundError) as error:
        raise ClusterError(f"{file} cannot be read", next_step="look at its processes, then delete it") from error


def _write(file: Path, value: object) -> None:
    """Replace a file in one step; it is for this user only."""
    replace_private(file, json.dumps(value, indent=1).encode())


def already_running(root: Path) -> ClusterError:
    """The refusal to start twice."""
    step = "`dgrag status` shows it; `dgrag down` stops it, documents stay, and the next `dgrag up` may have more edges"
    return ClusterError(f"a cluster is running already in {root}", next_step=step)
