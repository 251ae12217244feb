"""A start that leaves nothing behind: waits for services, and stops them where it fails, or is interrupted."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from types import FrameType
from typing import Any

import httpx2

from deploy.cluster.docker import ByDocker
from deploy.cluster.errors import ClusterError
from deploy.cluster.processes import wait_gone
from deploy.cluster.runtimes import Runtime, runtime_of
from deploy.cluster.services import Service
from deploy.cluster.state import Member, StateDir, already_running
from shared.errors import SafeMode
from shared.models.addresses import is_deployment, key_headers

SUPERVISOR_PATIENCE_S = 35.0  # a keeper's, and some
READY_DEADLINE_S = 300.0  # a model of 1 GB from a cold disk takes a minute
POLL_S = 0.1
END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
BY_DOWN = signal.SIGUSR1  # `dgrag down` asks the command in the foreground by it: who is asked so has not failed

SERVICE = ("keys.db*", "identity", "tls")
CLOUD = (*SERVICE, "cloud.db*", "nonces.db*")
EDGE = (*SERVICE, "edge.db*", "edge.seq", "edge.lock", "policy.toml", "policy-history", "replaced-*", "restore.part")
CLUSTER = (
    "cluster.*",
    "plan.*",
    "ports.json",
    "compose.json",
    "user.key",
    "model.key",
    "secrets",
    "ca.pem",
    "wan.json",
    "wan.sock",
    "logs",
    "cloud",
    "database",
    "edges",
)
MOST_NAMED = 3


def purge(directory: StateDir) -> None:
    """Delete the folder, and the volumes of its containers. Raises ClusterError where something runs, or is not ours."""
    require_ours(directory.root)
    with directory.lock():
        if runtime_of(directory).is_up():
            raise already_running(directory.root)
        ByDocker(directory).purge()
        for entry in directory.root.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()
    directory.root.rmdir()


def require_ours(root: Path) -> None:
    """Raise ClusterError that names what lies in a state folder and is none of a cluster's, a backup, say; and where there is no folder."""
    if not root.is_dir():
        raise ClusterError(f"there is nothing to delete: {root} does not exist", next_step="name the folder of a cluster with --state")
    if found := sorted(str(path.relative_to(root)) for path in _strangers(root)):
        named = ", ".join(found[:MOST_NAMED]) + (", …" if len(found) > MOST_NAMED else "")
        raise ClusterError(f"{root} holds what is no state of a cluster: {named}", next_step="move it elsewhere; nothing was deleted")


def _strangers(root: Path) -> Iterator[Path]:
    yield from _others(root, CLUSTER)
    yield from _others(root / "cloud", CLOUD)
    for edge in _within(root / "edges"):
        if edge.is_dir() and not edge.is_symlink():
            yield from _others(edge, EDGE)
        else:
            yield edge


def _others(folder: Path, ours: tuple[str, ...]) -> Iterator[Path]:
    return (entry for entry in _within(folder) if entry.is_symlink() or not any(entry.match(pattern) for pattern in ours))


def _within(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


class Interrupted(BaseException):
    """A signal asked us to end; not an Exception, so that nothing on the way handles it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class AskedByDown(Interrupted):
    """`dgrag down` asked; for who takes it for no end of their own it is a SIGTERM."""

    def __init__(self) -> None:
        super().__init__(signal.SIGTERM)


def wait_ready(runtime: Runtime, services: Sequence[Service], http: httpx2.Client, on_ready: Callable[[Service], None]) -> None:
    """Return when each service is written down and answers, or says that it is in safe mode; ``on_ready`` may take its time.

    Raises ChildCrashError, and ClusterError when none has become ready for five minutes.
    """
    waiting, deadline = list(services), time.monotonic() + READY_DEADLINE_S
    while waiting:
        runtime.check()
        keys = {"model": runtime.directory.model_key()}
        written = {(member.role, member.name) for member in runtime.state.members}  # a keeper may write it down after it answers
        asked = [service for service in waiting if (service.role, service.name) in written]
        for service in [one for one in asked if answers(http, one.ready_url, keys.get(one.role, "")) or safe_mode(http, one.url)]:
            waiting.remove(service)
            on_ready(service)
            deadline = time.monotonic() + READY_DEADLINE_S
        if waiting and time.monotonic() > deadline:
            names = ", ".join(service.name for service in waiting)
            raise ClusterError(f"not ready after {READY_DEADLINE_S:.0f} s: {names}", next_step=f"read {runtime.directory.root / 'logs'}")
        time.sleep(POLL_S if waiting else 0)


def answers(http: httpx2.Client, url: str, model_key: str = "") -> bool:
    """True when the URL gives a 2xx; also where a model server of one deployment lists no models.

    ``model_key``: shown in place of the client's own key, of a model server that has one.
    """
    try:
        own = dict[str, Any]()
        if model_key:
            own = {"headers": key_headers(url, model_key), "auth": None}
        response = http.get(url, timeout=2.0, **own)
        lists_none = response.status_code == HTTPStatus.NOT_FOUND and is_deployment(url)
        return response.is_success or lists_none
    except httpx2.TransportError:
        return False


def safe_mode(http: httpx2.Client, url: str) -> str:
    """Why the service at a URL is in safe mode, and what to do; empty if it is not. It stays so until its store is restored."""
    try:
        told = http.get(f"{url}/ready", timeout=2.0).json()
    except (httpx2.TransportError, ValueError):
        return ""
    return f"{told['reason']} – {told['next_step']}" if isinstance(told, dict) and told.get("code") == SafeMode.code else ""


@contextmanager
def supervised(runtime: Runtime, *, detached: bool) -> Iterator[Runtime]:
    """A runtime whose services never outlive this block, or, detached, never outlive a failed start.

    Inside, SIGINT, SIGTERM and SIGHUP raise Interrupted, and another process's ``take_down`` AskedByDown.
    Raises ClusterError where a cluster runs already.
    """
    with runtime.directory.lock(), _signals_raise():
        if runtime_of(runtime.directory).is_up():
            raise already_running(runtime.directory.root)
        runtime.directory.forget()
        started = False
        try:
            yield runtime
            started = True
        finally:
            if not (started and detached):
                _ignore_signals()  # a second Ctrl-C must not leave half of them behind
                runtime.stop()


def take_down(directory: StateDir) -> list[Member]:
    """Stop exactly what the directory's state started; returns what ran. A foreground supervisor is asked first."""
    state, runtime = directory.load(), runtime_of(directory)
    if state is None:
        return []
    running = state.running()
    if state.supervisor and state.supervisor.alive():
        os.kill(state.supervisor.pid, BY_DOWN)  # alone: the group of a terminal's process holds others
        wait_gone([state.supervisor], patience_s=SUPERVISOR_PATIENCE_S)
    return runtime.stop() or running


def _raise(number: int, _frame: FrameType | None) -> None:
    raise AskedByDown if number == BY_DOWN else Interrupted(number)


def _ignore_signals() -> None:
    for number in (*END_SIGNALS, BY_DOWN):
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def _signals_raise() -> Iterator[None]:
    before = {number: signal.signal(number, _raise) for number in (*END_SIGNALS, BY_DOWN)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
