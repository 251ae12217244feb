"""Claims on disk: each is there as long as its chunk, and no longer."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest

from edge_node.communities.claim_reader import ClaimStore
from edge_node.communities.claims import Claim
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
        self.claims = ClaimStore(self.database)

    def add(self, name):
        document_id = self.documents.accept(name, name.encode(), reader="a.md").document_id
        chunk = Chunk(f"{document_id}:0", document_id, 0, name, 0, len(name), 1)
        GraphStore(self.database).mentions.save_chunks([chunk], [], [], [], VectorRows((), (), np.empty((0, 4), dtype=np.float32)))
        return chunk.chunk_id


def claim(chunk_id, sentence="Ünal ☃ built it."):
    return Claim(chunk_id, "ann", "mill", "building", "SUSPECTED", sentence, (3, 9), "1881", "")


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path)
    yield opened
    opened.database.close()


def test_what_was_read_is_there_again_and_takes_the_place_of_what_was_read_before(store):
    ward, gate = store.add("ward"), store.add("gate")
    store.claims.save(ward, [claim(ward, "One."), claim(ward, "Two.")], model="m")
    store.claims.save(gate, [], model="m")
    assert {one.sentence for one in store.claims.all()} == {"One.", "Two."}
    store.claims.save(ward, [claim(ward)], model="m")
    assert (store.claims.all(), store.claims.readings()) == ((claim(ward),), {ward, gate})


def test_a_deleted_chunk_takes_its_claims_and_nothing_is_kept_of_one_that_is_gone(store):
    ward, gate = store.add("ward"), store.add("gate")
    for chunk_id in (ward, gate):
        store.claims.save(chunk_id, [claim(chunk_id)], model="m")
    store.documents.remove(ward.rpartition(":")[0])
    store.claims.save(ward, [claim(ward)], model="m")
    assert (store.claims.all(), store.claims.readings()) == ((claim(gate),), {gate})


def test_all_can_be_taken_away(store):
    ward = store.add("ward")
    store.claims.save(ward, [claim(ward)], model="m")
    store.claims.clear()
    assert (store.claims.all(), store.claims.readings()) == ((), frozenset())


def test_a_damaged_claim_is_not_read_and_gone_after_a_start(store):
    ward = store.add("ward")
    store.claims.save(ward, [claim(ward), claim(ward, "Forge me.")], model="m")
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        connection.execute("UPDATE claims SET status = 'TRUE' WHERE description = 'Forge me.'")
    assert store.claims.all() == (claim(ward),)
    store.database.close()
    store.database = open_store(store.path, SystemClock())
    assert store.database.row("SELECT count(*) FROM claims")[0] == 1
