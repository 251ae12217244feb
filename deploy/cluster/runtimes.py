"""What a cluster can run on: the one contract that processes and containers keep."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Literal, Protocol

import httpx2

from deploy.cluster.launch import Plan
from deploy.cluster.services import Service
from deploy.cluster.state import ClusterState, Member, StateDir
from shared.models.fetch import FetchProgress

Fault = Literal["kill", "pause", "resume", "restart"]


class Runtime(Protocol):
    """Runs the services of one state directory, and starts again what ends."""

    @property
    def directory(self) -> StateDir:
        """Whose services they are."""

    @property
    def state(self) -> ClusterState:
        """What runs, as it is written down now."""

    def is_up(self) -> bool:
        """True while something runs, or will start again by itself."""

    def start(self, plan: Plan, http: httpx2.Client, on_fetch: FetchProgress) -> list[Service]:
        """Start everything, and return what has to become ready. Raises ClusterError, FetchError and SettingsError."""

    def check(self) -> None:
        """Raise ChildCrashError when a service has ended since the start."""

    def watch(self, tell: Callable[[str], None]) -> None:
        """Stay until nothing runs any more, telling of each service that ends."""

    def inflict(self, fault: Fault, member: Member) -> None:
        """Kill, pause, resume or restart one service. Raises ClusterError where it does not run."""

    def log(self, name: str, *, lines: int) -> str:
        """The end of what a service has written."""

    def stop(self) -> list[Member]:
        """Stop everything, and forget it; returns what ran."""

    def is_ready(self, member: Member) -> bool | None:
        """Whether a member can be used that has no address out here; None for one that can be asked itself."""

    def known_edges(self) -> list[str]:
        """Ids of the edges that have a store from an earlier start, as they first ran."""


RUNTIMES = {
    "process": "deploy.cluster.local:ByProcess",
    "netns": "deploy.cluster.local:ByProcess",
    "docker": "deploy.cluster.docker:ByDocker",
}


def runtime_class(name: str) -> Callable[..., Runtime]:
    """The class of a runtime, imported on use: each needs this file. Raises KeyError for an unknown name."""
    module, _, kind = RUNTIMES[name].partition(":")
    found: Callable[..., Runtime] = getattr(import_module(module), kind)
    return found


def runtime_of(directory: StateDir) -> Runtime:
    """The runtime of what was started there; where nothing was, processes. Raises ClusterError for a file that is not ours."""
    state = directory.load() or ClusterState()
    return runtime_class(state.runtime)(directory)
