"""Clouds that share a PostgreSQL are killed, frozen and cut off, and so is PostgreSQL, while edges tell, answer, replay and are expelled.

Nothing that was acknowledged may be lost, applied twice, or taken again; what was withdrawn and an edge that was expelled are matched
nowhere; each question ends with an answer or with a reason. ``python -m tests.faults.replicas 200`` is a long run, of 200 blows.
``--without fence`` (several writers at once), ``--without nonces`` (each cloud remembers its own) and ``--without withdrawals`` (the
indexes drop nothing) are null controls, which must find something.
"""

import argparse
import asyncio
import contextlib
import dataclasses
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import psycopg

from cloud_server.answering.coordinator import Models
from cloud_server.api.app import create_app
from cloud_server.build import build_cloud
from cloud_server.settings import CloudSettings
from shared.http.open_mode import CALLER
from shared.models.fake import HashEmbedder, ScriptedGenerator, WordTokenizer
from tests.faults.light_edges import AWAY, PAUSE_S, LightEdge
from tests.faults.report import campaign, tell
from tests.support.postgres import Postgres
from tests.support.synced import free_port
from tests.support.waiting import HANGS_S

NAMES = ("a", "b", "c")
QUESTION_S = 20.0
BLOWS = ("kill", "kill", "freeze", "cut", "postgres")


# ------------------------------------------------------------ a cloud, in a process of its own


def serve(name, port, url, folder, without):
    """Until killed."""
    import uvicorn  # a child's alone

    if without == "fence":
        from cloud_server.database.postgres import PostgresDatabase

        PostgresDatabase.write = PostgresDatabase.join
    if without == "nonces":
        from cloud_server.registry import nonces

        own = nonces.NonceStore(folder / f"nonces-{name}.db")
        nonces.SharedNonces.remember = lambda self, *known, **times: own.remember(*known, **times)
    if without == "withdrawals":
        from cloud_server.routing import renewal

        read = renewal.News.read
        renewal.News.read = lambda self: (dataclasses.replace(one, gone=()) for one in read(self))
    settings = CloudSettings(
        state_dir=folder,
        database_url=url,
        replica=name,
        match_threshold=-1.0,
        evidence_threshold=-1.0,
        verify=False,
        deadline_s=3,
        requests_per_minute=1_000_000,
        connections_per_address=0,
    )
    models = Models(HashEmbedder(), ScriptedGenerator(lambda _: "It is kept in the cellar [1]."), WordTokenizer())
    uvicorn.run(create_app(build_cloud(settings, models)), log_level="warning", host="127.0.0.1", port=port, timeout_graceful_shutdown=1)


class Replica:
    """One of the clouds."""

    def __init__(self, name, port, url, folder, without):
        self.name, self.url = name, f"http://127.0.0.1:{port}"
        self._command = [sys.executable, "-m", "tests.faults.replicas", "--serve", name, str(port), url, str(folder), "--without", without]
        self._log = (folder / f"{name}.log").open("ab")
        self.process = None

    async def start(self):
        """Return when it is ready, however busy the machine is."""
        self.process = await asyncio.to_thread(subprocess.Popen, self._command, stdout=self._log, stderr=self._log)
        async with httpx2.AsyncClient(base_url=self.url, headers=CALLER, trust_env=False) as http:
            while self.process.poll() is None:
                with contextlib.suppress(*AWAY):
                    if (await http.get("/ready")).is_success:
                        return
                await asyncio.sleep(PAUSE_S)
        raise RuntimeError(f"cloud {self.name} ended with {self.process.returncode}: {self.told()[-2000:]}")

    def told(self):
        """All of its log."""
        return Path(self._log.name).read_text(errors="replace")

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def freeze(self, *, on):
        os.kill(self.process.pid, signal.SIGSTOP if on else signal.SIGCONT)


# ------------------------------------------------------------ the campaign


class Campaign:
    """Runs until so many blows have fallen; then everything heals, and is compared."""

    def __init__(self, report, folder, http, *, edges, seed, without):
        self.report, self.folder, self.http, self.rng = report, folder, http, random.Random(seed)
        self.server = Postgres()
        self.database = self.server.fresh()
        self.replicas = [
            Replica(name, port, self.database, folder, without) for name, port in zip(NAMES, [free_port() for _ in NAMES], strict=True)
        ]
        urls = [one.url for one in self.replicas]
        self.edges = [LightEdge(f"edge-{number}", urls, report, seed * 1000 + number, http) for number in range(edges)]
        self.ended = asyncio.Event()

    async def run(self, blows):
        try:
            for replica in self.replicas[:1]:
                await replica.start()  # the first makes the key that all use
            await asyncio.gather(*(replica.start() for replica in self.replicas[1:]))
            await asyncio.gather(*(edge.join() for edge in self.edges))
            await self._fight(blows)
            await self._compare()
        finally:
            for replica in self.replicas:
                replica.kill()
            self.server.close()

    async def _fight(self, blows):
        work = [self._live(edge) for edge in self.edges] + [self._hold(edge) for edge in self.edges]
        work += [self._ask(), self._ask(), self._replay(), self._expel()]
        async with asyncio.TaskGroup() as tasks:
            for one in work:
                tasks.create_task(one)
            try:
                for _ in range(blows):
                    await self._blow()
            finally:
                self.ended.set()

    async def _blow(self):
        """One thing breaks, for a moment."""
        kind, replica = self.rng.choice(BLOWS), self.rng.choice(self.replicas)
        self.report.count(kind)
        if kind == "kill":
            replica.kill()
            await replica.start()
        elif kind == "freeze":
            replica.freeze(on=True)
            await asyncio.sleep(self.rng.uniform(0.5, 2.0))
            replica.freeze(on=False)
        elif kind == "cut":
            await asyncio.to_thread(self._cut)
        else:
            await asyncio.to_thread(self.server.kill)
            await asyncio.to_thread(self.server.start)
        await asyncio.sleep(self.rng.uniform(0.2, 1.0))

    def _cut(self):
        """All lines between clouds and PostgreSQL break."""
        with psycopg.connect(self.server.url(), autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname IS NOT NULL"
            )

    # ------------------------------------------------------------ what goes on meanwhile

    async def _live(self, edge):
        while not self.ended.is_set():
            if edge.life.ended:
                await asyncio.sleep(PAUSE_S)
                continue
            await edge.sync()
            if edge.rng.random() < 0.2:
                await edge.greet()
            await asyncio.sleep(edge.rng.uniform(0, 0.3))

    async def _hold(self, edge):
        while not self.ended.is_set():
            await edge.poll()

    async def _operator(self, method, path, body=None, *, again=()):
        """A request of an operator, at another cloud where one is away; ``again``: answers where the first one may have been lost."""
        async with asyncio.timeout(HANGS_S):
            tries = 0
            while True:
                url, tries = self.rng.choice(self.replicas).url, tries + 1
                try:
                    response = await self.http.request(method, url + path, json=body, headers=CALLER, timeout=QUESTION_S)
                except AWAY:
                    await asyncio.sleep(PAUSE_S)
                    continue
                if response.is_success or (tries > 1 and response.status_code in again):
                    return response
                if response.status_code != 503:
                    self.report.fault("operator", f"{method} {path}: {response.status_code} {response.text[:300]}")
                    return response
                await asyncio.sleep(PAUSE_S)

    async def _ask(self):
        while not self.ended.is_set():
            edge = self.rng.choice(self.edges)
            question = f"What does {edge.name} keep?"
            try:
                response = await self._operator("POST", "/v1/questions", {"question": question})
            except TimeoutError:
                self.report.fault("unanswered", question)
                continue
            if not response.is_success:
                continue
            said = response.json()
            self.report.count("questions")
            self.report.count("answered" if said["answered"] else "not answered")
            if not said["answered"] and not said["reason"]:
                self.report.fault("unexplained", question)
            await asyncio.sleep(0.05)

    async def _replay(self):
        """Send again what was taken, as it was on the wire, to each cloud."""
        while not self.ended.is_set():
            await asyncio.sleep(0.1)
            edge = self.rng.choice(self.edges)
            if not edge.taken:
                continue
            method, path, headers, content = self.rng.choice(edge.taken)
            for replica in self.replicas:
                sent = {name: value for name, value in headers.items() if name not in ("host", "connection")}
                with contextlib.suppress(*AWAY):
                    response = await self.http.request(method, replica.url + path, headers=sent, content=content, timeout=3.0)
                    self.report.count("replays")
                    if response.is_success:
                        self.report.fault("replayed", f"{method} {path} at {replica.name}")

    async def _expel(self):
        """Shut edges out and let them in again, by an invitation."""
        while not self.ended.is_set():
            await asyncio.sleep(1.0)
            edge = self.rng.choice(self.edges)
            edge.life.ended = True
            await self._operator("DELETE", edge.base, again=(403,))
            for replica in self.replicas:
                await self._barred(edge, replica)
            await self._operator("POST", f"{edge.base}/readmit", again=(404,))
            invited = await self._operator("POST", "/v1/invites", {"edge": edge.name})
            await edge.join(invited.json()["token"])
            self.report.count("expelled")
            await self._used(edge, invited.json()["token"])

    async def _barred(self, edge, replica):
        """After its receipt an expelled edge is taken nowhere, and found nowhere."""
        with contextlib.suppress(*AWAY):
            response = await edge.call("GET", edge.base, timeout_s=3.0, urls=[replica.url])
            if response.is_success:
                self.report.fault("expelled", f"{edge.name} at {replica.name}")
        with contextlib.suppress(*AWAY):
            found = await self._matched(replica, f"What does {edge.name} keep?", timeout_s=5.0)
            if found.is_success and any(one["edge"] == edge.name for one in found.json()["matches"]):
                self.report.fault("receipt", f"{edge.name} is still matched at {replica.name}")

    async def _used(self, edge, invitation):
        """What let one in lets nobody else in."""
        for replica in self.replicas:
            with contextlib.suppress(*AWAY):
                response = await edge.intrude(invitation, replica.url)
                self.report.count("invitations tried again")
                if response.is_success:
                    self.report.fault("invited", f"somebody else as {edge.name} at {replica.name}")

    async def _matched(self, replica, question, *, timeout_s):
        body = {"question": question, "m": 50}
        return await self.http.post(f"{replica.url}/v1/match", json=body, headers=CALLER, timeout=timeout_s)

    # ------------------------------------------------------------ afterwards

    async def _compare(self):
        """The store has what was acknowledged, once; every cloud finds it, and nothing that was withdrawn."""
        with psycopg.connect(self.database, options="-c search_path=dgrag") as connection:
            twice = connection.execute("SELECT edge, epoch, version, count(*) FROM syncs GROUP BY 1, 2, 3 HAVING count(*) > 1").fetchall()
            for row in twice:
                self.report.fault("twice", row)
            for edge in self.edges:
                rows = connection.execute("SELECT summary_id, text FROM summaries WHERE edge = %s", (edge.name,)).fetchall()
                held = edge.life.held
                if dict(rows) != held:
                    self.report.fault("store", f"{edge.name}: {len(rows)} of {len(held)}, {set(dict(rows)) ^ set(held)}")
        for replica in self.replicas:
            for edge in self.edges:
                await self._find(edge, replica)
                await self._withdrawn(edge, replica)

    async def _find(self, edge, replica):
        """Wait until one cloud finds what an edge has told last."""
        held = edge.life.held
        wanted = sorted(held)[-1] if held else None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(HANGS_S):
                while wanted is not None:
                    reply = await self._matched(replica, held[wanted], timeout_s=10.0)
                    if reply.is_success and wanted in {one["summary_id"] for one in reply.json()["matches"]}:
                        return
                    await asyncio.sleep(PAUSE_S)
        if wanted is not None:
            self.report.fault("index", f"{replica.name} does not find {wanted} of {edge.name}")

    async def _withdrawn(self, edge, replica):
        """What an edge withdrew last is matched by no cloud that finds what it has told last."""
        for summary_id, text in list(edge.life.gone.items())[-3:]:
            reply = await self._matched(replica, text, timeout_s=10.0)
            self.report.count("withdrawn texts asked for")
            if reply.is_success and summary_id in {one["summary_id"] for one in reply.json()["matches"]}:
                self.report.fault("withdrawn", f"{summary_id} of {edge.name} is still matched at {replica.name}")


async def run(report, folder, chosen):
    """The campaign that the command line asks for."""
    async with httpx2.AsyncClient(trust_env=False, limits=httpx2.Limits(max_connections=None)) as http:
        one = Campaign(report, folder, http, edges=chosen.edges, seed=chosen.seed, without=chosen.without)
        await one.run(chosen.blows)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("blows", type=int, nargs="?", default=20)
    options.add_argument("--edges", type=int, default=20)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--without", default="nothing", choices=("nothing", "fence", "nonces", "withdrawals"))
    options.add_argument("--serve", nargs=4, metavar=("NAME", "PORT", "URL", "FOLDER"))
    chosen = options.parse_args()
    if chosen.serve:
        name, port, url, folder = chosen.serve
        serve(name, int(port), url, Path(folder), chosen.without)
        return
    with campaign() as (report, folder):
        asyncio.run(run(report, folder, chosen))
        for name in NAMES:
            log = (folder / f"{name}.log").read_text(errors="replace")
            if "Traceback" in log:
                report.fault("traceback", log[log.index("Traceback") :][:1500])
    tell(report)


if __name__ == "__main__":
    main()
