"""``cluster.json``: what one state directory has started."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from deploy.cluster.errors import ClusterError
from deploy.cluster.processes import Mark

Role = Literal["model", "cloud", "edge"]


@dataclass(frozen=True, slots=True)
class Member:
    """One service of the cluster; ``mark`` is None for one that somebody else runs (a model server given by URL)."""

    role: Role
    name: str  # edge id, or name of the model
    url: str
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class ClusterState:
    """Everything started, in order; ``supervisor`` is the foreground ``dgrag up``, None when detached."""

    supervisor: Mark | None = None
    members: tuple[Member, ...] = field(default=())

    def with_member(self, member: Member) -> ClusterState:
        """The state with one more member."""
        return replace(self, members=(*self.members, member))

    def marks(self) -> list[Mark]:
        """The processes that are ours."""
        return [member.mark for member in self.members if member.mark]

    def running(self) -> list[Member]:
        """The members whose process runs now."""
        return [member for member in self.members if member.mark and member.mark.alive()]

    def of(self, role: Role) -> list[Member]:
        """The members of one role."""
        return [member for member in self.members if member.role == role]


class StateDir:
    """The folder of one cluster: ``cluster.json``, ``logs/``, ``cloud/``, ``edges/<id>/``."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.file = self.root / "cluster.json"

    def log(self, name: str) -> Path:
        """Where a process writes."""
        return self.root / "logs" / f"{name}.log"

    def known_edges(self) -> list[str]:
        """Ids of the edges that have a store here, sorted."""
        return sorted(folder.name for folder in (self.root / "edges").glob("*") if folder.is_dir())

    def load(self) -> ClusterState | None:
        """What was started; None when nothing is. Raises ClusterError for a file that is not ours."""
        if not self.file.exists():
            return None
        try:
            return TypeAdapter(ClusterState).validate_json(self.file.read_bytes())
        except ValidationError as error:
            raise ClusterError(f"{self.file} cannot be read", next_step="look at its processes, then delete it") from error

    def save(self, state: ClusterState) -> None:
        """Replace the file in one step."""
        self.root.mkdir(parents=True, exist_ok=True)
        draft = self.file.with_suffix(".tmp")
        draft.write_text(json.dumps(asdict(state), indent=1), encoding="utf-8")
        draft.replace(self.file)

    def forget(self) -> None:
        """Nothing runs any more."""
        self.file.unlink(missing_ok=True)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Held by the one ``up`` that works here; the system lets go when it dies. Raises ClusterError when it is held."""
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / "cluster.lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise already_running(self.root) from error
            os.set_inheritable(file.fileno(), False)
            yield


def already_running(root: Path) -> ClusterError:
    """The refusal to start twice."""
    return ClusterError(f"a cluster is running already in {root}", next_step="`dgrag status` shows it, `dgrag down` stops it")
