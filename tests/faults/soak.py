"""R14: thousands of mixed requests to an edge and a cloud; nothing in the process may grow with them.

``python -m tests.faults.soak 100000`` is the long run; ``--leak 1024`` adds the null control: so many bytes are kept of each of further
requests.
Edge and cloud share the process; the line between them is a real socket, signed. All texts come from small sets: what is learnt of
them is learnt in the warm-up.
"""

import argparse
import asyncio
import ctypes
import gc
import logging
import os
import random
import statistics
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import httpx2
import numpy as np

from edge_node.documents.worker import THREADS
from shared import sqlite
from shared.http.open_mode import CALLER
from shared.sqlite import connect
from tests.faults.report import campaign, tell
from tests.faults.steps import SECOND, WARDS
from tests.support.cloud_socket import cloud_on_a_socket
from tests.support.running_edge import running_edge, scripted
from tests.support.waiting import until

LIBC, M_ARENA_MAX = ctypes.CDLL(None), -8
ROUND = 100  # requests between two looks
AT_ONCE = 4
POOL = 2  # threads of the loop
WARM_UP = 0.6  # share of the looks
LEAKING = 1_000  # requests of the null control
Z = 1.645  # of the upper 95 % bound of a slope
QUESTIONS = [f"Which {what} did {who} report?" for what in ("lot", "pump", "failure") for who in ("Juniper Ward", "the depot", "Anna Holm")]
TEXTS = {**WARDS, "second.md": SECOND}
BAD = (
    ("POST", "/v1/query", {"content": b"{"}),
    ("POST", "/v1/query", {"json": {"question": ""}}),
    ("POST", "/v1/query", {"json": {"question": "Which lot?", "mode": "sideways"}}),
    ("POST", "/v1/documents", {"json": {"name": "", "text": "x"}}),
    ("GET", "/v1/documents/none", {}),
    ("GET", "/v1/nowhere", {}),
    ("GET", "/v1/status", {"headers": {"authorization": "Bearer dgk_0123456789ab_wrong"}}),
    ("DELETE", "/v1/documents/none", {}),
)
READS = ("/v1/status", "/v1/policy", "/v1/audit?limit=5", "/v1/documents?limit=5", "/ready", "/health")
TO_CLOUD = (
    ("GET", "/v1/edges", {}),
    ("POST", "/v1/match", {"json": {"question": "Which lot?"}}),
    ("POST", "/v1/questions", {"json": {"question": "Which lot did Juniper Ward report?"}}),
    ("GET", "/v1/edges/ward?wire_version=6", {}),
    ("PUT", "/v1/edges/ward/summaries", {"json": {}}),
    ("POST", "/v1/edges", {"content": b"[" * 500}),
)


@dataclass(frozen=True, slots=True)
class Look:
    """At rest, after so many requests."""

    requests: int
    resident_kb: float
    files: int
    tasks: int
    threads: int
    wal_bytes: int


def look(requests, folder):
    gc.collect()
    LIBC.malloc_trim(0)  # what the allocator keeps of freed memory is megabytes more or less, and no leak
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Look(
        requests,
        pages * os.sysconf("SC_PAGE_SIZE") / 1024,
        sum(1 for _ in Path("/proc/self/fd").iterdir()),
        len(asyncio.all_tasks()),
        threading.active_count(),
        sum(path.stat().st_size for path in folder.rglob("*-wal")),
    )


def slope(x, y):
    """Of the least-squares line, and the upper 95 % bound of it.

    >>> slope([0, 1, 2, 3], [1.0, 3.0, 5.0, 7.0])
    (2.0, 2.0)
    """
    x, y = np.array(x, dtype=float), np.array(y, dtype=float)
    away = x - x.mean()
    found = float(away @ y / (away @ away))
    left = y - y.mean() - found * away
    error = float(np.sqrt(left @ left / (len(x) - 2) / (away @ away)))
    return round(found, 6), round(found + Z * error, 6)


class Client:
    """Sends what a site's users and an operator of the cloud send, and much that is wrong."""

    def __init__(self, edge, cloud, rng):
        self.edge = edge
        self.cloud = cloud
        self.rng = rng
        self.bad, self.reads, self.to_cloud = cycle(BAD), cycle(READS), cycle(TO_CLOUD)
        self.kinds = {
            self.ask_locally: 30, self.ask_elsewhere: 10, self.retrieve: 20, self.read: 20, self.wrong: 12, self.try_policy: 2,
            self.add: 1, self.remove: 1, self.ask_cloud: 4,
        }  # fmt: skip
        self.sent = {}
        self.odd = []

    async def one(self):
        """One request of a random kind; a server's error is noted."""
        [kind] = self.rng.choices(list(self.kinds), list(self.kinds.values()))
        response = await kind()
        self.sent[kind.__name__] = self.sent.get(kind.__name__, 0) + 1
        if response.status_code >= 500:
            self.odd.append(f"{kind.__name__}: {response.status_code} {response.text[:200]}")

    async def ask_locally(self):
        return await self.edge.post("/v1/query", json={"question": self.rng.choice(QUESTIONS), "mode": "local"})

    async def ask_elsewhere(self):
        return await self.edge.post("/v1/query", json={"question": self.rng.choice(QUESTIONS), "mode": "cloud"})

    async def retrieve(self):
        return await self.edge.post("/v1/retrieve", json={"question": self.rng.choice(QUESTIONS)})

    async def read(self):
        return await self.edge.get(next(self.reads))

    async def wrong(self):
        method, path, what = next(self.bad)
        return await self.edge.request(method, path, **what)

    async def try_policy(self):
        return await self.edge.post("/v1/policy/try", json={"question": self.rng.choice(QUESTIONS), "requester": "bank"})

    async def add(self):
        name = self.rng.choice(sorted(TEXTS))
        return await self.edge.post("/v1/documents", json={"name": name, "text": TEXTS[name]})

    async def remove(self):
        listed = (await self.edge.get("/v1/documents")).json()["documents"]
        one = self.rng.choice([document["document_id"] for document in listed] or ["none"])
        return await self.edge.delete(f"/v1/documents/{one}")

    async def ask_cloud(self):
        method, path, what = next(self.to_cloud)
        return await self.cloud.request(method, path, **what)


async def all_begin(run, threads, database):
    """Start every thread of a pool and its connection, some 100 KB: one that is first needed late would look like growth."""
    meeting = threading.Barrier(threads)

    def begin():
        meeting.wait()
        database.row("SELECT 1")

    await asyncio.gather(*(run(begin) for _ in range(threads)))


async def soak(folder, requests, report, *, leak):
    """Send them; the figures go into the report."""
    kept, looks, leaking, generator = [], [], LEAKING if leak else 0, scripted("I do not know.")
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(POOL))
    async with (
        cloud_on_a_socket(folder / "cloud") as (cloud, url),
        httpx2.AsyncClient(headers=CALLER, base_url=url, trust_env=False, timeout=60) as operator,
        httpx2.AsyncClient(headers=CALLER, base_url=url, trust_env=False) as line,
        running_edge(
            folder / "ward", strategy="dgrag", generator=generator, cloud=line, requests_per_minute=1_000_000, questions_waiting=AT_ONCE
        ) as edge,
    ):
        await edge.add("ward.md", WARDS["ward.md"])
        await until(lambda: edge.node.link.in_sync)
        for database in (cloud.database, edge.node.documents.database):
            await all_begin(asyncio.to_thread, POOL, database)
        await all_begin(edge.node.background.run, THREADS, edge.node.documents.database)
        client = Client(edge.http, operator, random.Random(7))

        async def worker(size):
            for _ in range(ROUND // AT_ONCE):
                await client.one()
                if size:
                    kept.append(bytearray(size))

        for done in range(ROUND, requests + leaking + 1, ROUND):
            await asyncio.gather(*(worker(leak if done > requests else 0) for _ in range(AT_ONCE)))
            await edge.settled()
            generator.prompts.clear()
            cloud.models.generator.prompts.clear()
            looks.append(look(done, folder))
    rounds = requests // ROUND
    judge(looks[:rounds], client, report)
    if leak:
        report.figures["KB a request, leaking"], _ = growth(looks[rounds:])


def growth(looks):
    return slope([one.requests for one in looks], [one.resident_kb for one in looks])


def judge(looks, client, report):
    warm = looks[int(len(looks) * WARM_UP) :]
    report.points = looks[-1].requests
    grown, bound = growth(warm)
    report.figures |= {"sent": client.sent, "KB a request": grown, "KB a request, 95 % bound": bound}
    report.figures |= {"resident MB": [round(one.resident_kb / 1024, 1) for one in looks[:: max(1, len(looks) // 20)]]}
    quarter = max(1, len(warm) // 4)
    for name in ("files", "tasks", "threads"):
        values = [getattr(one, name) for one in warm]
        report.figures[name] = [statistics.median(values[:quarter]), statistics.median(values[-quarter:])]
    report.figures["WAL MB"] = round(max(one.wal_bytes for one in looks) / 2**20, 1)
    for what in client.odd:
        report.fault("server error", what)


def small_caches(path, *, page_size=4096):
    """SQLite keeps up to 2 MB of pages for each connection: it would fill them all the time that this takes."""
    connection = connect(path, page_size=page_size)
    connection.execute("PRAGMA cache_size=-100")
    return connection


def main():
    options = argparse.ArgumentParser()
    options.add_argument("requests", type=int)
    options.add_argument("--leak", type=int, default=0)
    chosen = options.parse_args()
    logging.disable()
    sqlite.connect = small_caches
    LIBC.mallopt(M_ARENA_MAX, 1)  # one for each thread would each have its own slack
    with campaign() as (report, top):
        asyncio.run(soak(top, chosen.requests, report, leak=chosen.leak))
    tell(report)


if __name__ == "__main__":
    main()
