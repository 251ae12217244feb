"""A cluster as processes of this machine, children of one keeper."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Callable
from urllib.parse import urlsplit

import httpx2

from deploy.cluster.control import Command, told
from deploy.cluster.errors import ChildCrashError, ClusterError, how_ended
from deploy.cluster.launch import Plan, charge_of
from deploy.cluster.processes import Mark, birth, signal_group, spawn, stop, tail, wait_gone
from deploy.cluster.runtimes import Fault
from deploy.cluster.services import Service
from deploy.cluster.state import ClusterState, Member, StateDir, SupervisorPlan
from shared.identity import replace_private
from shared.models.fetch import FetchProgress

POLL_S = 0.1
KEY_BYTES = 32
KEEPER = "keeper"  # name of its log
KEEPER_PATIENCE_S = 30.0  # it gives its services ten seconds, and the killed ones ten more
SIGNALS = {"kill": signal.SIGKILL, "pause": signal.SIGSTOP, "resume": signal.SIGCONT, "restart": signal.SIGTERM}


class ByProcess:
    """Implements ``Runtime``. ``detached``: the keeper outlives this process."""

    def __init__(self, directory: StateDir, *, detached: bool = True) -> None:
        self.directory = directory
        self._detached = detached
        self._reports: subprocess.Popen[bytes] | None = None
        self._logged: dict[str, int] = {}  # bytes of a log that are of earlier starts

    @property
    def state(self) -> ClusterState:
        """What the keeper has written down."""
        return self.directory.load() or ClusterState()

    def is_up(self) -> bool:
        """True while a service runs, the keeper, or the command in the foreground."""
        return self.state.is_up()

    def start(self, plan: Plan, http: httpx2.Client, on_fetch: FetchProgress) -> list[Service]:
        """Fetch what is missing, and let a keeper start the services of a plan."""
        charge = charge_of(plan, self.directory.root, http, on_fetch=on_fetch)
        self.directory.save_ports({one.name: urlsplit(one.url).port or 0 for one in charge.services if one.role == "edge"})
        self.keep(charge.services, charge.others)
        return [service for service in charge.services if service.ready_url]

    def keep(self, services: tuple[Service, ...], others: tuple[Member, ...] = ()) -> None:
        """Start a keeper of these services; ``others`` are only written down."""
        for name in (KEEPER, *(service.name for service in services)):
            log = self.directory.log(name)
            self._logged[name] = log.stat().st_size if log.exists() else 0
        supervisor = None if self._detached else Mark(os.getpid(), birth(os.getpid()) or "")
        self.directory.save_charge(SupervisorPlan(services, others, supervisor))
        key = {"DGRAG_MODEL_API_KEY": self._key()} if any(service.role == "model" for service in services) else {}
        words = ("-m", "deploy.cluster.supervisor", str(self.directory.root))
        self._reports = spawn(words, key, self.directory.log(KEEPER), outlive_us=self._detached)

    def _key(self) -> str:
        """A new key of the model server, which reaches it and whoever asks it by their environment; this user's commands read the file."""
        replace_private(self.directory.model_key_file, secrets.token_urlsafe(KEY_BYTES).encode())
        return self.directory.model_key()

    def check(self) -> None:
        """Raise ChildCrashError when a service has ended since the start, or the keeper has."""
        for member in self.state.members:
            if member.last_exit is not None:
                raise self._crash(member.name, member.last_exit)
        if self._reports is not None and (code := self._reports.poll()) is not None:
            raise self._crash(KEEPER, code)

    def _crash(self, name: str, exit_code: int) -> ChildCrashError:
        log = self.directory.log(name)
        return ChildCrashError(name, exit_code=exit_code, tail=tail(log, since=self._logged.get(name, 0)), log=str(log))

    def watch(self, tell: Callable[[str], None]) -> None:
        """Stay until the keeper has ended or has given all services up, telling of each service that ends."""
        seen = {member.name: member for member in self.state.members}
        while self._reports is not None and self._reports.poll() is None:
            members = [member for member in self.state.members if member.mark]
            for member in members:
                if member.last_exit is not None and _news(member) != _news(seen.get(member.name)):
                    then = f"is not started again: {member.given_up}" if member.given_up else "was started again"
                    tell(f"{member.name} {how_ended(member.last_exit)}, and {then}")
                seen[member.name] = member
            if members and all(member.given_up for member in members):
                return
            time.sleep(POLL_S)

    def inflict(self, fault: Fault, member: Member) -> None:
        """Send a service what stands for the fault; who is dead already is started again at once by a restart."""
        keeper = self.state.keeper
        if member.mark and member.mark.alive():
            signal_group(member.mark.pid, SIGNALS[fault])
            if fault == "restart":
                signal_group(member.mark.pid, signal.SIGCONT)  # one that is paused would hear of it never
        elif fault == "restart" and keeper and keeper.alive():
            os.kill(keeper.pid, signal.SIGHUP)
        else:
            raise ClusterError(f"{member.name} does not run", next_step="`dgrag status` says why")

    def log(self, name: str, *, lines: int) -> str:
        """The end of a service's log."""
        return tail(self.directory.log(name), lines=lines)

    def stop(self) -> list[Member]:
        """Ask the keeper, and stop what it has left."""
        state = self.state
        running = state.running()
        keeper = self._mark_of_keeper(state)
        if keeper and keeper.alive():
            os.kill(keeper.pid, signal.SIGTERM)
            wait_gone([keeper], patience_s=KEEPER_PATIENCE_S)
        state = self.state  # it may have started one again meanwhile
        stop([*([keeper] if keeper else []), *state.marks()])
        if self._reports:
            self._reports.wait()
        self.directory.forget()
        return running

    def is_ready(self, member: Member) -> bool | None:
        """Of what carries the links: whether it answers at its socket; of the database: whether it runs."""
        if member.role == "database":
            return member.mark is not None and member.mark.alive()
        if member.role != "link":
            return None
        try:
            return bool(member.mark and member.mark.alive() and told(self.directory.root, Command("stats")))
        except ClusterError:
            return False

    def known_edges(self) -> list[str]:
        """Ids of the edges that have a store here, as they first ran."""
        return self.directory.known_edges()

    def _mark_of_keeper(self, state: ClusterState) -> Mark | None:
        """Also of one that has written nothing down yet."""
        return Mark(self._reports.pid, birth(self._reports.pid) or "") if self._reports else state.keeper


def _news(member: Member | None) -> tuple[int, str] | None:
    return (member.restarts, member.given_up) if member else None
