"""R2: the power fails at every system call of an edge's life. ``--unsynced`` is the null control: without fsync, losses must be seen."""

import argparse
import random
import shutil
from contextlib import nullcontext
from functools import partial

from tests.faults import on_disk, power_cut, unguarded, workload
from tests.faults.kills import acked, finish
from tests.faults.report import campaign, tell

FINISHED_SHARE = 0.04  # of the images that are opened: brought to an end by an edge, too


def images(trace, folder, seed):
    """Each image that a cut may leave: its name, the steps acknowledged by then, and how to write it to a folder."""
    seen = set()
    for number, disk in enumerate(power_cut.disks(trace, folder)):
        done = acked(disk.said.split("\n")[:-1])
        yield f"torn {number}", done, partial(disk.write_to, keeps=power_cut.torn(seed + number))
        state = (disk.syncs, tuple(disk.files), done)
        if state not in seen:  # between two syncs, nothing that lasts has changed
            seen.add(state)
            yield f"lost {number}", done, partial(disk.write_to, keeps=power_cut.lost)


def judge(report, folder, done, where):
    """Open an image with the product, and compare it with what was acknowledged."""
    report.points += 1
    if trouble := on_disk.opens(folder):
        report.fault("unreadable", f"{where}: {trouble}")
        return
    for kind, what in on_disk.wrong(folder, done, at_rest=False):
        report.fault(kind, f"{where}: {what}")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--share", type=float, default=1.0, help="of the torn images, drawn with the seed; all that lost all are kept")
    options.add_argument("--unsynced", action="store_true")
    options.add_argument("--until", nargs="*", default=[], help="stop when a fault of each of these kinds was found")
    chosen = options.parse_args()
    workload.preload()
    rng = random.Random(chosen.seed)
    with campaign() as (report, top):
        with unguarded.unsynced() if chosen.unsynced else nullcontext():
            said = power_cut.record(partial(workload.live, top / "edge"), top / "trace")
        normal = on_disk.fingerprint(top / "edge", said)
        for name, done, write in images(top / "trace", top / "edge", chosen.seed):
            if name.startswith("torn") and rng.random() >= chosen.share:
                continue
            where = f"{name}, after {done} acknowledgements"
            write(top / "image")
            judge(report, top / "image", done, where)
            if not chosen.unsynced and rng.random() < FINISHED_SHARE:
                report.count("brought to an end")
                finish(report, top / "image", done, normal, where)
            shutil.rmtree(top / "image")
            if chosen.until and report.found.keys() >= set(chosen.until):
                break
    tell(report)


if __name__ == "__main__":
    main()
