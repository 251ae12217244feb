"""A folder is edited, files are renamed and deleted, and syncs and the edge are killed: then the edge equals the folder.

``python -m tests.faults.folders 1000`` is the long run. ``--without deletions`` is the null control, which must be seen to fail.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from edge_node.records import document_id
from tests.support.synced import EdgeProcess, sync_process, synced
from tests.support.waiting import eventually

LONGEST_S = 0.3  # from the first document of a sync to the kill
WORDS = ["pump", "ward", "valve", "nurse", "alarm", "lot", "recall", "night", "failure", "filter"]


def edited(root, rng):
    """One random edit: mostly a new or a changed file, sometimes a rename, a deletion, or a folder that moves."""
    files = sorted(path for path in root.rglob("*.txt"))
    kind = rng.choices(("write", "rename", "delete", "move"), (5, 2, 2, 0.3))[0] if len(files) > 3 else "write"
    place = root / rng.choice(("", "a", "b", "a/c")) / f"{rng.randrange(60)}.txt"
    place.parent.mkdir(parents=True, exist_ok=True)
    if kind == "write":
        place.write_text(f"The {rng.choice(WORDS)} of {rng.randrange(10**6)} had a {rng.choice(WORDS)}.")
    elif kind == "rename":
        rng.choice(files).replace(place)
    elif kind == "delete":
        rng.choice(files).unlink()
    elif (root / "a").is_dir() and not (new := root / f"a{rng.randrange(10)}").exists():
        (root / "a").rename(new)


def wanted(root):
    """What the edge is to hold."""
    named = {path.relative_to(root).as_posix(): path for path in root.rglob("*.txt")}
    return {name: document_id(name, path.read_bytes()) for name, path in named.items()}


def wait_for_work(child, edge):
    """Until a sync has changed something, or has ended: a kill in its imports would prove nothing."""
    before = edge.held()
    assert eventually(lambda: child.poll() is not None or edge.held() != before)


def campaign(home, edits, *, seed=7, options=(), tell=lambda line: None):
    """Edit, and sync with kills in between; returns how often who was killed, and how the edge differs at the end."""
    rng, root, edge = random.Random(seed), home / "docs", EdgeProcess(home / "edge")
    root.mkdir(parents=True)
    kills, done = {"sync": 0, "edge": 0}, 0
    edge.start()
    try:
        while done < edits:
            for _ in range(min(rng.randrange(5, max(10, min(30, edits // 2))), edits - done)):
                edited(root, rng)
                done += 1
            child = sync_process(root, edge.url, home, "--no-wait", "--force", *options)
            whom = rng.choice(("sync", "edge", "nobody"))
            wait_for_work(child, edge)
            time.sleep(rng.random() * LONGEST_S)
            if whom == "sync":
                kills["sync"] += child.poll() is None
                child.kill()
            elif whom == "edge":
                kills["edge"] += child.poll() is None
                edge.kill()
            child.communicate()
            if whom == "edge":
                edge.start()
            tell(f"{done} edits, kills: {kills}")
        synced(root, edge.url, home, "--no-wait", "--force", *options)
        held, want = edge.held(), wanted(root)
        differ = {name for name in held.keys() | want.keys() if held.get(name) != want.get(name)}
        again = synced(root, edge.url, home, "--no-wait", *options)
        steps = sum(len(again[kind]) for kind in ("added", "changed", "adopted", "renamed", "relabelled", "deleted"))
        return kills, differ, steps
    finally:
        edge.close()


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("edits", type=int, nargs="?", default=1000)
    asked.add_argument("--without", choices=["deletions"])
    asked.add_argument("--seed", type=int, default=7)
    chosen = asked.parse_args()
    home = Path(tempfile.mkdtemp())
    options = ("--keep-deleted",) if chosen.without else ()
    kills, differ, steps = campaign(home, chosen.edits, seed=chosen.seed, options=options, tell=lambda line: sys.stdout.write(f"{line}\n"))
    shutil.rmtree(home)
    sys.stdout.write(f"{chosen.edits} edits, kills {kills}: {len(differ)} names differ, {steps} steps of a second run\n")
    raise SystemExit(bool(differ or steps))


if __name__ == "__main__":
    main()
