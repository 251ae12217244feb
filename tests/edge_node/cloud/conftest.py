"""A store with one summary, and its ledger."""

import pytest

from edge_node.database.schema import Database
from edge_node.egress.ledger import Ledger
from edge_node.graph.store import GraphStore
from shared.ports import SystemClock
from tests.support.partition import commit_texts


@pytest.fixture
def graph(tmp_path):
    database = Database(tmp_path / "edge.db")
    store = GraphStore(database)
    commit_texts(store, {"s1": "about a"})
    yield store
    database.close()


@pytest.fixture
def ledger(graph):
    return Ledger(graph.database, SystemClock())
