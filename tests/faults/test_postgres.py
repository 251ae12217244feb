"""PostgreSQL is killed, and its line cut around a commit: what was acknowledged is there, and what is repeated counts once."""

import asyncio
import contextlib
import os
import subprocess
from contextlib import closing
from functools import partial
from random import Random

import psycopg
import pytest

from cloud_server.database.opening import open_shared
from cloud_server.routing.summary_index import SummaryIndex
from shared.errors import StoreAway
from tests.support.cut_line import CutLine
from tests.support.running_cloud import running_cloud
from tests.support.signed import AsEdges, join
from tests.support.waiting import until

pytestmark = [pytest.mark.process, pytest.mark.campaign]
EDGES = ("bank", "mill", "ward")
KILLS = 4
BETWEEN = 6  # acknowledged deltas from one kill to the next


def delta(version, text="A pump."):
    upsert = {"summary_id": f"s{version}", "text": text, "entities": 1, "relations": 1}
    return {"epoch": "e1", "base_version": version - 1, "version": version, "upserts": [upsert], "removals": []}


class Edge:
    """Sends one delta after the other; each again and again until it is acknowledged."""

    def __init__(self, name, http, signature):
        self.name, self._http, self._signature = name, http, signature
        self.acknowledged, self.refused = 0, 0

    async def send(self, version, **more):
        return await self._http.put(f"/v1/edges/{self.name}/summaries", json=delta(version, **more), auth=self._signature)

    async def run(self, is_over):
        while not is_over():
            answer = await self.send(self.acknowledged + 1)
            if answer.status_code == 200:
                self.acknowledged += 1
            else:
                assert (answer.status_code, answer.json()["code"]) == (503, "store_away"), answer.text
                assert int(answer.headers["Retry-After"]) >= 1
                self.refused += 1


def faults(url, acknowledged):
    """What is wrong in the store: lost versions, and those that were applied twice."""
    with closing(open_shared(url)) as database:
        held = {row["edge"]: row["version"] for row in database.rows("SELECT edge, version FROM edges")}
        texts = {edge: {row[0] for row in database.rows("SELECT summary_id FROM summaries WHERE edge = ?", (edge,))} for edge in EDGES}
        twice = database.rows("SELECT edge, version FROM syncs GROUP BY edge, version HAVING count(*) > 1")
    lost = [(edge, n) for edge, last in acknowledged.items() for n in range(1, last + 1) if n > held[edge] or f"s{n}" not in texts[edge]]
    return [*lost, *map(tuple, twice)]


async def killed_again_and_again(folder, postgres, url):
    """Returns the faults that were found after each kill and at the end, and how many requests were told to come again."""
    found, over = [], False
    async with running_cloud(folder, database_url=url) as one:
        signed = AsEdges(one.cloud.credentials.identity.key_id)
        for edge in EDGES:
            await join(one.http, edge, signed.identity(edge))
        edges = [Edge(name, one.http, signed.of(name)) for name in EDGES]
        async with asyncio.TaskGroup() as group:
            for edge in edges:
                group.create_task(edge.run(lambda: over))
            for _ in range(KILLS):
                enough = sum(edge.acknowledged for edge in edges) + BETWEEN
                await until(lambda enough=enough: sum(edge.acknowledged for edge in edges) >= enough)
                await asyncio.to_thread(postgres.kill)
                acknowledged = {edge.name: edge.acknowledged for edge in edges}
                await asyncio.to_thread(postgres.start)
                found += await asyncio.to_thread(faults, url, acknowledged)
            over = True
        found += await asyncio.to_thread(faults, url, {edge.name: edge.acknowledged for edge in edges})
    return found, sum(edge.refused for edge in edges)


async def test_what_was_acknowledged_outlives_every_kill_of_postgresql(tmp_path, postgres):
    found, refused = await killed_again_and_again(tmp_path, postgres, postgres.fresh())
    assert found == []
    assert refused, "no kill met a request: this shows nothing"


async def test_a_cloud_that_acknowledges_what_it_could_not_store_is_found_out(tmp_path, postgres, monkeypatch):
    accept = SummaryIndex.accept

    async def hopeful(self, edge, delta):
        with contextlib.suppress(StoreAway):
            await accept(self, edge, delta)

    url = postgres.fresh()
    line = CutLine(url)
    with line.open():
        async with running_cloud(tmp_path, database_url=line.url) as one:
            edge = await joined(one)
            monkeypatch.setattr(SummaryIndex, "accept", hopeful)
            line.arm("before")
            assert (await edge.send(1)).status_code == 200
    assert faults(url, {"ward": 1}) == [("ward", 1)]


async def joined(one):
    signed = AsEdges(one.cloud.credentials.identity.key_id)
    await join(one.http, "ward", signed.identity("ward"))
    return Edge("ward", one.http, signed.of("ward"))


@pytest.mark.parametrize(("when", "stored"), [("before", 0), ("after", 1)])
async def test_a_commit_whose_answer_is_lost_is_repeated_and_counts_once(tmp_path, postgres, when, stored):
    url = postgres.fresh()
    line = CutLine(url)
    with line.open(), closing(open_shared(url)) as beside:

        def version():
            return beside.row("SELECT version FROM edges")["version"]

        async with running_cloud(tmp_path, database_url=line.url) as one:
            edge = await joined(one)
            line.arm(when)
            answer = await edge.send(1)
            assert (answer.status_code, answer.json()["code"], line.cut.is_set()) == (503, "store_away", True)
            await until(lambda: version() == stored)
            assert (await edge.send(1)).status_code == 200
            assert (await edge.send(2)).status_code == 200
    assert faults(url, {"ward": 2}) == []


@contextlib.contextmanager
def small_disk(postgres, url):
    """Summaries lie on a disk of two megabytes; yields what gives it room."""
    folder = postgres.folder / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], check=True)
    try:
        postgres.own(folder)
        postgres.run(f"CREATE TABLESPACE small LOCATION '{folder}'")
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("ALTER TABLE dgrag.summaries SET TABLESPACE small")
        yield lambda: subprocess.run(["mount", "-o", "remount,size=64m", folder], check=True)
        postgres.run(f"DROP DATABASE {psycopg.conninfo.conninfo_to_dict(url)['dbname']} WITH (FORCE)", "DROP TABLESPACE small")
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.skipif(os.getuid() != 0, reason="only root may mount a small disk")
async def test_on_a_full_disk_deltas_are_refused_and_with_room_all_goes_on(tmp_path, postgres):
    url, chance = postgres.fresh(), Random(1)
    with small_disk(postgres, url) as give_room:
        async with running_cloud(tmp_path, database_url=url) as one:
            edge = await joined(one)
            text = partial(chance.randbytes, 3500)
            while (answer := await edge.send(edge.acknowledged + 1, text=text().hex())).status_code == 200:
                edge.acknowledged += 1
            assert (answer.status_code, answer.json()["code"]) == (507, "disk_full")
            assert (await one.http.get("/ready")).json()["summaries"] == edge.acknowledged > 50
            give_room()
            edge.acknowledged += 1
            assert (await edge.send(edge.acknowledged, text=text().hex())).status_code == 200
        assert faults(url, {"ward": edge.acknowledged}) == []


@pytest.fixture
def pair(new_postgres):
    """A server and its stand-by; the first waits with each commit until the second has it, and both are of this test alone."""
    first = new_postgres()
    second = new_postgres(first)
    first.run("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
    yield first, second
    for server in (first, second):
        server.close()


async def failed_over(folder, first, second, before):
    """The first server goes after ``before`` has run and five more deltas were acknowledged; returns the faults of the second."""
    first.run("CREATE DATABASE clouds")
    url = f"postgresql://postgres@/clouds?host={first.socket},{second.socket}&target_session_attrs=read-write"
    async with running_cloud(folder, database_url=url) as one:
        edge = await joined(one)
        before()
        for _ in range(5):
            assert (await edge.send(edge.acknowledged + 1)).status_code == 200
            edge.acknowledged += 1
        first.kill()
        second.start()
        second.run("SELECT pg_promote()")
        found = faults(url, {"ward": edge.acknowledged})
        assert (await edge.send(edge.acknowledged + 1)).status_code == (200 if not found else 409)
    return found


async def test_a_stand_by_that_takes_over_has_all_that_was_acknowledged_and_the_clouds_go_there(tmp_path, pair):
    assert await failed_over(tmp_path, *pair, before=lambda: None) == []


async def test_a_server_that_does_not_wait_for_its_stand_by_loses_what_it_acknowledged(tmp_path, pair):
    first, second = pair

    def apart():
        first.run("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
        second.kill()

    assert len(await failed_over(tmp_path, first, second, apart)) == 5
