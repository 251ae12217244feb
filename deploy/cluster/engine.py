"""The container engine of this machine, as `docker compose` (or the older `docker-compose`) and `docker` speak to it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.cluster.errors import ClusterError

HEALTH = "{{if .State.Health}}{{.State.Health.Status}}{{else}}unasked{{end}}"
FACTS = '{{index .Config.Labels "com.docker.compose.service"}} {{.State.Running}} {{.RestartCount}} {{.State.ExitCode}} ' + HEALTH


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
