"""``python -m deploy.cluster.supervisor STATE``: the parent of a cluster's processes, for as long as the cluster is to run.

It starts them in order, starts again what ends (``backoff``), ends what is stuck or broken (``pulse``) and so starts it again, and writes
all of it into ``cluster.json``, each service's log, and its own. SIGTERM: stop all, and end. SIGHUP: what waits, or was given up, starts
now. The processes die with it, however it ends (``child``).
"""

from __future__ import annotations

import http.client
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

from deploy.cluster.errors import how_ended
from deploy.cluster.processes import Mark, birth, ended, is_paused, rotate, signal_group, spawn, stop
from deploy.cluster.services import Service
from deploy.cluster.state import ClusterState, Member, StateDir, SupervisorPlan
from shared.errors import StoreDamaged, StoreInUse

POLL_S = 0.1
LONGEST_LOG = 10 * 2**20  # bytes
log = logging.getLogger("dgrag.keeper")

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 60.0
DOUBLINGS = 7  # from the first wait to beyond the longest
LONG_RUN_S = 60.0  # a run of so long was a good one: what failed before it is forgotten
SETTINGS_WITHIN_S = 30.0  # of the first start: who ends so soon, with a code of wrong usage, will do so again
WRONG_USAGE = frozenset({1, 2})
HOPELESS = {
    StoreDamaged.exit_status: "its data is damaged",
    StoreInUse.exit_status: "another process uses its data",
}


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a service may be unwell in a row, asked ``every_s``; one that is silent so long is. A busy machine is no stuck one."""

    every_s: float = 10.0
    timeout_s: float = 30.0
    misses: int = 3


class LivenessProbe:
    """Counts how often each service was unwell in a row."""

    def __init__(self, urls: Mapping[str, str], patience: Patience) -> None:
        """``urls``: of what answers at once, by the service's name."""
        self._urls = urls
        self._patience = patience
        self._misses = Counter[str]()
        self._ending = threading.Event()

    def start(self) -> None:
        """Begin to ask, in a thread that ends with the process."""
        threading.Thread(target=self._ask_all, name="pulse", daemon=True).start()

    def stop(self) -> None:
        """Ask no more."""
        self._ending.set()

    def is_stuck(self, name: str) -> bool:
        """True for a service that has been unwell too often."""
        return self._misses[name] >= self._patience.misses

    def forgive(self, name: str) -> None:
        """Count anew, for a service that begins again."""
        self._misses[name] = 0

    def _ask_all(self) -> None:
        while not self._ending.wait(self._patience.every_s):
            for name, url in self._urls.items():
                if is_unwell(url, timeout_s=self._patience.timeout_s):
                    self._misses[name] += 1
                else:
                    self.forgive(name)


def is_unwell(url: str, *, timeout_s: float) -> bool:
    """True when a server takes the call and says nothing, or that only a new one helps (503); ``url`` is plain HTTP, of this machine.

    A refused connection is no sign: who starts, or has ended, is not stuck.
    """
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_s)
    try:
        connection.request("GET", parts.path)
        reply = connection.getresponse()
        reply.read()
    except TimeoutError:
        return True
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return reply.status == http.HTTPStatus.SERVICE_UNAVAILABLE


@dataclass(frozen=True, slots=True)
class ServiceRun:
    """One run of a service: when it began, in monotonic seconds, and how many in a row before it were short."""

    began: float
    short_before: int = 0


@dataclass(frozen=True, slots=True)
class RestartWait:
    """Until when to wait before the next run; ``short_before`` is that run's."""

    until: float
    short_before: int


def next_start(run: ServiceRun, *, now: float, exit_code: int) -> RestartWait | None:
    """When to start again after a run that ended ``now``; None where another start would not help (``hopeless`` says why).

    Half a second, doubled with each short run, a minute at most.

    >>> next_start(ServiceRun(0.0, short_before=3), now=2.0, exit_code=-9)
    RestartWait(until=6.0, short_before=4)
    """
    if hopeless(run, now=now, exit_code=exit_code):
        return None
    short = 0 if now - run.began >= LONG_RUN_S else run.short_before
    return RestartWait(now + min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** min(short, DOUBLINGS)), short + 1)


def hopeless(run: ServiceRun, *, now: float, exit_code: int) -> str:
    """Why another start would end alike; empty where it may help.

    >>> hopeless(ServiceRun(0.0), now=1.0, exit_code=6)
    'another process uses its data'
    """
    if exit_code in HOPELESS:
        return HOPELESS[exit_code]
    if exit_code in WRONG_USAGE and run.short_before == 0 and now - run.began < SETTINGS_WITHIN_S:
        return "its settings cannot be used"
    return ""


@dataclass(slots=True)
class SupervisedService:
    """A service, its process now, and how it went so far."""

    service: Service
    run: ServiceRun
    child: subprocess.Popen[bytes] | None = None  # None: it has ended
    mark: Mark | None = None  # of this run, or of the last
    due: float | None = None  # when it starts again, in monotonic seconds; None: it runs, or was given up
    restarts: int = 0
    last_exit: int | None = None
    given_up: str = ""

    def member(self) -> Member:
        """What the state says of it."""
        service = self.service
        return Member(service.role, service.name, service.url, self.mark, self.restarts, self.last_exit, self.given_up)


class Supervisor:
    """Runs the services of one state directory until ``end`` is called."""

    def __init__(
        self, directory: StateDir, charge: SupervisorPlan, monotonic: Callable[[], float], patience: Patience | None = None
    ) -> None:
        self._directory = directory
        self._monotonic = monotonic
        self._kept = [SupervisedService(service, ServiceRun(monotonic())) for service in charge.services]
        asked = {service.name: service.health_url for service in charge.services if service.health_url}
        self._pulse = LivenessProbe(asked, patience or Patience())
        self._state = ClusterState(charge.supervisor, charge.others, Mark(os.getpid(), birth(os.getpid()) or ""))
        self._ending = threading.Event()
        self._hurried = threading.Event()

    def end(self) -> None:
        """Let ``run`` stop everything and return."""
        self._ending.set()

    def hurry(self) -> None:
        """Let what waits, or was given up, start at once."""
        self._hurried.set()

    def run(self) -> None:
        """Start all, keep them running, and stop them in the end."""
        try:
            for kept in self._kept:
                self._start(kept)
            self._pulse.start()
            while not self._ending.wait(POLL_S):
                hurried = self._hurried.is_set()
                self._hurried.clear()
                for kept in self._kept:
                    self._look(kept, hurried=hurried)
        finally:
            self._pulse.stop()
            stop([kept.mark for kept in self._kept if kept.mark])
            for kept in self._kept:
                if kept.child:
                    kept.child.wait()

    def _look(self, kept: SupervisedService, *, hurried: bool) -> None:
        rotate(self._directory.log(kept.service.name), most_bytes=LONGEST_LOG)
        if kept.child is not None:
            if (code := ended(kept.child)) is not None:
                self._has_ended(kept, code)
            else:
                self._feel_pulse(kept.service.name, kept.child.pid)
        elif hurried or (kept.due is not None and self._monotonic() >= kept.due):
            kept.restarts += 1
            self._note(kept, f"{how_ended(kept.last_exit or 0)}; start {kept.restarts + 1} follows")
            self._start(kept)

    def _start(self, kept: SupervisedService) -> None:
        service, output = kept.service, self._directory.log(kept.service.name)
        kept.run, kept.due, kept.given_up = replace(kept.run, began=self._monotonic()), None, ""
        self._pulse.forgive(service.name)
        try:
            kept.child = spawn(service.command, service.environment, output, outlive_us=False, prefix=service.prefix)
        except OSError as error:  # the machine is out of processes, or of disk: that may pass
            log.error("%s cannot be started: %s", service.name, error)
            self._has_ended(kept, os.EX_OSERR)
            return
        kept.mark = Mark(kept.child.pid, birth(kept.child.pid) or "")
        self._tell(kept, f"has pid {kept.child.pid}" + (f", start {kept.restarts + 1}" if kept.restarts else ""))

    def _has_ended(self, kept: SupervisedService, code: int) -> None:
        now = self._monotonic()
        kept.child, kept.last_exit = None, code
        if wait := next_start(kept.run, now=now, exit_code=code):
            kept.run, kept.due = replace(kept.run, short_before=wait.short_before), wait.until
            self._tell(kept, f"{how_ended(code)}; it starts again in {wait.until - now:.1f} s", level=logging.WARNING)
        else:
            kept.given_up = hopeless(kept.run, now=now, exit_code=code)
            self._note(kept, f"{how_ended(code)}, and is not started again: {kept.given_up}")
            self._tell(kept, f"{how_ended(code)}, and is not started again: {kept.given_up}", level=logging.ERROR)

    def _feel_pulse(self, name: str, pid: int) -> None:
        if not self._pulse.is_stuck(name):
            return
        self._pulse.forgive(name)
        if not is_paused(pid):  # by somebody who wants it so
            log.warning("%s takes calls and answers none, or says that it is broken: it is killed", name)
            signal_group(pid, signal.SIGKILL)

    def _tell(self, kept: SupervisedService, what: str, *, level: int = logging.INFO) -> None:
        log.log(level, "%s %s", kept.service.name, what)
        self._state = self._state.with_member(kept.member())
        with _unless_it_cannot_be_written():
            self._directory.save(self._state)

    def _note(self, kept: SupervisedService, what: str) -> None:
        """Say in the service's own log why it stops in mid-sentence."""
        with _unless_it_cannot_be_written(), self._directory.log(kept.service.name).open("a", encoding="utf-8") as file:
            file.write(f"keeper: {kept.service.name} {what}\n")


@contextmanager
def _unless_it_cannot_be_written() -> Iterator[None]:
    """A full disk is no reason to end what still runs."""
    try:
        yield
    except OSError as error:
        log.error("it cannot be written down: %s", error)


def main(arguments: list[str]) -> int:
    """Keep the cluster of a state directory."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    directory = StateDir(Path(arguments[0]))
    keeper = Supervisor(directory, directory.charge(), time.monotonic)

    def on_signal(number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            keeper.hurry()
        else:
            keeper.end()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    keeper.run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
