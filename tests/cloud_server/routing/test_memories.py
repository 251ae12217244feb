"""What edges told of memories, on the cloud's disk: each delta once, in order, within bounds, and gone when it is gone."""

import numpy as np
import pytest

from cloud_server.database import Database
from cloud_server.registry.edges import EdgeRegistry
from cloud_server.routing.memories import MemoryStore
from shared.errors import NotFound, ResyncNeeded, StaleEpoch, TooLarge
from shared.wire import MemoryBody, MemoryDelta

MOST = 3


@pytest.fixture
def database(tmp_path, clock):
    made = Database(tmp_path / "cloud.db")
    EdgeRegistry(made, clock).enrol("ward")
    yield made
    made.close()


@pytest.fixture
def removed():
    return []


@pytest.fixture
def store(database, clock, removed):
    return MemoryStore(database, clock, max_per_edge=MOST, on_removed=lambda: removed.append(1))


def delta(base, version, *ids, removals=(), epoch="e1", answer="Ann"):
    told = [MemoryBody(memory_id=one, question=f"Who is {one}?", answer=answer, direct=True) for one in ids]
    return MemoryDelta(epoch=epoch, base_version=base, version=version, upserts=told, removals=removals)


def apply(store, change, **feedback):
    vectors = np.eye(4, dtype=np.float32)[: len(change.upserts)]
    return store.apply("ward", change, vectors, feedback)


def test_a_delta_is_applied_once_and_comes_back_as_it_was_told(store):
    assert [apply(store, delta(0, 1, "a", "b")) for _ in range(2)] == [True, False]
    sound, damaged = store.load()
    assert [(held.edge, held.memory.question, held.memory.answer, held.held_back) for held in sound] == [
        ("ward", "Who is a?", "Ann", ""),
        ("ward", "Who is b?", "Ann", ""),
    ]
    np.testing.assert_allclose(sound[1].vector, [0, 1, 0, 0], atol=0.01)
    assert (damaged, store.known("ward"), store.counts()) == ([], ("e1", 1), {"ward": 2})


def test_a_delta_that_does_not_follow_asks_for_a_snapshot(store):
    apply(store, delta(0, 1, "a"))
    with pytest.raises(ResyncNeeded):
        apply(store, delta(2, 3, "b"))


def test_a_snapshot_replaces_all_and_a_delta_of_the_former_store_is_refused(store):
    apply(store, delta(0, 5, "a", "b"))
    apply(store, delta(0, 1, "c", epoch="e2"))
    assert store.ids("ward") == {"c"}
    with pytest.raises(StaleEpoch):
        apply(store, delta(5, 6, "d", epoch="e1"))


def test_removals_go_and_their_bytes_are_to_be_overwritten(store, removed):
    apply(store, delta(0, 1, "a", "b"))
    assert removed == []
    apply(store, delta(1, 2, removals=["a"]))
    assert (store.ids("ward"), removed) == ({"b"}, [1])


def test_a_memory_that_is_told_anew_is_to_be_overwritten_too(store, removed):
    apply(store, delta(0, 1, "a"))
    apply(store, delta(1, 2, "a", answer="Bo"))
    assert ([held.memory.answer for held in store.of("ward")], removed) == (["Bo"], [1])


def test_more_than_the_quota_is_refused_as_a_whole(store):
    apply(store, delta(0, 1, "a", "b"))
    with pytest.raises(TooLarge):
        apply(store, delta(1, 2, "c", "d"))
    assert store.ids("ward") == {"a", "b"}
    apply(store, delta(1, 2, "c", "d", removals=["a"]))
    assert store.ids("ward") == {"b", "c", "d"}


def test_an_unknown_edge_tells_nothing(store):
    with pytest.raises(NotFound):
        store.apply("bank", delta(0, 1), np.empty((0, 4), dtype=np.float32), {})


@pytest.mark.parametrize("damage", ["answer = 'forged'", "direct = 0", "held_back = 'x'", "vector = x'01020304'", "question = 'Who else?'"])
def test_a_damaged_row_goes_and_its_edge_is_asked_for_all(store, database, damage):
    apply(store, delta(0, 1, "a", "b"))
    with database.write() as tx:
        tx.execute(f"UPDATE memories SET {damage} WHERE memory_id = 'a'")
    sound, damaged = store.load()
    assert ([held.memory.memory_id for held in sound], damaged, store.known("ward")) == (["b"], ["ward"], ("", 0))
    assert store.load()[1] == []


def test_an_edge_that_is_expelled_leaves_no_memory(store, database, clock):
    apply(store, delta(0, 1, "a"))
    EdgeRegistry(database, clock).expel("ward")
    assert store.load() == ([], [])


def test_what_is_held_back_stays_so_until_it_is_told_anew(store):
    apply(store, delta(0, 1, "a"))
    store.hold_back("ward", "a", "unconfirmed")
    store.hold_back("ward", "unknown", "unconfirmed")
    assert [held.held_back for held in store.load()[0]] == ["unconfirmed"]
    apply(store, delta(1, 2, "a"))
    assert [held.held_back for held in store.load()[0]] == [""]


def test_a_cleared_store_knows_nothing_of_any_edge(store, removed):
    store.clear()
    assert removed == []
    apply(store, delta(0, 4, "a"))
    store.clear()
    assert (store.load(), store.known("ward"), removed) == (([], []), ("", 0), [1])
