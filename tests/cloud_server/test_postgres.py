"""The store that several clouds share: who may open it, what it refuses, and what happens when it goes."""

import asyncio
import contextlib
import stat
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest

from cloud_server.database.opening import open_database, open_ring, open_shared
from cloud_server.database.postgres import ERASERS
from cloud_server.registry.credentials import IDENTITY, KEY_FILE
from cloud_server.registry.nonces import SharedNonces
from cloud_server.settings import CloudSettings
from shared.errors import DiskFull, NotInstalled, SettingsError, StoreAway, StoreError, Unauthenticated, Unstorable
from shared.settings_reference import reference
from tests.support.running_cloud import running_cloud
from tests.support.signed import AsEdges, join
from tests.support.waiting import HANGS_S, eventually

pytestmark = pytest.mark.process
ENDED = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'"  # all lines of a database


@pytest.fixture
def url(postgres):
    return postgres.fresh()


def test_without_the_extra_one_line_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "cloud_server.database.postgres", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(NotInstalled) as told:
        open_shared("postgresql://dgrag@db/dgrag")
    assert told.value.next_step == "run: pip install 'dgrag[postgres]'"


@pytest.mark.parametrize("wrong", ["mysql://db/x", "postgresql://db/x?no_such=1", "nonsense"])
def test_a_url_that_is_none_is_said_without_its_password(wrong):
    with pytest.raises(SettingsError, match="DGRAG_CLOUD_DATABASE_URL"):
        open_shared(wrong)


def test_a_server_that_does_not_answer_at_the_start_is_said_with_the_reason(postgres):
    with pytest.raises(StoreAway, match='"nowhere" does not exist'):
        open_shared(postgres.url("nowhere"))


def test_a_user_who_may_not_make_the_schema_is_told_what_it_takes(postgres):
    postgres.run("CREATE ROLE guest LOGIN", "CREATE DATABASE bare")
    with pytest.raises(SettingsError) as told:
        open_shared(postgres.url("bare").replace("postgres@", "guest@"))
    assert "GRANT CREATE ON DATABASE" in told.value.next_step
    with psycopg.connect(postgres.url("bare"), autocommit=True) as admin:
        admin.execute("CREATE SCHEMA dgrag AUTHORIZATION guest")
    open_shared(postgres.url("bare").replace("postgres@", "guest@")).close()


def test_a_store_of_a_newer_release_is_left_alone(url):
    database = open_shared(url)
    with database.write() as tx:
        tx.execute("INSERT INTO migrations VALUES (99)")
    database.close()
    with pytest.raises(StoreError, match="schema 99"):
        open_shared(url)


def test_clouds_that_start_at_once_make_the_tables_once(postgres):
    postgres.run("CREATE DATABASE at_once")
    with ThreadPoolExecutor(4) as starts:
        opened = list(starts.map(open_shared, [postgres.url("at_once")] * 4))
    versions = [row["version"] for row in opened[0].rows("SELECT version FROM migrations ORDER BY version")]
    assert versions == list(range(1, len(versions) + 1)) != []
    for database in opened:
        database.close()


def test_of_many_clouds_that_are_shown_one_request_at_once_one_takes_it(url):
    with closing(open_shared(url)) as left, closing(open_shared(url)) as right, ThreadPoolExecutor(8) as callers:
        stores, now = [SharedNonces(database) for database in (left, right) * 4], time.time()

        def takes(store, nonce):
            with contextlib.suppress(Unauthenticated):
                store.remember("key", nonce, expires=now + 60, now=now)
                return True
            return False

        for nonce in ("a", "b", "c", "d"):
            assert sum(callers.map(takes, stores, [nonce] * len(stores))) == 1


def test_a_writer_whose_turn_does_not_come_is_told_that_the_store_is_away(url, monkeypatch):
    monkeypatch.setattr("cloud_server.database.postgres.STATEMENT_MS", 200)
    with closing(open_shared(url)) as database, ThreadPoolExecutor(2) as threads:
        writes, ends = threading.Event(), threading.Event()

        def holding():
            with database.write():
                writes.set()
                ends.wait(60)

        def writing():
            with database.write() as tx:
                tx.execute("INSERT INTO meta VALUES ('a', 'b')")

        held = threads.submit(holding)
        assert writes.wait(60)
        with pytest.raises(StoreAway):
            threads.submit(writing).result(60)
        ends.set()
        held.result(60)
        writing()
        assert len(database.rows("SELECT * FROM meta")) == 1


def test_a_commit_is_on_disk_and_who_is_connected_has_a_name(url):
    database = open_database("", url, replica="left")
    assert database.row("SHOW synchronous_commit")[0] == "on"
    assert database.row("SHOW application_name")[0] == "dgrag left"
    assert database.size() > 0
    assert database.erase()
    database.close()


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
def test_a_text_that_no_store_takes_is_refused_wherever_it_stands(url, text):
    database = open_shared(url)
    with pytest.raises(Unstorable), database.write() as tx:
        tx.execute("INSERT INTO meta VALUES ('a', ?)", (text,))
    with pytest.raises(Unstorable), database.write() as tx:
        tx.executemany("INSERT INTO meta VALUES ('a', ?)", [("b",), (text,)])
    for read in (database.row, database.rows):
        with pytest.raises(Unstorable):
            read("SELECT * FROM meta WHERE key = ?", (text,))
    assert database.rows("SELECT * FROM meta") == []
    database.close()


def test_a_full_disk_is_told_as_one_and_leaves_nothing(url):
    database = open_shared(url)
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("SET search_path = dgrag")
        admin.execute(
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$"
        )
        admin.execute("CREATE TRIGGER full_disk BEFORE INSERT ON summaries EXECUTE FUNCTION dgrag.full_disk()")

    def told(tx):
        tx.execute("INSERT INTO edges (edge, last_seen) VALUES ('ward', 1.0)")
        tx.execute("INSERT INTO summaries VALUES ('ward', 's', 't', 1, 1, ?, 0, '', 0, ?)", (b"", b""))

    with pytest.raises(DiskFull), database.write() as tx:
        told(tx)
    assert database.rows("SELECT * FROM edges") == []
    database.close()


def test_a_stand_by_that_takes_no_writes_is_away_for_them(postgres, url):
    database = open_shared(url)
    name = database.row("SELECT current_database()")[0]
    postgres.run(f"ALTER DATABASE {name} SET default_transaction_read_only = on", ENDED.format(name))
    with pytest.raises(StoreAway), database.write() as tx:
        tx.execute("INSERT INTO meta VALUES ('a', 'b')")
    assert database.rows("SELECT * FROM meta") == []
    database.close()


def test_the_password_is_nowhere_to_be_seen(tmp_path):
    file = tmp_path / "url"
    file.write_text("postgresql://dgrag:secret@db/dgrag\n")
    for settings in (CloudSettings(database_url="postgresql://dgrag:secret@db/dgrag"), CloudSettings(database_url_file=file)):
        assert settings.store_url() == "postgresql://dgrag:secret@db/dgrag"
        assert "secret" not in f"{settings!r}{reference(settings)}"


def test_who_keeps_one_machine_imports_nothing_of_postgresql():
    import subprocess

    code = "import sys; sys.modules.update({'psycopg': None, 'psycopg_pool': None}); import cloud_server.__main__, deploy.cli.main"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_clouds_of_one_store_know_the_same_edges_keys_and_requests(tmp_path, url):
    async with running_cloud(tmp_path / "a", database_url=url) as a:
        (tmp_path / "b" / "identity").mkdir(parents=True)
        (tmp_path / "b" / KEY_FILE).write_bytes((tmp_path / "a" / KEY_FILE).read_bytes())
        (tmp_path / "b" / KEY_FILE).chmod(stat.S_IRUSR)
        async with running_cloud(tmp_path / "b", database_url=url) as b:
            edges = AsEdges(a.cloud.credentials.identity.key_id)
            assert (await join(a.http, "ward", edges.identity("ward"))).status_code == 201
            request = b.http.build_request("GET", "/v1/edges/ward?wire_version=6")
            signed = next(edges.of("ward").auth_flow(request))
            assert [(await cloud.http.send(signed)).status_code for cloud in (b, a)] == [200, 401]
            token = (await a.http.post("/v1/keys", json={"name": "ops", "role": "admin"})).json()["token"]
            assert (await b.http.get("/v1/edges")).status_code == 401
            assert (await b.http.get("/v1/edges", headers={"Authorization": f"Bearer {token}"})).status_code == 200
    ring = open_ring(tmp_path / "c", url)
    assert [key.name for key in ring.list()] == ["ops"]
    ring.close()


async def test_a_cloud_that_is_to_hold_no_memories_does_not_delete_those_that_another_one_holds(tmp_path, url):
    without = {"database_url": url, "memory_bank": False}
    async with running_cloud(tmp_path, database_url=url) as one:
        edges = AsEdges(one.cloud.credentials.identity.key_id)
        await join(one.http, "ward", edges.identity("ward"))
        async with running_cloud(tmp_path, **without) as other:
            assert other.cloud.memories.counts() == {}
        told = {"memory_id": "m1", "question": "Who built Orrin Mill?", "answer": "Ann Lee", "direct": True}
        delta = {"epoch": "e1", "base_version": 0, "version": 1, "upserts": [told], "removals": []}
        assert (await one.http.put("/v1/edges/ward/memories", json=delta, auth=edges.of("ward"))).is_success
        with pytest.raises(SettingsError, match="DGRAG_CLOUD_MEMORY_BANK") as refused:
            async with running_cloud(tmp_path, **without):
                pass
        assert "stop all clouds" in refused.value.next_step
        assert one.cloud.memories.counts() == {"ward": (1, 0)}
    async with running_cloud(tmp_path, **without) as alone:
        assert alone.cloud.memories.counts() == {}
        assert (await alone.http.get("/ready")).is_success


@pytest.mark.parametrize("has_key", [True, False])
async def test_a_cloud_with_another_key_does_not_start(tmp_path, url, has_key):
    async with running_cloud(tmp_path / "a", database_url=url) as a:
        first = a.cloud.credentials.identity.key_id
    if has_key:
        async with running_cloud(tmp_path / "b"):
            pass
    with pytest.raises(SettingsError, match=first) as told:
        async with running_cloud(tmp_path / "b", database_url=url):
            pass
    assert "identity/cloud.key" in told.value.next_step
    assert (tmp_path / "b" / KEY_FILE).exists() == has_key
    database = open_shared(url)
    assert database.rows("SELECT value FROM meta WHERE key = ?", (IDENTITY,)) == [(first,)]
    database.close()


async def test_a_text_with_a_nul_gets_422_by_rest(tmp_path, url):
    async with running_cloud(tmp_path, database_url=url) as one:
        edges = AsEdges(one.cloud.credentials.identity.key_id)
        await join(one.http, "ward", edges.identity("ward"))
        upsert = {"summary_id": "s", "text": "a\0b", "entities": 1, "relations": 1}
        delta = {"epoch": "e1", "base_version": 0, "version": 1, "upserts": [upsert], "removals": []}
        refused = await one.http.put("/v1/edges/ward/summaries", json=delta, auth=edges.of("ward"))
        assert (refused.status_code, refused.json()["code"]) == (422, "unstorable")
        assert (await one.http.delete("/v1/keys/a%00b")).status_code == 422
        assert (await one.http.post("/v1/edges/ward/quarantine", json={"reason": "a\0b"})).status_code == 422
        assert (await one.http.get("/v1/edges/ward/ledger/heads?epoch=%00", auth=edges.of("ward"))).status_code == 422
        assert one.cloud.registry.get("ward").quarantined == ""
        assert one.cloud.summaries.ids("ward") == set()


async def test_while_postgresql_is_away_requests_are_told_to_come_again_and_all_is_well_afterwards(tmp_path, postgres, url):
    async with running_cloud(tmp_path, database_url=url) as one:
        edges = AsEdges(one.cloud.credentials.identity.key_id)
        await join(one.http, "ward", edges.identity("ward"))
        postgres.kill()
        try:
            for route in ("/ready", "/v1/edges"):
                away = await one.http.get(route)
                assert (away.status_code, away.json()["code"], away.headers["Retry-After"]) == (503, "store_away", "2")
                assert "dgrag-pg" not in away.text, "where the server is, is not a stranger's to know"
            assert (await one.http.get("/health")).status_code == 200
        finally:
            postgres.start()
        async with asyncio.timeout(HANGS_S):
            while (back := await one.http.get("/ready")).status_code == 503:  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.005)
        assert back.json()["edges"] == 1
        assert (await one.http.get("/v1/edges/ward?wire_version=6", auth=edges.of("ward"))).status_code == 200


def test_one_cloud_at_a_time_erases_and_one_that_died_in_it_holds_nobody_up(url):
    database = open_shared(url)
    other = psycopg.connect(url, autocommit=True)
    other.execute("SELECT pg_advisory_lock(%s)", (ERASERS,))
    assert not database.erase()
    other.close()
    assert eventually(database.erase)
    assert database.erase()
    database.close()
