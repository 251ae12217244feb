"""Processes that cannot be mistaken for others, and how they are stopped."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
CODE_ROOT = Path(__file__).resolve().parents[__name__.count(".")]  # where our packages are imported from
POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Mark:
    """A pid with its time of birth: a pid that the system gave to somebody else does not match."""

    pid: int
    birth: str

    def alive(self) -> bool:
        """True while this very process runs (a zombie does not)."""
        return bool(self.birth) and birth(self.pid) == self.birth


def birth(pid: int) -> str | None:
    """When the process was started, in the system's own words; None when it does not run.

    >>> birth(os.getpid()) == birth(os.getpid()) != None
    True
    """
    if not (PROC / "self" / "stat").exists():
        return _birth_by_ps(pid)
    try:
        stat = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()  # the command's name, in brackets, may hold anything
    if fields[0] in "ZX":
        return None
    boot = (PROC / "sys" / "kernel" / "random" / "boot_id").read_text(encoding="ascii").strip()
    return f"{boot}/{fields[19]}"  # ticks since boot, hence the boot


def _birth_by_ps(pid: int) -> str | None:
    ps = shutil.which("ps") or "ps"
    found = subprocess.run([ps, "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)  # noqa: S603
    state, _, started = found.stdout.strip().partition(" ")
    return None if found.returncode or state.startswith("Z") else started.strip()


def is_paused(pid: int) -> bool:
    """True while a signal holds the process still (SIGSTOP); False where the system does not say."""
    try:
        stat = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] == "T"


def spawn(
    command: Sequence[str], environment: Mapping[str, str], log: Path, *, outlive_us: bool, prefix: Sequence[str] = ()
) -> subprocess.Popen[bytes]:
    """Start ``[…prefix] python -P …command`` in its own session, writing to ``log``; the environment is added to ours.

    ``prefix``: a command that becomes the one behind it, as ``ip netns exec NAME``.

    ``-P`` and PYTHONPATH keep a folder named like one of our packages in the user's directory out of the way.
    """
    guard = [] if outlive_us else ["-m", "deploy.cluster.child", str(os.getpid()), sys.executable, "-P"]
    search_path = os.pathsep.join(filter(None, [str(CODE_ROOT), os.environ.get("PYTHONPATH", "")]))
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 - our own commands
            [*prefix, sys.executable, "-P", *guard, *command],
            env={**os.environ, "PYTHONPATH": search_path, "PYTHONUNBUFFERED": "1", **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def stop(marks: Sequence[Mark], *, patience_s: float = 10.0) -> list[Mark]:
    """End those that still run, each with its process group: SIGTERM, wait, SIGKILL. Returns the ones that ran."""
    running = [mark for mark in marks if mark.alive()]
    for mark in running:
        signal_group(mark.pid, signal.SIGTERM)
        signal_group(mark.pid, signal.SIGCONT)  # one that is paused would hear of it never
    wait_gone(running, patience_s=patience_s)
    for mark in running:
        signal_group(mark.pid, signal.SIGKILL)  # also what a leader that has ended left in its group
    wait_gone(running, patience_s=patience_s)
    return running


def wait_gone(marks: Sequence[Mark], *, patience_s: float) -> bool:
    """Wait until none of them runs; False when the patience ran out."""
    deadline = time.monotonic() + patience_s
    while any(mark.alive() for mark in marks):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def ended(child: subprocess.Popen[bytes]) -> int | None:
    """The exit code of a child that has ended, and on Linux the rest of its process group with it; None while it runs."""
    if sys.platform == "linux" and child.returncode is None:
        if os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            return None
        signal_group(child.pid, signal.SIGKILL)  # before it is collected: nobody else can have its pid yet
    return child.poll()


def signal_group(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process group; one that is gone hears nothing."""
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return


def rotate(log: Path, *, most_bytes: int) -> None:
    """Keep a log that has grown beyond ``most_bytes`` as its one former, ``NAME.log.1``, and begin it anew.

    By copy: whoever writes has it open, to append. What is written while it is copied may be lost.
    """
    if log.exists() and log.stat().st_size > most_bytes:
        with suppress(OSError):  # on a full disk the former is lost, and the log makes room
            shutil.copyfile(log, log.with_name(f"{log.name}.1"))
        os.truncate(log, 0)


def tail(log: Path, *, since: int = 0, lines: int = 20, most_bytes: int = 16_384) -> str:
    """The last lines of a log behind its first ``since`` bytes; empty when there are none."""
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(since, log.stat().st_size - most_bytes))
        text = file.read().decode("utf-8", errors="replace")
    return "\n".join(text.splitlines()[-lines:])
