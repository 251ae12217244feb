"""Another embedding model: refused in words, made anew on demand, and resumed after a kill (R12)."""

import numpy as np
import pytest

from edge_node import maintenance as module
from edge_node.database.schema import Database
from edge_node.database.vectors import VectorStore
from edge_node.maintenance import check_fingerprint, reembed
from edge_node.memory.hypergraph import Rows
from edge_node.memory.store import ChunkRows, Ratings, Training
from shared.errors import ModelUnavailable, StoreError
from shared.models.fake import HashEmbedder
from tests.support.memory_store import MemoryBench, a_memory, told_of
from tests.support.releases import store_of_release


class OtherEmbedder:
    """Another model, of another dimension; fails after so many batches."""

    fingerprint = "other/5"
    dimensions = 32

    def __init__(self, *, batches=1000):
        self._inner = HashEmbedder(dimensions=32)
        self._left = batches
        self.asked = 0

    async def embed(self, texts):
        if not self._left:
            raise ModelUnavailable("gone")
        self._left -= 1
        self.asked += len(texts)
        return await self._inner.embed(texts)


@pytest.fixture
def database(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BATCH", 2)
    opened = Database(store_of_release("v1", tmp_path))
    yield opened
    opened.close()


def silent(done, total):
    """A progress that nobody watches."""


def test_the_model_of_the_store_is_taken_and_another_refused_with_the_command(database):
    check_fingerprint(database, HashEmbedder().fingerprint)
    with pytest.raises(StoreError, match="was made with the embedding model") as told:
        check_fingerprint(database, "other/5")
    assert "dgrag edge reembed" in told.value.next_step


async def test_all_chunks_get_new_vectors_and_the_graph_is_settled_again(database):
    shown = []
    assert await reembed(database, OtherEmbedder(), lambda done, total: shown.append((done, total))) == 7
    assert shown == [(0, 7), (2, 7), (4, 7), (6, 7), (7, 7)]
    check_fingerprint(database, "other/5")
    assert len(VectorStore(database).load("chunk", 32).keys) == 7
    assert not database.rows("SELECT 1 FROM vectors WHERE kind <> 'chunk'")
    assert not database.rows("SELECT 1 FROM aliases")
    logged = {row["source"] for row in database.rows("SELECT source FROM changes WHERE target = ''")}
    assert {row["key"] for row in database.rows("SELECT key FROM entity_mentions")} <= logged


async def test_memories_stay_without_their_vectors_and_units_are_grouped_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BATCH", 2)
    store = MemoryBench(tmp_path)
    ward = store.add("ward")
    one = a_memory(ward, doubtful=True, model="m")
    store.memories.commit([one])
    Ratings(store.database).rate([one.memory], right=False)
    rows = Rows(np.zeros((1, 1), dtype=np.int64), np.ones((1, 1), dtype=np.float32))
    store.incidence.replace("sentence", [ChunkRows(ward, "sentence", "h", rows, later=False)], Training(1, 0.5))
    await reembed(store.database, OtherEmbedder(), silent)
    [left] = store.memories.all()
    assert told_of(left) == (one.memory, [], "m", True)
    assert list(Ratings(store.database).all()) == [Ratings(store.database).key_of(one.memory)]
    assert (store.incidence.all("sentence"), store.incidence.training("sentence")) == ((), None)
    store.database.close()


async def test_a_damaged_memory_is_not_made_sound_by_the_loss_of_its_vector(tmp_path):
    store = MemoryBench(tmp_path)
    store.memories.commit([a_memory(store.add("ward"))])
    with store.database.write() as tx:
        tx.execute("UPDATE memories SET answer = 'forged'")
    await reembed(store.database, OtherEmbedder(), silent)
    assert store.memories.all() == ()
    store.database.close()


async def test_what_was_interrupted_is_refused_at_start_and_goes_on_where_it_was(database):
    with pytest.raises(ModelUnavailable):
        await reembed(database, OtherEmbedder(batches=2), silent)
    for fingerprint in (HashEmbedder().fingerprint, "other/5"):
        with pytest.raises(StoreError, match="half done"):
            check_fingerprint(database, fingerprint)
    rest = OtherEmbedder()
    assert await reembed(database, rest, silent) == rest.asked == 3
    assert len(VectorStore(database).load("chunk", 32).keys) == 7


async def test_a_third_model_starts_from_the_beginning(database):
    with pytest.raises(ModelUnavailable):
        await reembed(database, OtherEmbedder(batches=2), silent)
    assert await reembed(database, HashEmbedder(), silent) == 7


async def test_the_same_model_has_nothing_to_do(database):
    assert await reembed(database, OtherEmbedder(), silent) == 7
    assert await reembed(database, OtherEmbedder(), silent) == 0
