"""The history of summaries, and the file that holds them."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from cloud_server.database.opening import SqliteDatabase
from cloud_server.registry.edges import EdgeRegistry
from cloud_server.routing.summaries import SummaryStore
from shared.errors import StoreError
from shared.records import Summary, SummaryDelta


@pytest.fixture
def store(database, clock):
    EdgeRegistry(database, clock).enrol("ward")
    return SummaryStore(database, clock, max_per_edge=10)


def delta(base, version, *texts, removals=(), epoch="e1"):
    """Summaries are named by the first word of their text."""
    return SummaryDelta(epoch, base, version, tuple(Summary(text.split()[0], text, 1, 2) for text in texts), tuple(removals))


def vectors(n):
    rows = np.zeros((n, 4), dtype=np.float32)
    rows[np.arange(n), np.arange(n) % 4] = 1
    return rows


def test_a_file_that_is_no_store_is_named(tmp_path):
    (tmp_path / "cloud.db").write_bytes(b"x" * 5000)
    with pytest.raises(StoreError, match=r"cloud\.db"):
        SqliteDatabase(tmp_path / "cloud.db")


def test_a_store_of_a_newer_release_is_left_alone(tmp_path):
    SqliteDatabase(tmp_path / "cloud.db").close()
    connection = sqlite3.connect(tmp_path / "cloud.db")
    connection.execute("PRAGMA user_version=99")
    connection.close()
    with pytest.raises(StoreError, match="schema 99"):
        SqliteDatabase(tmp_path / "cloud.db")


def test_the_file_is_durable_at_each_commit(tmp_path):
    database = SqliteDatabase(tmp_path / "cloud.db")
    assert database.row("PRAGMA journal_mode")[0] == "wal"
    assert database.row("PRAGMA synchronous")[0] == 2  # FULL
    database.close()


def test_reads_do_not_wait_for_a_writer(store, database):
    def count():
        return store.counts()

    with database.write() as tx, ThreadPoolExecutor(1) as other_thread:
        tx.execute("INSERT INTO summaries VALUES ('ward', 's', 't', 1, 1, ?, 0, '', 0, ?)", (b"", b""))
        assert other_thread.submit(count).result(timeout=10) == {}
    assert store.counts() == {"ward": (1, 0)}


def test_each_delta_that_changes_something_leaves_a_line_of_history(store, database):
    store.apply("ward", delta(0, 1, "a one", "b two"), vectors(2), {"b": "hub"})
    store.apply("ward", delta(0, 1, "a one", "b two"), vectors(2))
    store.apply("ward", delta(1, 2, removals=["a"]), vectors(0))
    rows = database.rows("SELECT version, upserts, removals, held_back FROM syncs ORDER BY rowid")
    assert [tuple(row) for row in rows] == [(1, 2, 0, 1), (2, 0, 1, 0)]


def test_the_history_of_an_edge_has_an_end(store, database, monkeypatch):
    monkeypatch.setattr("cloud_server.routing.summaries.SYNCS_KEPT", 3)
    for version in range(1, 8):
        store.apply("ward", delta(0, version, "a one"), vectors(1))
    assert [row["version"] for row in database.rows("SELECT version FROM syncs ORDER BY version")] == [5, 6, 7]
