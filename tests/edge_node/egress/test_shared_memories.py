"""What the cloud is to be told of memories, on disk: deltas, tombstones, and nothing left of what was deleted."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edge_node.database.check import examine
from edge_node.documents.receipts import ReceiptStore
from edge_node.memory.records import Support
from edge_node.memory.release import SharedMemory
from edge_node.policy.surrogates import ReleasedName
from tests.support.telling import Teller

MOST = 2


@pytest.fixture
def teller(tmp_path):
    made = Teller(tmp_path)
    yield made
    made.database.close()


def shared(memory_id, question="Who built it?", answer="Ann Lee"):
    return SharedMemory(memory_id, question, answer, direct=True)


def ids_of(delta):
    return [memory.memory_id for memory in delta.upserts]


def commit(teller, *leaving, drawn=()):
    teller.told.commit(leaving, drawn, obeys="p:0", at=5.0)


def test_a_deleted_document_takes_the_words_of_its_shared_memories_with_it_at_once(teller):
    chunk_id, before = teller.mill(answer="Zebulon Quillfeather"), teller.told.version()
    teller.renewed()
    receipt_id = teller.forget(chunk_id)
    row = teller.database.row("SELECT * FROM shared_memories")
    assert (row["memory_id"], row["question"], row["answer"], row["removed"], row["version"]) == ("", "", "", 1, before + 2)
    assert teller.told.version() == ReceiptStore(teller.database).get(receipt_id).memories == before + 2
    with teller.database.write() as tx:
        assert examine(tx) == ()


def test_no_byte_of_a_shared_memory_is_left_in_the_files_once_its_document_is_erased(teller):
    chunk_id = teller.mill(answer="Zebulon Quillfeather")
    teller.renewed()
    teller.forget(chunk_id)
    receipts = ReceiptStore(teller.database)
    assert receipts.erase(receipts.unerased())
    assert not any(b"Quillfeather" in path.read_bytes() for path in teller.path.parent.glob("edge.db*"))


def test_null_control_before_it_is_deleted_the_bytes_of_a_shared_memory_are_there(teller):
    teller.mill(answer="Zebulon Quillfeather")
    teller.renewed()
    assert any(b"Quillfeather" in path.read_bytes() for path in teller.path.parent.glob("edge.db*"))


def test_a_memory_that_was_deleted_while_it_was_looked_at_is_not_written(teller):
    kept, gone = teller.mill(), teller.mill("Who sold it?")
    found = teller.memory_sharing.released()
    teller.forget(gone)
    commit(teller, *found.leaving)
    assert teller.stored() == [("Who built Orrin Mill?", "Ann Lee", 1)]
    assert kept != gone


def test_what_is_stored_again_as_it_was_is_no_news(teller):
    teller.mill()
    teller.renewed()
    version = teller.told.version()
    commit(teller, *teller.memory_sharing.released().leaving)
    assert teller.told.version() == version


def test_the_id_outside_is_another_than_the_one_in_the_store_and_stays(teller):
    memory_id = teller.remember("Who?", "Ann", teller.say("Ann did it"))
    commit(teller, shared(memory_id))
    first = ids_of(teller.told.delta(epoch="", version=0))
    teller.again()
    assert first == ids_of(teller.told.delta(epoch="", version=0)) != [memory_id]


def test_a_name_stays_as_it_was_drawn_first(teller):
    commit(teller, drawn=[ReleasedName("k", "place", "Milton", 2.0)])
    commit(teller, drawn=[ReleasedName("k", "place", "Ashford", 1.0)])
    assert [name.surrogate for name in teller.drawn().values()] == ["Milton"]


# ------------------------------------------------------------ deltas


def test_a_cloud_that_knows_another_store_gets_a_snapshot_without_removals(teller):
    teller.mill()
    teller.renewed()
    teller.forget(teller.mill("Who sold it?"))
    delta = teller.told.delta(epoch="other", version=7)
    assert (delta.base_version, len(delta.upserts), delta.removals) == (0, 1, ())


def test_a_cloud_that_knows_a_version_gets_what_follows_it(teller):
    teller.mill()
    gone = teller.mill("Who sold it?")
    teller.renewed()
    known, before = teller.told.version(), ids_of(teller.told.delta(epoch="", version=0))
    teller.forget(gone)
    delta = teller.told.delta(epoch=teller.told.epoch(), version=known)
    assert (delta.base_version, delta.version, delta.upserts) == (known, known + 1, ())
    assert set(delta.removals) < set(before)


def test_a_cloud_that_missed_removals_which_are_forgotten_gets_a_snapshot(teller):
    gone = teller.mill()
    teller.renewed()
    known = teller.told.version()
    teller.forget(gone)
    teller.told.drop_tombstones(version=teller.told.version())
    assert teller.told.delta(epoch=teller.told.epoch(), version=known).base_version == 0
    assert teller.database.row("SELECT 1 FROM shared_memories") is None


def test_more_removals_than_one_delta_holds_are_a_snapshot(teller, monkeypatch):
    monkeypatch.setattr("edge_node.egress.memory_outbox.MAX_MEMORIES", MOST)
    memories = [teller.remember(f"Who built {n}?", "Ann", teller.say(f"Ann built {n}.")) for n in range(MOST + 1)]
    commit(teller, *map(shared, memories))
    known = teller.told.version()
    commit(teller)
    delta = teller.told.delta(epoch=teller.told.epoch(), version=known)
    assert (delta.base_version, delta.removals) == (0, ())


def test_a_damaged_one_is_not_told(teller):
    teller.mill()
    teller.renewed()
    with teller.database.write() as tx:
        tx.execute("UPDATE shared_memories SET answer = 'forged'")
    assert teller.told.delta(epoch="", version=0).upserts == ()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sets(st.integers(0, 4)), st.booleans(), st.booleans()), max_size=6))
def test_a_cloud_that_applies_any_deltas_knows_what_the_store_tells(tmp_path_factory, rounds):
    teller, known, cloud = Teller(tmp_path_factory.mktemp("told")), (0, ""), {}
    chunks = [teller.say(f"Ann built {n}.") for n in range(5)]
    memories = [teller.remember(f"Who built {n}?", "Ann", chunk_id) for n, chunk_id in enumerate(chunks)]
    for told, is_deleting, is_heard in rounds:
        commit(teller, *(shared(memories[n], f"Who built {n}?") for n in told))
        if is_deleting and told and chunks[min(told)]:
            teller.forget(chunks[min(told)])
            chunks[min(told)] = ""
        if is_heard:
            delta = teller.told.delta(epoch=known[1], version=known[0])
            cloud = cloud if delta.base_version else {}
            cloud = {key: one for key, one in cloud.items() if key not in delta.removals} | {one.memory_id: one for one in delta.upserts}
            known = delta.version, delta.epoch
            teller.told.drop_tombstones(version=delta.version)
            assert sorted((one.question, one.answer, one.direct) for one in cloud.values()) == teller.stored()
    teller.database.close()


# ------------------------------------------------------------ what stands behind an id


def test_the_sentences_of_told_memories_come_in_the_order_asked_and_of_others_nothing(teller):
    first, second = teller.say("Ann built it."), teller.say("Bo sold it.")
    commit(teller, *(shared(teller.remember("Who?", "Ann", chunk_id)) for chunk_id in (first, second)))
    here = {row["memory_id"]: row["shared_id"] for row in teller.database.rows("SELECT memory_id, shared_id FROM shared_memories")}
    ids = [here[teller.remember("Who?", "Ann", chunk_id)] for chunk_id in (second, first)]
    assert teller.told.supports([*ids, "unknown"]) == (Support(second, 0, 9), Support(first, 0, 9))
    commit(teller)
    assert teller.told.supports(ids) == ()
