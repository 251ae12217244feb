"""Starts services, waits for them, watches them, stops them. Every start is on disk before the next one."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import httpx

from deploy.cluster.errors import ChildCrashError, ClusterError
from deploy.cluster.processes import Mark, birth, spawn, stop, tail, wait_gone
from deploy.cluster.services import Service
from deploy.cluster.state import ClusterState, Member, StateDir, already_running
from shared.errors import SafeMode

READY_DEADLINE_S = 300.0  # a model of 1 GB from a cold disk takes a minute
POLL_S = 0.1
END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal asked us to end; not an Exception, so that nothing on the way handles it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Supervisor:
    """The processes of one state directory."""

    def __init__(self, directory: StateDir, *, detached: bool, supervisor: Mark | None) -> None:
        self.directory = directory
        self.state = ClusterState(supervisor=supervisor)
        self._detached = detached
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._logged: dict[str, int] = {}  # bytes of a child's log that are of earlier starts

    def start(self, service: Service, *, prefix: Sequence[str] = ()) -> Member:
        """Start one service, behind ``prefix`` as ``spawn`` has it, and write it down."""
        log = self.directory.log(service.name)
        self._logged[service.name] = log.stat().st_size if log.exists() else 0
        child = spawn(service.command, service.environment, log, outlive_us=self._detached, prefix=prefix)
        self._children[service.name] = child
        member = Member(service.role, service.name, service.url, Mark(child.pid, birth(child.pid) or ""))
        self.include(member)
        return member

    def include(self, member: Member) -> None:
        """Write down a member, also one that is not ours to stop."""
        self.state = self.state.with_member(member)
        self.directory.save(self.state)

    def wait_ready(self, services: list[Service], http: httpx.Client, on_ready: Callable[[Service], None]) -> None:
        """Return when each service answers, or says that it is in safe mode; ``on_ready`` may take its time.

        Raises ChildCrashError, and ClusterError when none has become ready for five minutes.
        """
        waiting, deadline = list(services), time.monotonic() + READY_DEADLINE_S
        while waiting:
            self.check()
            for service in [service for service in waiting if answers(http, service.ready_url) or safe_mode(http, service.url)]:
                waiting.remove(service)
                on_ready(service)
                deadline = time.monotonic() + READY_DEADLINE_S
            if waiting and time.monotonic() > deadline:
                names = ", ".join(service.name for service in waiting)
                raise ClusterError(f"not ready after {READY_DEADLINE_S:.0f} s: {names}", next_step=f"read {self.directory.root / 'logs'}")
            time.sleep(POLL_S if waiting else 0)

    def ended(self) -> list[str]:
        """Names of the children that have ended."""
        return [name for name, child in self._children.items() if child.poll() is not None]

    def check(self) -> None:
        """Raise ChildCrashError when a child has ended."""
        for name in self.ended():
            log = self.directory.log(name)
            said = tail(log, since=self._logged[name])
            raise ChildCrashError(name, exit_code=self._children[name].returncode, tail=said, log=str(log))

    def watch(self, on_end: Callable[[str, int], None]) -> None:
        """Stay until every child has ended, telling of each."""
        told: set[str] = set()
        while len(told) < len(self._children):
            for name in set(self.ended()) - told:
                told.add(name)
                on_end(name, self._children[name].returncode)
            time.sleep(POLL_S)

    def stop(self) -> None:
        """Stop what was started, and forget it."""
        stop(self.state.marks())
        for child in self._children.values():
            child.wait()
        self.directory.forget()


def answers(http: httpx.Client, url: str) -> bool:
    """True when the URL gives a 2xx."""
    try:
        return http.get(url, timeout=2.0).is_success
    except httpx.TransportError:
        return False


def safe_mode(http: httpx.Client, url: str) -> str:
    """Why the service at a URL is in safe mode, and what to do; empty if it is not. It stays so until its store is restored."""
    try:
        told = http.get(f"{url}/ready", timeout=2.0).json()
    except (httpx.TransportError, ValueError):
        return ""
    return f"{told['reason']} – {told['next_step']}" if isinstance(told, dict) and told.get("code") == SafeMode.code else ""


@contextmanager
def supervised(directory: StateDir, *, detached: bool) -> Iterator[Supervisor]:
    """A supervisor whose children never outlive it, or, detached, never outlive a failed start.

    Inside, SIGINT, SIGTERM and SIGHUP raise Interrupted. Raises ClusterError where a cluster runs already.
    """
    with directory.lock(), _signals_raise():
        running = directory.load()
        if running and running.running():
            raise already_running(directory.root)
        supervisor = Supervisor(directory, detached=detached, supervisor=None if detached else Mark(os.getpid(), birth(os.getpid()) or ""))
        started = False
        try:
            yield supervisor
            started = True
        finally:
            if not (started and detached):
                _ignore_signals()  # a second Ctrl-C must not leave half of them behind
                supervisor.stop()


def take_down(directory: StateDir) -> list[Member]:
    """Stop exactly what the directory's state started; returns what ran. A foreground supervisor is asked first."""
    state = directory.load()
    if state is None:
        return []
    running = state.running()
    if state.supervisor and state.supervisor.alive():
        os.kill(state.supervisor.pid, signal.SIGTERM)  # alone: the group of a terminal's process holds others
        wait_gone([state.supervisor], patience_s=15.0)
    stop(state.marks())
    directory.forget()
    return running


def _raise(number: int, _frame: FrameType | None) -> None:
    raise Interrupted(number)


def _ignore_signals() -> None:
    for number in END_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def _signals_raise() -> Iterator[None]:
    before = {number: signal.signal(number, _raise) for number in END_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
