"""The cloud's SQLite file."""

import sqlite3

import pytest

from cloud_server.database.opening import SqliteDatabase
from shared.sqlite import migrations_of


@pytest.fixture
def database(tmp_path):
    opened = SqliteDatabase(tmp_path / "cloud.db")
    with opened.write() as tx:
        tx.execute("CREATE TABLE parent (id TEXT PRIMARY KEY)")
        tx.execute("CREATE TABLE child (id TEXT REFERENCES parent)")
    yield opened
    opened.close()


def test_a_commit_that_fails_is_rolled_back_and_the_next_transaction_works(database):
    def orphan(tx):
        tx.execute("PRAGMA defer_foreign_keys=ON")
        tx.execute("INSERT INTO child VALUES ('orphan')")

    with pytest.raises(sqlite3.IntegrityError), database.write() as tx:
        orphan(tx)
    with database.write() as tx:
        tx.execute("INSERT INTO parent VALUES ('a')")
    assert [tuple(row) for row in database.rows("SELECT * FROM parent UNION ALL SELECT * FROM child")] == [("a",)]


def test_an_error_after_which_sqlite_has_rolled_back_by_itself_is_told_as_it_was(database):
    with pytest.raises(sqlite3.IntegrityError), database.write() as tx:
        tx.execute("INSERT OR ROLLBACK INTO parent VALUES ('a'), ('a')")


def test_a_store_of_a_former_release_keeps_its_edges_and_holds_no_memories_of_them_yet(tmp_path, monkeypatch):
    monkeypatch.setattr("cloud_server.database.opening.migrations_of", lambda *folder: migrations_of(*folder)[:3])
    former = SqliteDatabase(tmp_path / "former.db")
    with former.write() as tx:
        tx.execute("INSERT INTO edges (edge, epoch, version, last_seen) VALUES ('ward', 'e1', 7, 5.0)")
    former.close()
    monkeypatch.undo()
    opened = SqliteDatabase(tmp_path / "former.db")
    [row] = opened.rows("SELECT edge, epoch, version, memory_epoch, memory_version FROM edges")
    assert tuple(row) == ("ward", "e1", 7, "", 0)
    opened.close()


def test_an_edge_that_goes_takes_what_it_let_the_cloud_remember_along(database):
    with database.write() as tx:
        for edge in ("ward", "mill"):
            tx.execute("INSERT INTO edges (edge, last_seen) VALUES (?, 5.0)", (edge,))
            tx.execute("INSERT INTO memories VALUES (?, 'm1', 'Who?', 'Ann', 1, x'01', '', 0, 0)", (edge,))
        tx.execute("DELETE FROM edges WHERE edge = 'ward'")
    assert [row["edge"] for row in database.rows("SELECT edge FROM memories")] == ["mill"]
