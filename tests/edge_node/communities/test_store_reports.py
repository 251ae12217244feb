"""Reports of a model on disk: each is there as long as all that it was made of, and no longer."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from edge_node.communities.elements import Finding
from edge_node.communities.hierarchy import Uppers
from edge_node.communities.reports import Report
from edge_node.communities.store import ReportStore, StoredReport
from edge_node.database.schema import Database
from edge_node.database.vectors import VectorRows
from edge_node.documents.store import DocumentStore
from edge_node.graph.store import GraphStore
from edge_node.maintenance import open_store
from shared.ports import SystemClock
from shared.records import Chunk


class Store:
    """Documents of one chunk each, whose names are their texts."""

    def __init__(self, folder):
        self.path = folder / "edge.db"
        self.database = Database(self.path)
        self.documents = DocumentStore(self.database, SystemClock())
        self.mentions = GraphStore(self.database).mentions
        self.reports = ReportStore(self.database)

    def add(self, name):
        document_id = self.documents.accept(name, name.encode(), reader="a.md").document_id
        chunk = Chunk(f"{document_id}:0", document_id, 0, name, 0, len(name), 1)
        self.mentions.save_chunks([chunk], [], [], [], VectorRows((), (), np.empty((0, 4), dtype=np.float32)))
        return chunk.chunk_id


def stored(community_id, *chunk_ids, level=1, by_model=True):
    finding = Finding("Pumps fail in March.", tuple(chunk_ids[:1]), ("pump", "pump\tward"))
    report = Report(community_id, level, "Pumps", "About pumps.", 7, "many fail", (finding,), by_model, "c0ffee")
    return StoredReport(report, (3, -5), frozenset(chunk_ids))


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path)
    yield opened
    opened.database.close()


def test_what_is_kept_is_read_again(store):
    one, other = stored("a", store.add("ward"), store.add("pump")), stored("b", store.add("gate"), by_model=False)
    assert store.reports.texts() == {}
    assert store.reports.commit(one)
    assert store.reports.commit(other)
    assert store.reports.texts() == {"a": one, "b": other}


def test_a_report_takes_the_place_of_the_former_one_about_its_community(store):
    ward, pump = store.add("ward"), store.add("pump")
    newer = stored("a", pump, level=2)
    store.reports.commit(stored("a", ward, pump))
    store.reports.commit(newer)
    assert store.reports.texts() == {"a": newer}
    assert [row["chunk_id"] for row in store.database.rows("SELECT chunk_id FROM report_chunks")] == [pump]


def test_a_report_goes_with_the_first_chunk_that_goes_and_the_others_stay(store):
    ward, pump, gate = store.add("ward"), store.add("pump"), store.add("gate")
    kept = stored("b", gate)
    store.reports.commit(stored("a", ward, pump, gate))
    store.reports.commit(kept)
    store.documents.remove(ward.rpartition(":")[0])
    assert store.reports.texts() == {"b": kept}
    assert [row["chunk_id"] for row in store.database.rows("SELECT chunk_id FROM report_chunks")] == [gate]


def test_a_report_is_not_kept_where_one_of_its_chunks_is_gone(store):
    ward, pump = store.add("ward"), store.add("pump")
    former = stored("a", pump)
    store.reports.commit(former)
    store.documents.remove(ward.rpartition(":")[0])
    assert not store.reports.commit(stored("a", ward, pump))
    assert store.reports.texts() == {"a": former}


def test_reports_are_dropped_by_community(store):
    ward = store.add("ward")
    for community_id in "abc":
        store.reports.commit(stored(community_id, ward))
    store.reports.drop(["a", "c", "unknown"])
    assert list(store.reports.texts()) == ["b"]


def test_labels_are_read_as_they_were_saved_last(store):
    assert store.reports.uppers() == Uppers({}, {})
    store.reports.save_uppers(Uppers({"p": "r", "q": "r"}, {"p": "m", "q": "n"}))
    newer = Uppers({"p": "r", "z": "s"}, {"p": "m", "z": "o"})
    store.reports.save_uppers(newer)
    assert store.reports.uppers() == newer


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE reports SET title = 'forged' WHERE community_id = 'a'",
        "UPDATE reports SET by_model = 0 WHERE community_id = 'a'",
        "UPDATE reports SET findings = '[' WHERE community_id = 'a'",
        "UPDATE reports SET community_id = CAST(x'ff' AS TEXT) WHERE community_id = 'a'",
        "UPDATE report_chunks SET chunk_id = 'gone' WHERE rowid = 1",
        "UPDATE report_chunks SET community_id = 'gone' WHERE rowid = 1",
        "UPDATE report_chunks SET chunk_id = CAST(x'ff' AS TEXT) WHERE rowid = 1",
    ],
)
def test_a_damaged_report_is_gone_after_a_start_and_the_others_stay(store, damage):
    ward, kept = store.add("ward"), stored("b", store.add("gate"))
    store.reports.commit(stored("a", ward, store.add("pump")))
    store.reports.commit(kept)
    store.database.close()
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        connection.execute(damage)
    store.database = open_store(store.path, SystemClock())
    assert ReportStore(store.database).texts() == {"b": kept}
    assert store.database.row("SELECT count(*) FROM report_chunks")[0] == 1


@pytest.mark.parametrize("damage", ["UPDATE reports SET title = 'forged'", "DELETE FROM report_chunks WHERE rowid = 1"])
def test_a_report_that_is_damaged_while_the_edge_runs_is_not_read(store, damage):
    store.reports.commit(stored("a", store.add("ward"), store.add("pump")))
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER report_chunk_removed")
        connection.execute(damage)
    assert store.reports.texts() == {}


def test_damaged_labels_are_left_out_and_gone_after_a_start(store):
    store.reports.save_uppers(Uppers({"p": "r", "q": "r"}, {"p": "m", "q": "n"}))
    with store.database.write() as tx:
        tx.execute("UPDATE report_uppers SET root = 'x' WHERE subgraph_id = 'p'")
    assert store.reports.uppers() == Uppers({"q": "r"}, {"q": "n"})
    store.database.close()
    store.database = open_store(store.path, SystemClock())
    assert store.database.row("SELECT count(*) FROM report_uppers")[0] == 1


def test_a_finding_keeps_its_elements_with_their_tabs(store):
    one = stored("a", store.add("ward"))
    changed = replace(one, report=replace(one.report, findings=(*one.report.findings, Finding("Ünal's ☃", (), ()))))
    store.reports.commit(changed)
    assert store.reports.texts()["a"] == changed
