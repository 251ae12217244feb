"""Clouds whose PostgreSQL stands behind PgBouncer in transaction mode, where no session is theirs."""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, closing

import psycopg
import pytest

from cloud_server.answering.fan_out import FanOut, FanOutRequest
from cloud_server.database import letters
from cloud_server.database import postgres as store
from cloud_server.database.notices import NO_NOTICES, POOLED, URL, Notices
from cloud_server.database.opening import open_shared
from shared.errors import SettingsError, StoreAway
from shared.ports import SystemClock
from shared.wire import EvidenceBody, EvidenceReply
from tests.support.clouds import shared_mailbox
from tests.support.pooler import Pooler
from tests.support.running_cloud import running_cloud
from tests.support.signed import AsEdges, join

pytestmark = pytest.mark.process

WORDS = "Ward seven had the infusion pump replaced."
REPLY = EvidenceReply(evidence=[EvidenceBody(document_id="d", document="a.md", chunk_id="d:0", span=(0, len(WORDS)), text=WORDS)])


@pytest.fixture(scope="module")
def pooler(postgres):
    running = Pooler(postgres)
    yield running
    running.close()


@pytest.fixture
def direct(postgres):
    return postgres.fresh()


@pytest.fixture
def pooled(pooler, direct):
    """The same database by the pooler."""
    return pooler.url(psycopg.conninfo.conninfo_to_dict(direct)["dbname"])


def shown(database, name):
    with database.join() as tx:
        return tx.execute(f"SHOW {name}").fetchone()[0]


async def test_a_cloud_behind_a_pooler_makes_its_tables_and_does_all_that_one_before_postgresql_does(tmp_path, postgres, pooler):
    postgres.run("CREATE DATABASE untouched")
    async with running_cloud(tmp_path, database_url=pooler.url("untouched")) as one:
        edges = AsEdges(one.cloud.credentials.identity.key_id)
        assert (await join(one.http, "ward", edges.identity("ward"))).status_code == 201
        for version in range(1, 20):  # more often than psycopg waits before it prepares a statement
            summary = {"summary_id": f"s{version}", "text": "pumps", "entities": 1, "relations": 1}
            delta = {
                "epoch": "e1",
                "base_version": version - 1,
                "version": version,
                "upserts": [summary],
                "removals": [],
            }
            sent = await one.http.put("/v1/edges/ward/summaries", json=delta, auth=edges.of("ward"))
            assert sent.is_success, sent.text
        assert [edge["summaries"] for edge in (await one.http.get("/v1/edges")).json()["edges"]] == [19]
        assert (await one.http.post("/v1/keys", json={"name": "ops", "role": "admin"})).is_success
        assert one.cloud.database.erase()
        assert one.cloud.database.size() > 0


def test_each_transaction_has_our_limits_and_none_leaves_them_to_others_of_the_pool(pooled):
    with closing(open_shared(pooled)) as database, ThreadPoolExecutor(8) as threads:
        limits = list(threads.map(lambda _: shown(database, "statement_timeout"), range(40)))
        assert set(limits) == {"30s"}
        assert shown(database, "search_path") == "dgrag"
        assert shown(database, "synchronous_commit") == "on"
        assert database.row("SHOW lock_timeout")[0] == "30s"
    with psycopg.connect(pooled, autocommit=True, prepare_threshold=None) as other:
        for _ in range(8):
            assert other.execute("SHOW search_path").fetchone() == ('"$user", public',)
            assert other.execute("SHOW statement_timeout").fetchone() == ("0",)


def test_one_writer_at_a_time_and_one_that_erases_behind_a_pooler_too(pooled):
    with closing(open_shared(pooled)) as one, closing(open_shared(pooled)) as two:
        with one.write() as tx:
            tx.execute("INSERT INTO meta VALUES ('count', '0')")

        def count(database):
            with database.write() as tx:
                (found,) = tx.execute("SELECT value FROM meta WHERE key = 'count'").fetchone()
                tx.execute("UPDATE meta SET value = ? WHERE key = 'count'", (str(int(found) + 1),))

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(count, [one, two] * 20))
        assert one.row("SELECT value FROM meta WHERE key = 'count'")[0] == "40"
        with one.join() as holder:
            holder.execute("SELECT pg_advisory_xact_lock(?)", (store.ERASERS,))
            assert not two.erase()
        assert two.erase()


def test_the_former_start_options_are_refused_by_the_pooler(pooled, monkeypatch):
    """The null control: so every cloud behind a pooler failed at its start."""
    monkeypatch.setattr(store, "is_pooled", lambda url: False)
    with pytest.raises(StoreAway, match="options"):
        open_shared(pooled)


def test_sessions_with_prepared_statements_do_not_outlive_a_transaction_of_the_pool(pooled):
    """The null control of ``prepare_threshold``: what one session prepared another does not know."""
    errors = []
    former = {"autocommit": True, "prepare_threshold": 0}
    with psycopg.connect(pooled, **former) as one, psycopg.connect(pooled, **former) as two:
        for connection in (one, two) * 8:
            try:
                connection.execute("SELECT %s::int", (1,))
            except psycopg.Error as error:
                errors.append(error)
    assert errors


def test_a_pooler_is_known_from_postgresql(direct, pooled, postgres):
    session = Pooler(postgres, mode="session")
    try:
        urls = (direct, pooled, session.url("postgres"))
        assert [store.is_pooled(url) for url in urls] == [False, True, True]
    finally:
        session.close()


async def asked(kit, asker, poller):
    """What an edge that polls at one cloud answers to another one."""
    fan_out = [FanOut(one, SystemClock(), lambda: "r1") for one in (asker, poller)]
    poll = asyncio.create_task(poller.poll("ward", wait_s=30.0))
    await kit.until(lambda: asker.online("ward"))
    asking = asyncio.create_task(fan_out[0].ask(["ward"], FanOutRequest("why?", 100), deadline_s=20.0))
    (request,) = await poll
    await fan_out[1].deliver("ward", request.request_id, REPLY, size=1)
    return [report.status for report in (await asking).reports]


async def test_without_a_way_to_postgresql_clouds_look_and_say_so(pooled, kit, caplog):
    async with AsyncExitStack() as stack:
        one, two = [await stack.enter_async_context(shared_mailbox(pooled, name)) for name in ("one", "two")]
        assert await asked(kit, one, two) == ["answered"]
    assert caplog.messages.count(NO_NOTICES) == 2


async def test_by_a_way_to_postgresql_notices_arrive(pooled, direct, kit, caplog):
    """No cloud looks here: notices alone bring request and reply."""
    hearing = {"runs": ("hears",), "notices_url": direct}
    async with AsyncExitStack() as stack:
        one, two = [await stack.enter_async_context(shared_mailbox(pooled, name, **hearing)) for name in ("one", "two")]
        assert await asked(kit, one, two) == ["answered"]
    assert not {NO_NOTICES, POOLED} & set(caplog.messages)


async def test_a_way_that_leads_to_a_pooler_too_is_named_in_the_log(pooled, caplog):
    notices = Notices(pooled, "one")
    with caplog.at_level(logging.WARNING):
        running = asyncio.create_task(notices.run())
        await notices.listening.wait()
        running.cancel()
    assert POOLED in caplog.messages


def test_a_way_that_is_no_url_is_refused_at_the_start():
    with pytest.raises(SettingsError, match=URL):
        Notices("mysql://db/x", "one")


def test_the_room_of_postgresql_says_nothing_of_a_pooler(pooled, monkeypatch):
    monkeypatch.setattr(letters, "CONNECTIONS", 10_000)
    with closing(open_shared(pooled)) as database:
        letters.check_room(database)
