"""The cloud's SQLite file."""

import sqlite3

import pytest

from cloud_server.database import Database


@pytest.fixture
def database(tmp_path):
    opened = Database(tmp_path / "cloud.db")
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
