"""Summaries on their way to the cloud, page by page; the cloud's side is its real store."""

import numpy as np
import pytest

from cloud_server.database.opening import SqliteDatabase
from cloud_server.registry.edges import EdgeRegistry
from cloud_server.routing.summaries import SummaryStore
from edge_node.database.schema import Database
from edge_node.documents.receipts import UNSETTLED, ReceiptStore, write_receipt
from edge_node.graph.store import DELTA_CHARS, DELTA_ROWS, GraphStore
from shared.ports import SystemClock
from shared.records import DocumentId
from shared.wire import MAX_SUMMARIES, DeltaBody
from tests.support.partition import commit_texts


@pytest.fixture
def graph(tmp_path):
    database = Database(tmp_path / "edge.db")
    yield GraphStore(database)
    database.close()


class Cloud:
    """The cloud's store with one edge."""

    def __init__(self, folder):
        self.database = SqliteDatabase(folder / "cloud.db")
        self.registry = EdgeRegistry(self.database, SystemClock())
        self.registry.enrol("ward")
        self.store = SummaryStore(self.database, SystemClock(), max_per_edge=100_000)

    def take_page(self, graph):
        """One round of the link; False when nothing is left."""
        known = self.registry.get("ward")
        if known.epoch == graph.epoch() and known.version == graph.version():
            return False
        delta = DeltaBody.from_record(graph.delta(epoch=known.epoch, version=known.version)).to_record()
        self.store.apply("ward", delta, np.full((len(delta.upserts), 4), 0.5, dtype=np.float32))
        return True

    def take_all(self, graph, *, pages):
        assert [self.take_page(graph) for _ in range(pages)] == [True] * pages
        assert not self.take_page(graph)

    def knows(self, graph):
        return [row.body for row in self.store.load("ward")] == graph.summaries()


@pytest.fixture
def cloud(tmp_path):
    made = Cloud(tmp_path)
    yield made
    made.database.close()


def many(n, word="text"):
    return {f"s{i:05}": f"{word} {i}" for i in range(n)}


def test_more_summaries_than_a_page_of_one_version_arrive_in_pages(graph, cloud):
    commit_texts(graph, many(2 * DELTA_ROWS + 1))
    cloud.take_all(graph, pages=3)
    assert cloud.knows(graph)


def test_more_than_the_wire_takes_at_once_can_be_sent_and_removed(graph, cloud):
    commit_texts(graph, many(MAX_SUMMARIES + 1))
    cloud.take_all(graph, pages=11)
    assert cloud.knows(graph)
    commit_texts(graph, {})
    cloud.take_all(graph, pages=11)
    assert cloud.knows(graph)
    assert graph.summaries() == []


def test_changes_between_two_pages_of_a_snapshot_are_not_lost(graph, cloud):
    texts = many(2 * DELTA_ROWS)
    commit_texts(graph, texts)
    assert cloud.take_page(graph)
    del texts["s00000"]  # known to the cloud already
    texts["s00999"] = "changed before it was sent"
    commit_texts(graph, texts)
    cloud.take_all(graph, pages=2)
    assert cloud.knows(graph)


def test_a_page_that_was_made_but_never_arrived_costs_nothing_but_a_version(graph, cloud):
    commit_texts(graph, many(2 * DELTA_ROWS))
    for _ in range(3):
        graph.delta(epoch="", version=0)
    cloud.take_all(graph, pages=2)
    assert cloud.knows(graph)


def test_long_texts_make_short_pages_and_one_text_alone_is_always_a_page(graph):
    commit_texts(graph, {"a": "x" * (DELTA_CHARS + 1), "b": "y" * (DELTA_CHARS // 2), "c": "z" * (DELTA_CHARS // 2), "d": "w"})
    pages = []
    epoch, version = "", 0
    while version != graph.version():
        delta = graph.delta(epoch=epoch, version=version)
        pages.append([summary.summary_id for summary in delta.upserts])
        epoch, version = delta.epoch, delta.version
    assert pages == [["a"], ["b", "c"], ["d"]]


def test_an_empty_summary_is_not_sent_and_takes_back_what_was_there(graph, cloud):
    commit_texts(graph, {"a": "one", "b": "two"})
    cloud.take_all(graph, pages=1)
    commit_texts(graph, {"a": " \n", "b": "two"})
    cloud.take_all(graph, pages=1)
    assert [row.body.text for row in cloud.store.load("ward")] == ["two"]


def test_without_its_tombstones_a_store_sends_a_snapshot_to_a_cloud_that_may_not_know_of_them(graph, cloud):
    commit_texts(graph, many(DELTA_ROWS))
    cloud.take_all(graph, pages=1)  # the cloud is restored to this state later
    texts = many(2 * DELTA_ROWS, "new")
    del texts["s00000"]
    commit_texts(graph, texts)
    graph.drop_tombstones(version=graph.version())
    assert graph.delta(epoch=graph.epoch(), version=1).base_version == 0
    cloud.take_all(graph, pages=2)
    assert cloud.knows(graph)


def test_tombstones_that_the_cloud_has_not_acknowledged_stay(graph, cloud):
    commit_texts(graph, {"a": "one", "b": "two"})
    cloud.take_all(graph, pages=1)
    commit_texts(graph, {"a": "one"})
    graph.drop_tombstones(version=1)
    assert graph.delta(epoch=graph.epoch(), version=1).removals == ("b",)


def receipt_of_a_deletion(graph):
    with graph.database.write() as tx:
        return write_receipt(tx, DocumentId("d"), chunks=1, now=0.0)


def test_no_page_before_the_last_has_the_version_that_confirms_a_deletion(graph, cloud):
    receipts = ReceiptStore(graph.database)
    texts = many(DELTA_ROWS)
    commit_texts(graph, texts)
    cloud.take_all(graph, pages=1)
    texts |= {f"t{i:05}": "not sent yet" for i in range(DELTA_ROWS + 1)}
    commit_texts(graph, texts)
    receipt = receipt_of_a_deletion(graph)
    del texts["s00000"]
    commit_texts(graph, texts)
    receipts.settled([receipt], erased=True)
    assert cloud.take_page(graph)
    assert not cloud.knows(graph)
    assert cloud.registry.get("ward").version < receipts.get(receipt).version
    cloud.take_all(graph, pages=1)
    assert cloud.knows(graph)
    assert cloud.registry.get("ward").version >= receipts.get(receipt).version


def test_pages_that_follow_leave_alone_what_is_confirmed_or_waits_for_a_settle(graph, cloud):
    receipts = ReceiptStore(graph.database)
    confirmed, waiting = receipt_of_a_deletion(graph), receipt_of_a_deletion(graph)
    commit_texts(graph, {"a": "one"})
    receipts.settled([confirmed], erased=True)
    cloud.take_all(graph, pages=1)
    commit_texts(graph, many(2 * DELTA_ROWS))
    cloud.take_all(graph, pages=3)
    assert receipts.get(confirmed).version == 1
    assert receipts.get(waiting).version == UNSETTLED
