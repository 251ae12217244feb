"""R9: from the nth write on, each one fails (disk full, or an input/output error) until the fault is taken away; or the disk has 16 MB.

Nobody restarts the edge: it must refuse, go on reading, and go on writing once it can. A third of the edges are killed
while their disk is still at fault.
"""

import argparse
import logging
import os
import random
import shutil
import signal
import subprocess
from contextlib import contextmanager, suppress
from functools import partial

from tests.faults import on_disk, workload
from tests.faults.forks import Child, Strace
from tests.faults.kills import LAST, acked, finish, heed, normal_life
from tests.faults.report import campaign, tell
from tests.faults.steps import STEPS
from tests.support.waiting import HANGS_S

FULL, FAILED = "507 disk_full", "503 disk_failed"
FAULTS = {  # what fails -> what a client may be told
    "inject=pwrite64:error=ENOSPC": {FULL},
    "inject=pwrite64:error=EIO": {FAILED, FULL},  # SQLite has one code for any failure to enlarge the WAL's shared memory
    "inject=fdatasync:error=EIO": {FAILED},
}
MET = "met"  # what a life says whose background work has met the fault, and will try again
KILLED_SHARE = 1 / 3
DISK = "16m"  # a store of some MB, its log of commits (4 MB and what a reader holds back) and a backup


def pausing_life(folder, say):
    """A life that stops itself (SIGSTOP) once it is at rest, so that the fault starts there."""

    def told(line):
        say(line)
        if line == "rest":
            os.kill(os.getpid(), signal.SIGSTOP)

    class Trouble(logging.Handler):
        def emit(self, record):
            say(MET)

    logging.getLogger("dgrag.edge.ingest").addHandler(Trouble(logging.WARNING))
    workload.live(folder, told, do=workload.reading)


def started(folder):
    """An edge at rest, stopped."""
    child = Child(partial(pausing_life, folder))
    child.go()
    while child.line(limit_s=120) != "rest":
        pass
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)  # a SIGCONT before its SIGSTOP would leave it stopped for good
    return child


def until_met(child):
    """What it says until its client is refused something, or waits for background work that has met the fault, or it has ended."""
    said = []
    while (line := child.line(limit_s=HANGS_S)) is not None:
        said.append(line)
        if line.startswith("refused") or (line == MET and any(step.do == "settled" for step in STEPS[acked(said) :][:1])):
            break
    return said


def judge(report, folder, child, said, expected, where):
    """The fault is gone: the edge must end as if it had never been."""
    try:
        said.extend(child.lines(limit_s=120))  # what failed last may wait for half a minute
    except TimeoutError:
        child.kill()
    status = child.status()
    done = acked(said)
    refusals = {line.split(" ", 2)[2] for line in said if line.startswith("refused")}
    report.count("refusals", sum(line.startswith("refused") for line in said))
    for answer in sorted(refusals - expected):
        report.fault("wrong answer", f"{where}: {answer}")
    for line in sorted({line for line in said if line.startswith("unread")}):
        report.fault("unread", f"{where}: {line}")
    heed(report, said, set(), where)
    if status == 0:
        report.count("went on without a restart")
    elif status != -signal.SIGKILL:
        report.fault("crashed", f"{where}: ended with {status}")
    elif done < LAST:
        report.fault("stuck", f"{where}, after {done} acknowledgements")
    return done


def examine(report, folder, done, normal, where):
    """What is on the disk, before and after an edge that starts again has done the rest."""
    for kind, what in on_disk.wrong(folder, done, at_rest=False):
        report.fault(kind, f"{where}: {what}")
    finish(report, folder, done, normal.fingerprint, where)


def injected(rng, report, folder, normal):
    """One point: a fault at the nth write (or sync) after the edge is at rest."""
    fault, expected = rng.choice(list(FAULTS.items()))
    calls = normal.writes if "pwrite64" in fault else normal.writes // 8
    nth = 1 + int(rng.random() ** 2 * calls * 0.9)  # more of the early ones: they meet clients, the later ones the background work
    where = f"{fault}:when={nth}+"
    child = started(folder)
    strace = Strace(child, "-e", "trace=" + fault.split("=")[1].split(":")[0], "-e", where)
    os.kill(child.pid, signal.SIGCONT)
    said = until_met(child)
    if rng.random() < KILLED_SHARE:
        child.kill()
        with suppress(TimeoutError):
            said.extend(child.lines(limit_s=5))
        child.status()
        report.count("killed at fault")
        done = acked(said)
    else:
        strace.detach()
        done = judge(report, folder, child, said, expected, where)
    examine(report, folder, done, normal, where)


@contextmanager
def small_disk(folder):
    """A file system of 16 MB; only root may have one. Raises PermissionError."""
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", folder], check=False, capture_output=True, text=True)
    if mounted.returncode:
        raise PermissionError(mounted.stderr)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)
        folder.rmdir()


def crowded(rng, report, folder, normal):
    """One point on a small disk: something else takes nearly all of its room, and gives it back later."""
    with small_disk(folder) as disk:
        child = started(disk / "edge")
        free = shutil.disk_usage(disk).free
        left = int(rng.random() * 1_200_000)
        (disk / "ballast").write_bytes(bytes(max(0, free - left)))
        os.kill(child.pid, signal.SIGCONT)
        said = until_met(child)
        (disk / "ballast").unlink()
        where = f"{left} bytes left"
        done = judge(report, disk / "edge", child, said, {FULL}, where)
        examine(report, disk / "edge", done, normal, where)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("points", type=int)
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--small-disk", action="store_true")
    chosen = options.parse_args()
    workload.preload()
    rng, point = random.Random(chosen.seed), crowded if chosen.small_disk else injected
    with campaign() as (report, top):
        normal = normal_life(top)
        for _ in range(chosen.points):
            point(rng, report, top / "disk", normal)
            report.points += 1
            shutil.rmtree(top / "disk", ignore_errors=True)
    tell(report)


if __name__ == "__main__":
    main()
