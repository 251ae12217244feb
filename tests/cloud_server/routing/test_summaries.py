import sqlite3
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from cloud_server.database import Database
from cloud_server.registry.edges import EdgeRegistry
from cloud_server.routing import summaries as summaries_store
from cloud_server.routing.summaries import SummaryStore, packed, unpacked
from shared.errors import NotFound, ResyncNeeded, StaleEpoch, StoreError, TooLarge
from shared.records import Summary, SummaryDelta
from shared.vectors import unit


@pytest.fixture
def database(tmp_path):
    database = Database(tmp_path / "cloud.db")
    yield database
    database.close()


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


def apply(store, change):
    return store.apply("ward", change, vectors(len(change.upserts)))


def test_of_an_edges_former_stores_the_last_ones_are_known(store, database, clock, monkeypatch):
    monkeypatch.setattr(summaries_store, "RETIRED_KEPT", 3)
    for n in range(6):
        clock.seconds += 1
        apply(store, delta(0, 1, "a one", epoch=f"e{n}"))
    assert [row["epoch"] for row in database.rows("SELECT epoch FROM retired_epochs ORDER BY epoch")] == ["e2", "e3", "e4"]
    with pytest.raises(StaleEpoch):
        apply(store, delta(0, 1, "a one", epoch="e4"))


def texts(store):
    return [row.summary.text for row in store.load()[0]]


def test_a_first_delta_is_a_snapshot(store):
    assert apply(store, delta(0, 1, "a one", "b two")) == (True, [])
    assert texts(store) == ["a one", "b two"]
    assert store.counts() == {"ward": (2, 0)}
    assert store.ids("ward") == ["a", "b"]


def test_a_stored_row_comes_back_as_it_was(store):
    apply(store, delta(0, 1, "a ø\n\u2028 text"))
    ((row,), damaged) = store.load()
    assert (row.edge, row.summary) == ("ward", Summary("a", "a ø\n\u2028 text", 1, 2))
    assert row.vector.tolist() == [1, 0, 0, 0]
    assert damaged == []


def test_a_delta_changes_adds_and_removes(store):
    apply(store, delta(0, 1, "a one", "b two"))
    assert apply(store, delta(1, 2, "a new", "c three", removals=["b", "nobody"])) == (True, ["b", "nobody"])
    assert texts(store) == ["a new", "c three"]


def test_a_summary_both_removed_and_sent_stays(store):
    apply(store, delta(0, 1, "a one"))
    assert apply(store, delta(1, 2, "a new", removals=["a"])) == (True, [])
    assert texts(store) == ["a new"]


def test_applying_twice_is_applying_once(store):
    apply(store, delta(0, 1, "a one"))
    change = delta(1, 2, "b two")
    assert apply(store, change)[0]
    assert apply(store, change) == (False, [])
    assert texts(store) == ["a one", "b two"]


def test_an_older_version_never_overwrites_a_newer_one(store):
    apply(store, delta(0, 5, "a new"))
    assert apply(store, delta(0, 3, "a old")) == (False, [])
    assert apply(store, delta(2, 5, "a old")) == (False, [])
    assert texts(store) == ["a new"]


@pytest.mark.parametrize("change", [delta(2, 3, "b x"), delta(1, 9, "b x", epoch="e2"), delta(7, 9, "b x")], ids=["gap", "epoch", "far"])
def test_a_delta_that_does_not_follow_asks_for_a_snapshot(store, change):
    apply(store, delta(0, 1, "a one"))
    with pytest.raises(ResyncNeeded) as caught:
        apply(store, change)
    assert caught.value.code == "resync"
    assert texts(store) == ["a one"]


def test_a_snapshot_replaces_everything_of_the_edge(store, database, clock):
    EdgeRegistry(database, clock).enrol("bank")
    store.apply("bank", delta(0, 1, "a bank"), vectors(1))
    apply(store, delta(0, 1, "a one", "b two"))
    assert apply(store, delta(0, 9, "b new", epoch="e2")) == (True, ["a"])
    assert texts(store) == ["a bank", "b new"]


def test_a_late_delta_of_a_replaced_store_is_refused(store):
    apply(store, delta(0, 8, "a old"))
    apply(store, delta(0, 1, "a new", epoch="e2"))
    for late in (delta(8, 9, "a late"), delta(0, 9, "a late")):
        with pytest.raises(StaleEpoch):
            apply(store, late)
    assert texts(store) == ["a new"]


def test_an_empty_snapshot_empties(store):
    apply(store, delta(0, 1, "a one"))
    assert apply(store, delta(0, 2)) == (True, ["a"])
    assert texts(store) == []


def test_an_unknown_edge_is_not_found(store):
    with pytest.raises(NotFound):
        store.apply("nobody", delta(0, 1), vectors(0))


def test_a_delta_whose_write_fails_leaves_no_trace(store):
    apply(store, delta(0, 1, "a one"))
    with pytest.raises(ValueError, match="zip"):
        store.apply("ward", delta(1, 2, "b two", "c three"), vectors(1))
    assert texts(store) == ["a one"]
    assert store.fits("ward", delta(1, 2))


@pytest.mark.parametrize("column", ["text", "entities", "vector", "crc"])
def test_a_damaged_row_is_dropped_and_its_edge_has_to_send_all(store, database, column):
    apply(store, delta(0, 1, "a one", "b two"))
    with database.write() as tx:
        tx.execute(f"UPDATE summaries SET {column} = {'zeroblob(16)' if column == 'vector' else 77} WHERE summary_id = 'a'")
    rows, damaged = store.load()
    assert ([row.summary.text for row in rows], damaged) == (["b two"], ["ward"])
    assert store.load()[1] == []
    with pytest.raises(ResyncNeeded):
        apply(store, delta(1, 2, "c three"))
    assert apply(store, delta(0, 1, "a one", "b two"))[0]


def test_expelling_purges_the_summaries_too(store, database, clock):
    apply(store, delta(0, 1, "a one", "b two"))
    assert EdgeRegistry(database, clock).expel("ward") == 2
    assert store.load() == ([], [])


def test_a_file_that_is_no_store_is_named(tmp_path):
    (tmp_path / "cloud.db").write_bytes(b"x" * 5000)
    with pytest.raises(StoreError, match=r"cloud\.db"):
        Database(tmp_path / "cloud.db")


def test_a_store_of_a_newer_release_is_left_alone(tmp_path):
    Database(tmp_path / "cloud.db").close()
    connection = sqlite3.connect(tmp_path / "cloud.db")
    connection.execute("PRAGMA user_version=99")
    connection.close()
    with pytest.raises(StoreError, match="schema 99"):
        Database(tmp_path / "cloud.db")


def test_the_file_is_durable_at_each_commit(database):
    assert database.row("PRAGMA journal_mode")[0] == "wal"
    assert database.row("PRAGMA synchronous")[0] == 2  # FULL


def test_reads_do_not_wait_for_a_writer(store, database):
    def count():
        return store.counts()

    with database.write() as tx, ThreadPoolExecutor(1) as other_thread:
        tx.execute("INSERT INTO summaries VALUES ('ward', 's', 't', 1, 1, x'', 0, '')")
        assert other_thread.submit(count).result(timeout=10) == {}
    assert store.counts() == {"ward": (1, 0)}


def test_an_edge_may_have_so_many_summaries_and_no_more(store):
    many = [f"s{n} text" for n in range(10)]
    store.apply("ward", delta(0, 1, *many), vectors(10))
    store.apply("ward", delta(1, 2, "s0 changed", "s10 new", removals=["s1"]), vectors(2))
    with pytest.raises(TooLarge):
        store.fits("ward", delta(2, 3, "s11 new"))
    with pytest.raises(TooLarge):
        store.fits("ward", delta(0, 3, *many, "s10 new"))
    assert store.counts() == {"ward": (10, 0)}


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


def test_what_is_held_back_is_counted_and_comes_back_as_it_was(store):
    store.apply("ward", delta(0, 1, "a one", "b two"), vectors(2), {"b": "near_duplicate"})
    assert store.counts() == {"ward": (2, 1)}
    assert [(row.summary.summary_id, row.held_back) for row in store.load()[0]] == [("a", ""), ("b", "near_duplicate")]
    store.apply("ward", delta(1, 2, "c three"), vectors(1), {"b": "", "a": "hub"})
    assert [(row.summary.summary_id, row.held_back) for row in store.load()[0]] == [("a", "hub"), ("b", ""), ("c", "")]
    assert store.load()[1] == []


def test_a_verdict_that_was_changed_on_the_disk_is_noticed(store, database):
    store.apply("ward", delta(0, 1, "a one"), vectors(1), {"a": "hub"})
    with database.write() as tx:
        tx.execute("UPDATE summaries SET held_back = ''")
    assert store.load() == ([], ["ward"])


def test_a_stored_vector_points_where_it_did():
    rows = unit(np.random.default_rng(3).standard_normal((50, 384)).astype(np.float32))
    kept = unpacked(b"".join(map(packed, rows)), len(rows))
    assert (np.einsum("ij,ij->i", rows, kept) > 0.9998).all()
    assert len(packed(rows[0])) == 384
