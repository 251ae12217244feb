"""R1: an edge is killed at the nth write or at a random time, often again while it recovers, and must have lost nothing.

``python -m tests.faults.kills 3000`` is the long run. ``--without`` is the null control: lives in which one thing is missing
(``unguarded.LIVES``) must be seen to lose something.
"""

import argparse
import random
import shutil
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from tests.faults import on_disk, unguarded, workload
from tests.faults.forks import Child, Strace, run
from tests.faults.report import campaign, tell
from tests.faults.steps import STEPS
from tests.support.hash_model import asked

SECOND_SHARE = 0.5  # of the trials; some are over before the second kill comes
WRITES = "trace=pwrite64"
LAST = len(STEPS)


@dataclass(frozen=True, slots=True)
class Normal:
    """An uninterrupted life: how long, how many writes, and what it leaves."""

    seconds: float
    writes: int
    fingerprint: dict


def acked(lines):
    """How many steps were acknowledged.

    >>> acked(["open", "ack 0", "ack 1"])
    2
    """
    return max((int(line.split()[1]) + 1 for line in lines if line.startswith("ack ")), default=0)


def writes_of(work, trace):
    """How many writes the thread makes that makes most of them, in a life that nobody interrupts; ``trace``: a file for them."""
    child = Child(work)
    strace = Strace(child, "-e", WRITES, output=trace)
    child.go()
    list(child.lines(limit_s=180))
    strace.wait()
    assert child.status() == 0
    return max(Counter(line.split()[0] for line in trace.read_text().splitlines() if "pwrite64(" in line).values())


def normal_life(folder):
    """What a life is like that nobody interrupts."""
    writes = writes_of(partial(workload.live, folder / "counted"), folder / "trace")
    started = time.perf_counter()
    said, status = run(partial(workload.live, folder / "normal"))
    assert status == 0
    return Normal(time.perf_counter() - started, writes, on_disk.fingerprint(folder / "normal", said))


def repeated(report, rng, normal, work, left_in, folder):
    """Kill a life, some again while they recover; the same work, done once more, must leave what a normal life does. Counts its points."""
    _, was_killed = killed_life(partial(work, folder), rng, normal)
    report.points += was_killed
    if was_killed and rng.random() < SECOND_SHARE:
        killed_life(partial(work, folder), rng, normal)
    _, status = run(partial(work, folder))
    if status != 0:
        report.fault("stuck", f"point {report.points}: status {status}")
        return
    left = left_in(folder)
    for name, expected in normal.fingerprint.items():
        if left[name] != expected:
            report.fault("different", f"point {report.points}: {name}")


def killed_life(work, rng, normal, *, of_time=1.0, of_writes=1.0):
    """Do ``work`` until a random time or write, up to these shares of a normal life's; returns what it said, and whether it was killed."""
    child, said, share = Child(work), [], rng.random()
    if rng.random() < 0.5:
        Strace(child, "-e", WRITES, "-e", f"inject=pwrite64:signal=SIGKILL:when={1 + int(share * of_writes * normal.writes)}")
        limit_s = 180.0
    else:
        limit_s = share * of_time * normal.seconds
    child.go()
    try:
        said.extend(child.lines(limit_s=limit_s))
    except TimeoutError:
        child.kill()
        with suppress(TimeoutError):  # what it said before it died
            said.extend(child.lines(limit_s=5))
    return said, child.status() == -9


def trial(rng, normal, report, folder, live):
    """Kill, recover, finish; each fault goes into the report. Returns False where the life was over before the kill."""
    said, killed = killed_life(partial(live, folder), rng, normal)
    if not killed:
        return False
    done = acked(said)
    where = f"point {report.points}, after {done} acknowledgements"
    if rng.random() < SECOND_SHARE:
        paid = on_disk.kept(folder)
        said, again = killed_life(partial(live, folder, first=LAST), rng, normal, of_time=0.4, of_writes=0.03)
        report.count("second kills", again)
        heed(report, said, paid, where)
    paid = on_disk.kept(folder)
    said, status = run(partial(live, folder, first=LAST))
    heed(report, said, paid, where)
    if status != 0:
        report.fault("stuck", f"{where}: recovery ended with {status}")
        return True
    for kind, what in on_disk.wrong(folder, done):
        report.fault(kind, f"{where}: {what}")
    finish(report, folder, done, normal.fingerprint, where, live)
    return True


def heed(report, said, paid, where):
    """What a life said of itself: where its memory was unlike its store, and what it asked though the reply was ``paid`` before."""
    report.count("replies kept over a restart", len(paid))
    for line in said:
        if line.startswith("astray "):
            report.fault("astray", f"{where}: {line}")
    for prompt in sorted(paid & set(asked(said))):
        report.fault("paid twice", f"{where}: {prompt}")


def finish(report, folder, done, expected, where, live=workload.live):
    """Let an edge do the steps that are not acknowledged: it must end like one that nobody interrupted."""
    paid = on_disk.kept(folder)
    said, status = run(partial(live, folder, first=done))
    heed(report, said, paid, where)
    if status != 0:
        report.fault("stuck", f"{where}: finishing ended with {status}")
    elif (left := on_disk.fingerprint(folder, said)) != expected:
        parts = sorted(key for key in left | expected if left.get(key) != expected.get(key))
        report.fault("different", f"{where}: {', '.join(parts)}")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("points", type=int)
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--without", choices=unguarded.LIVES)
    options.add_argument("--until", help="stop at the first fault whose kind begins so: where inside a step a kill comes is chance")
    chosen = options.parse_args()
    workload.preload()
    rng, live = random.Random(chosen.seed), unguarded.LIVES.get(chosen.without, workload.live)
    with campaign() as (report, top):
        normal = normal_life(top)
        while report.points < chosen.points:
            report.points += trial(rng, normal, report, top / "edge", live)
            shutil.rmtree(top / "edge", ignore_errors=True)
            if chosen.until and any(kind.startswith(chosen.until) for kind in report.found):
                break
    tell(report)


if __name__ == "__main__":
    main()
