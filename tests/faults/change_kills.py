"""An edge is killed at any write or time while another embedding model takes over, often again: it must end as if nobody had.

``python -m tests.faults.change_kills 200`` is the long run. ``--without`` is the null control: a change that commits the new model's name
before the vectors must be seen to lose something.
"""

import argparse
import asyncio
import random
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from edge_node import change
from edge_node.maintenance import EMBEDDER
from shared.models.fake import HashEmbedder
from tests.faults import workload
from tests.faults.forks import run
from tests.faults.kills import Normal, repeated, writes_of
from tests.faults.on_disk import DERIVED, digest, opened
from tests.faults.report import campaign, tell
from tests.support.running_edge import running_edge
from tests.support.settling import ALL_CHANNELS
from tests.support.waiting import until

TEXTS = {f"note {number}": f"Ward {number} uses the Halden pump. Corvid Medical made pump {number} in Bergen." for number in range(6)}
KNOBS = {"strategy": "dgrag", "retrieval": ALL_CHANNELS, "memory": "plain", "reports": "off", "min_free_bytes": 0}


def made(folder, say):
    """A store of the former model, at rest."""

    async def life():
        async with running_edge(folder, **KNOBS) as edge:
            for name, text in TEXTS.items():
                await edge.add(f"{name}.md", text)
            await edge.node.strategy.whole(lambda *_: None)
            say("made")

    asyncio.run(life())


def changed(folder, say):
    """Open the edge with the new model, wait until it has taken over, and close it."""

    async def life():
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        async with running_edge(folder, embedder=HashEmbedder(24), former=lambda *_: HashEmbedder(), **KNOBS) as edge:
            await until(lambda: edge.node.renewal is None and edge.node.status()["settled"])
            await edge.node.strategy.whole(lambda *_: None)
            say("changed")

    asyncio.run(life())


def careless(self, database):
    """The null control: the store is the new model's by name, with the former one's vectors."""
    with database.write() as tx:
        tx.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (EMBEDDER, self.embedder.fingerprint))


def left_in(folder):
    """What is derived in a store."""
    with opened(folder / "edge.db") as connection:
        return {name: digest(connection, sql) for name, sql in DERIVED.items()}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("points", type=int)
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--without", action="store_true")
    chosen = options.parse_args()
    workload.preload()
    rng = random.Random(chosen.seed)
    with campaign() as (report, top):
        assert run(partial(made, top / "former"))[1] == 0
        shutil.copytree(top / "former", top / "normal")
        started = time.perf_counter()
        assert run(partial(changed, top / "normal"))[1] == 0
        seconds = time.perf_counter() - started
        shutil.copytree(top / "former", top / "counted")
        normal = Normal(seconds, writes_of(partial(changed, top / "counted"), top / "trace"), left_in(top / "normal"))
        if chosen.without:
            change.EmbedderChange.take_over = careless
        while report.points < chosen.points and not (chosen.without and report.faults):
            shutil.rmtree(top / "killed", ignore_errors=True)
            shutil.copytree(top / "former", top / "killed")
            repeated(report, rng, normal, changed, left_in, top / "killed")
    tell(report)


if __name__ == "__main__":
    main()
