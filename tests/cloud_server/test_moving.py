"""What one machine's files hold arrives in PostgreSQL whole, or not at all."""

import sqlite3
from contextlib import closing

import pytest

from cloud_server.database.opening import FILE, open_shared
from cloud_server.moving import TABLES, move
from cloud_server.registry.credentials import IDENTITY, KEY_FILE
from shared.errors import Conflict, StoreError, Unstorable
from shared.identity import load_identity
from tests.support.running_cloud import running_cloud
from tests.support.signed import AsEdges, join

pytestmark = pytest.mark.process
MADE_ANEW = "change_log"  # by the triggers of the store that the changes arrive in


@pytest.fixture
def target(postgres):
    with closing(open_shared(postgres.fresh())) as database:
        yield database


async def busy(folder):
    """A cloud that has something in each of its tables, and that was stopped."""
    async with running_cloud(folder) as one:
        edges = AsEdges(one.cloud.credentials.identity.key_id)
        for edge in ("ward", "mill", "gone"):
            await join(one.http, edge, edges.identity(edge))
        upserts = [{"summary_id": f"s{n}", "text": f"Pump {n} ø.", "entities": 1, "relations": 1} for n in range(3)]
        for epoch, version in (("e1", 1), ("e2", 1), ("e2", 2)):
            delta = {"epoch": epoch, "base_version": version - 1, "version": version, "upserts": upserts, "removals": []}
            await one.http.put("/v1/edges/ward/summaries", json=delta, auth=edges.of("ward"))
        memory = {"memory_id": "m", "question": "Who built Orrin Mill?", "answer": "Ann Lee", "direct": True}
        body = {"epoch": "e1", "base_version": 0, "version": 1, "upserts": [memory], "removals": []}
        assert (await one.http.put("/v1/edges/mill/memories", json=body, auth=edges.of("mill"))).status_code == 200
        head = {"epoch": "e1", "seq": 3, "hash": "0" * 64}
        await one.http.put("/v1/edges/ward/ledger", json=head, auth=edges.of("ward"))
        await one.http.delete("/v1/edges/gone")
        await one.http.post("/v1/edges/mill/quarantine", json={"reason": "odd"})
        await one.http.post("/v1/invites", json={"edge": "port"})
        with one.cloud.database.write() as tx:
            tx.execute("INSERT INTO reliability VALUES ('ward', 'mill', 0.3, 0.1)")
        await one.http.post("/v1/keys", json={"name": "ops", "role": "admin"})


def rows_of(folder):
    found = {}
    for file, tables in TABLES.items():
        with closing(sqlite3.connect(folder / file)) as connection:
            found |= {table: sorted(connection.execute(f"SELECT * FROM {table}")) for table in tables}
    return found


async def test_every_row_arrives_and_the_cloud_goes_on_where_it_was(tmp_path, target):
    await busy(tmp_path)
    before = rows_of(tmp_path)
    assert all(before.values()), "else this test shows nothing"
    moved = move(tmp_path, target)
    assert moved == {table: len(rows) for table, rows in before.items()}
    columns = {"syncs": "edge, at, epoch, version, upserts, removals, held_back", "decisions": "edge, at, who, what, why"}
    after = {table: sorted(map(tuple, target.rows(f"SELECT {columns.get(table, '*')} FROM {table}"))) for table in before}
    after["meta"].remove((IDENTITY, load_identity(tmp_path / KEY_FILE).key_id))
    assert after == before
    assert [row["what"] for row in target.rows("SELECT what FROM decisions ORDER BY rowid")] == ["expelled", "set aside"]
    async with running_cloud(tmp_path, database_url=target.url) as one:
        assert one.cloud.summaries.known("ward") == ("e2", 2)
        assert {view.edge: view.summaries for view in one.cloud.edges()} == {"mill": 0, "ward": 3}


async def test_all_tables_of_the_files_are_moved(tmp_path):
    async with running_cloud(tmp_path):
        pass
    for file, tables in TABLES.items():
        with closing(sqlite3.connect(tmp_path / file)) as connection:
            there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            assert there - {MADE_ANEW} == set(tables)


async def test_a_cloud_that_runs_is_not_moved(tmp_path, target):
    async with running_cloud(tmp_path):
        with pytest.raises(StoreError, match="is locked by another process"):
            move(tmp_path, target)
    move(tmp_path, target)


async def test_a_second_move_is_refused_and_one_that_fails_leaves_nothing(tmp_path, target):
    await busy(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE)) as connection, connection:
        connection.execute("UPDATE decisions SET why = 'a' || char(0)")
    with pytest.raises(Unstorable):
        move(tmp_path, target)
    assert target.rows("SELECT * FROM edges") == []
    with closing(sqlite3.connect(tmp_path / FILE)) as connection, connection:
        connection.execute("UPDATE decisions SET why = ''")
    move(tmp_path, target)
    with pytest.raises(Conflict, match="not empty: it has meta, edges"):
        move(tmp_path, target)
