"""The container engine of this machine, as `docker compose` (or the older `docker-compose`) and `docker` speak to it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.cluster.errors import ClusterError

FACTS = '{{index .Config.Labels "com.docker.compose.service"}} {{.State.Running}} {{.RestartCount}} {{.State.ExitCode}}'


@dataclass(frozen=True, slots=True)
class Container:
    """What the engine says of one. ``exit_code`` is of its last run, as `docker` counts: 137 for SIGKILL."""

    service: str
    running: bool
    restarts: int
    exit_code: int


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
        return _said([*compose(), "--project-name", self.name, "--file", str(self.file), "--project-directory", str(self.folder), *words])

    def containers(self) -> list[Container]:
        """Those that there are, also ones that have ended."""
        every = ("--all",) if compose()[-1] == "compose" else ()  # the older one means all by itself, and has no such word for --quiet
        ids = self.tell("ps", *every, "--quiet").split()
        return read(docker("inspect", "--format", FACTS, *ids)) if ids else []


def read(facts: str) -> list[Container]:
    """Lines as ``FACTS`` asks for.

    >>> read("edge-ward true 2 137")
    [Container(service='edge-ward', running=True, restarts=2, exit_code=137)]
    """
    rows = [line.split() for line in facts.splitlines() if line.strip()]
    return [Container(service, running == "true", int(restarts), int(code)) for service, running, restarts, code in rows]


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
