"""P1, R4: an edge or the cloud is killed while they speak.

What was on the wire must be in the ledger then, and the cloud must end with what the edge has. Both are real processes with real
sockets. ``python -m tests.faults.link_kills 200 100`` is the long run: 200 kills of an edge, 100 of the cloud. ``--late`` is P1's null
control: an edge that writes its ledger a body late, killed when it has acknowledged a question.
"""

import argparse
import asyncio
import contextlib
import random
import shutil
import socket
import sqlite3
import time
from collections import Counter
from functools import partial

import httpx2
import uvicorn

from cloud_server.answering.coordinator import Models
from cloud_server.api.app import create_app
from cloud_server.build import build_cloud
from cloud_server.settings import CloudSettings
from edge_node.cloud import link
from edge_node.database.schema import Database
from edge_node.egress.ledger import Ledger, ledger_of, read_entries, read_faults
from edge_node.graph.store import GraphStore
from shared.http.open_mode import CALLER
from shared.models.fake import HashEmbedder, ScriptedGenerator, WordTokenizer
from tests.faults import workload
from tests.faults.forks import Child, Strace
from tests.faults.report import campaign, tell
from tests.faults.steps import FIRST, SECOND, WARDS, Step
from tests.faults.witness import bodies_in, witness
from tests.support.running_edge import running_edge, scripted
from tests.support.waiting import eventually, until

QUESTION = "Which lot of the battery pack caused the failure of infusion pumps?"
ASK, SYNCED = Step("ask"), Step("synced")
STEPS = (
    FIRST["ward.md"], FIRST["plant.md"], SYNCED, ASK, FIRST["bank.md"], Step("accept", "plant.md", SECOND), ASK, SYNCED,
    Step("remove", "bank.md", WARDS["bank.md"]), ASK, SYNCED,
)  # fmt: skip
ALL = len(STEPS)
ASKED = STEPS.index(ASK)  # all before it is in sync, so the question is the last body that leaves
CALLS = {"sendto": 90, "pwrite64": 350}  # what an edge is killed at, and how many of them its busiest thread makes
ROUNDS = 2  # deltas that an edge needs after its restart, at most


def cloud(folder, port, say):
    """Serve until killed."""
    settings = CloudSettings(
        state_dir=folder, match_threshold=1.0, evidence_threshold=-1.0, verify=False, deadline_s=1, requests_per_minute=1_000_000
    )  # no summary is so near: the asking edge alone is asked
    built = build_cloud(settings, Models(HashEmbedder(), ScriptedGenerator(lambda _: "It was lot L-7713 [1]."), WordTokenizer()))
    server = uvicorn.Server(uvicorn.Config(create_app(built), log_level="critical", port=port))

    async def serve():
        serving = asyncio.create_task(server.serve())
        await until(lambda: server.started)
        say("serving")
        await serving

    asyncio.run(serve())


def edge(folder, port, say, *, first=0, held_after=None):
    """Do the steps from ``first`` on, be in sync, and stop; or wait for the end after a step."""

    async def life():
        async with (
            httpx2.AsyncClient(headers=CALLER, base_url=f"http://127.0.0.1:{port}", trust_env=False) as line,
            running_edge(
                folder, id=folder.name, strategy="dgrag", generator=scripted("I do not know."), cloud=line, min_free_bytes=0
            ) as running,
        ):
            for number, step in enumerate(STEPS[first:], first):
                await do(running, step)
                say(f"ack {number}")
                if number == held_after:
                    await asyncio.Event().wait()
            await synced(running)

    asyncio.run(life())


def late_edge(folder, port, say, **options):
    """The null control: each record is written with the next one, and the last when the edge stops."""
    record, close, late = Ledger.record, Database.close, []

    def note(ledger, departure):
        late.append((ledger, departure))
        if len(late) > 1:
            record(*late.pop(0))

    def stop(database):
        while late:
            record(*late.pop(0))
        close(database)

    Ledger.record, Database.close = note, stop
    edge(folder, port, say, **options)


async def do(running, step):
    match step.do:
        case "ask":
            await running.ask(QUESTION, mode="cloud")
        case "synced":
            await synced(running)
        case _:
            await workload.persist(running, step, 0, lambda _: None)


async def synced(running):
    await running.settled()
    await until(lambda: running.node.link.in_sync)


class Site:
    """The processes of a campaign: the cloud, what stands before it, and one edge after the other."""

    def __init__(self, top, live):
        self.top = top
        self.live = live
        self.wire = top / "wire"
        self.wire.mkdir()
        self.port, self._cloud_port = free_port(), free_port()
        self.cloud = self.serving(cloud, top / "cloud", self._cloud_port)
        self._witness = self.serving(witness, self.wire, self.port, self._cloud_port)

    def serving(self, work, *arguments):
        child = Child(partial(work, *arguments))
        child.go()
        assert child.line(limit_s=120) == "serving"
        return child

    def kill_cloud(self):
        kill(self.cloud)
        self.cloud = self.serving(cloud, self.top / "cloud", self._cloud_port)

    def close(self):
        kill(self.cloud)
        kill(self._witness)

    def edge(self, folder, **options):
        return Child(partial(self.live, folder, self.port, **options))

    def seen(self):
        """(path, size, digest) of the bodies that edges have sent since the last time."""
        assert eventually(lambda: not list(self.wire.glob("*.open")))
        found = []
        for path in self.wire.glob("*.done"):
            found += bodies_in(path.read_bytes())
            path.unlink()
        return found

    def of_cloud(self, edge):
        """Summaries, epoch and version that the cloud knows."""
        with contextlib.closing(sqlite3.connect(self.top / "cloud" / "cloud.db")) as connection:
            texts = dict(connection.execute("SELECT summary_id, text FROM summaries WHERE edge = ?", (edge,)))
            return texts, *connection.execute("SELECT epoch, version FROM edges WHERE edge = ?", (edge,)).fetchone()


def of_edge(folder):
    """The same of an edge's store."""
    with contextlib.closing(Database(folder / "edge.db")) as database:
        graph = GraphStore(database)
        return {one.summary_id: one.text for one in graph.summaries()}, graph.epoch(), graph.version()


def kill(child):
    child.kill()
    child.status()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


def killed_at_random(site, folder, rng, seconds):
    """An edge that lives until a drawn system call or a drawn moment of a life of ``seconds``."""
    child = site.edge(folder)
    limit_s = 60.0
    if rng.random() < 0.5:
        call = rng.choice(sorted(CALLS))
        Strace(child, "-e", f"trace={call}", "-e", f"inject={call}:signal=SIGKILL:when={rng.randint(1, CALLS[call])}")
    else:
        limit_s = rng.random() * seconds
    child.go()
    try:
        list(child.lines(limit_s=limit_s))
    except TimeoutError:
        child.kill()
    return child


def killed_after_question(site, folder, *_):
    """An edge that lives until it has acknowledged a question: what it sent the cloud has left by then."""
    child = site.edge(folder, held_after=ASKED)
    child.go()
    assert f"ack {ASKED}" in child.lines(limit_s=60)
    child.kill()
    return child


def edge_trial(site, folder, rng, report, seconds, *, killed=killed_at_random):
    """Kill an edge, let it come back and be in sync. Returns False where its life was over before the kill."""
    child = killed(site, folder, rng, seconds)
    if child.status() != -9:
        site.seen()
        return False
    before = site.seen()
    report.count("bodies before the kill", len(before))
    live_through(site, folder, report, first=ALL)
    after = site.seen()
    judge(site, folder, before + after, report)
    rounds = sum(path.endswith("/summaries") for path, _, _ in after)
    if rounds > ROUNDS:
        report.fault("rounds", f"{folder.name}: {rounds} deltas until the cloud had all")
    return True


def cloud_trial(site, folder, rng, report, seconds):
    """Kill the cloud while an edge lives, and let both end their work."""
    child = site.edge(folder)
    child.go()
    with contextlib.suppress(TimeoutError):
        list(child.lines(limit_s=rng.random() * seconds))
    site.kill_cloud()
    list(child.lines(limit_s=60))
    if child.status() != 0:
        report.fault("stuck", f"{folder.name} did not outlive a restart of the cloud")
    judge(site, folder, site.seen(), report)
    return True


def live_through(site, folder, report, *, first=0):
    """A life that nobody ends early; returns how long it took."""
    started = time.perf_counter()
    child = site.edge(folder, first=first)
    child.go()
    try:
        list(child.lines(limit_s=60))
    except TimeoutError:
        child.kill()
    if (status := child.status()) != 0:
        report.fault("stuck", f"{folder.name} ended with {status}")
    return time.perf_counter() - started


def judge(site, folder, seen, report):
    """Whether the ledger has what was seen on the wire, and the cloud what the edge has."""
    report.count("bodies", len(seen))
    with ledger_of(folder / "edge.db") as ledger:
        recorded = Counter((entry.bytes, entry.sha256) for entry in read_entries(ledger))
        for fault in read_faults(ledger):
            report.fault("ledger", f"{folder.name}: {fault}")
    for (size, _), times in (Counter((size, digest) for _, size, digest in seen) - recorded).items():
        report.fault("unrecorded", f"{folder.name}: {size} bytes, {times} times")
    here, there = of_edge(folder), site.of_cloud(folder.name)
    if here != there:
        report.fault("different", f"{folder.name}: the edge has {here}, the cloud {there}")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("edges", type=int)
    options.add_argument("clouds", type=int)
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--late", action="store_true")
    chosen = options.parse_args()
    workload.preload()
    link.BACKOFF_S = (0.02, 0.1)
    rng, lives = random.Random(chosen.seed), 0
    with campaign() as (report, top), contextlib.closing(Site(top, late_edge if chosen.late else edge)) as site:
        seconds = live_through(site, top / "normal", report)
        judge(site, top / "normal", site.seen(), report)
        edge_trials = partial(edge_trial, killed=killed_after_question) if chosen.late else edge_trial
        for trial, points in ((edge_trials, chosen.edges), (cloud_trial, chosen.clouds)):
            done = 0
            while done < points:
                lives += 1
                folder = top / f"edge-{lives}"
                done += trial(site, folder, rng, report, seconds)
                shutil.rmtree(folder)
            report.points += done
        report.count("lives", lives)
    tell(report)


if __name__ == "__main__":
    main()
