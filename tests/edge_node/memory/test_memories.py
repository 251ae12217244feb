"""Facts and memories on disk: each is there as long as every chunk that it rests on, and no longer."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.maintenance import open_store
from edge_node.memory.store import insert_facts
from shared.ports import SystemClock
from tests.support.memory_store import MemoryBench, a_fact, a_memory, told_of

TABLES = ("facts", "memory_readings", "memories", "memory_chunks")


@pytest.fixture
def store(tmp_path):
    opened = MemoryBench(tmp_path)
    yield opened
    opened.database.close()


def remembered(store):
    return [told_of(one) for one in store.memories.all()]


def told(*stored):
    return sorted((told_of(one) for one in stored), key=lambda one: one[0].memory_id)


# ---------------------------------------------------------------- facts


def test_facts_are_read_again_in_the_order_of_their_chunk(store):
    ward, gate = store.add("ward"), store.add("gate")
    said = [a_fact(ward, "Zoe"), a_fact(ward, "Ann", negated=True), a_fact(ward, "Zoe", preposition="")]
    store.memories.save_facts([ward, gate], [said[0], a_fact(gate), *said[1:]])
    assert store.memories.facts_of([ward]) == tuple(said)
    assert set(store.memories.facts_of([ward, gate, "unknown"])) == {*said, a_fact(gate)}


def test_facts_take_the_place_of_a_chunks_former_ones_and_memories_are_to_be_made_of_them(store):
    ward, gate = store.add("ward"), store.add("gate")
    store.memories.save_facts([ward, gate], [a_fact(ward, "Ann"), a_fact(ward, "Ben"), a_fact(gate)])
    store.memories.commit([], read=[ward, gate], templates=3)
    store.memories.save_facts([ward], [a_fact(ward, "Zoe")])
    assert store.memories.facts_of([ward, gate]) == tuple(sorted([a_fact(ward, "Zoe"), a_fact(gate)], key=lambda fact: fact.chunk_id))
    assert store.memories.readings() == {ward: 0, gate: 3}


def test_a_chunk_that_says_nothing_counts_as_read_and_one_that_is_gone_does_not(store):
    ward, gone = store.add("ward"), store.add("gone")
    store.remove(gone)
    store.memories.save_facts([ward, gone], [a_fact(gone)])
    assert (store.memories.readings(), store.memories.facts_of([ward, gone])) == ({ward: 0}, ())


def test_facts_are_written_in_the_transaction_of_their_chunk_or_not_at_all(store):
    ward = store.add("ward")

    def killed(tx):
        insert_facts(tx, [ward], [a_fact(ward)])
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError), store.database.write() as tx:
        killed(tx)
    assert (store.memories.readings(), store.memories.facts_of([ward])) == ({}, ())


# ---------------------------------------------------------------- memories


def test_what_is_remembered_is_read_again(store):
    ward, gate = store.add("ward"), store.add("gate")
    one, other = a_memory(ward, gate, kind="model", model="m"), a_memory(gate, kind="learned", doubtful=True)
    assert store.memories.commit([one, other]) == {one.memory.memory_id, other.memory.memory_id}
    assert remembered(store) == told(one, other)


def test_a_memory_may_rest_on_several_sentences_of_a_chunk(store):
    ward = store.add("ward")
    one = a_memory(ward)
    two = replace(one, memory=replace(one.memory, supports=(*one.memory.supports, replace(one.memory.supports[0], start=25, end=40))))
    store.memories.commit([two])
    assert remembered(store) == told(two)


def test_a_memory_goes_with_the_first_chunk_that_goes_and_the_others_stay(store):
    ward, gate = store.add("ward"), store.add("gate")
    both, kept = a_memory(ward, gate), a_memory(gate)
    store.memories.commit([both, kept])
    store.memories.save_facts([ward], [a_fact(ward)])
    store.remove(ward)
    assert remembered(store) == told(kept)
    assert store.counted(*TABLES) == [0, 0, 1, 1]


def test_a_memory_of_a_chunk_that_is_gone_is_not_kept_and_the_others_are(store):
    ward, gate = store.add("ward"), store.add("gate")
    store.remove(ward)
    kept = a_memory(gate)
    assert store.memories.commit([a_memory(ward, gate), kept]) == {kept.memory.memory_id}
    assert remembered(store) == told(kept)


def test_a_memory_that_is_written_anew_is_what_was_written_last(store):
    ward = store.add("ward")
    one = a_memory(ward)
    later = replace(one, vector=one.vector * 2, doubtful=True, model="m")
    store.memories.commit([one])
    store.memories.commit([later, later])
    assert remembered(store) == told(later)


def test_memories_come_and_go_with_the_note_of_what_was_read_at_once(store):
    ward = store.add("ward")
    store.memories.save_facts([ward], [a_fact(ward)])
    former, newer = a_memory(ward, question="When was it?"), a_memory(ward)
    store.memories.commit([former], read=[ward], templates=1)
    store.memories.commit([newer], [former.memory.memory_id, "unknown"], read=[ward], templates=2)
    assert (remembered(store), store.memories.readings()) == (told(newer), {ward: 2})


def test_a_chunk_that_has_lost_a_memory_is_to_be_read_again(store):
    ward, gate = store.add("ward"), store.add("gate")
    store.memories.save_facts([ward, gate], [a_fact(ward)])
    store.memories.commit([a_memory(ward, gate)], read=[ward, gate], templates=2)
    store.remove(ward)
    assert store.memories.readings() == {gate: 0}


def test_a_vector_of_other_dimensions_is_to_be_made_again(store):
    ward = store.add("ward")
    store.memories.commit([a_memory(ward, vector=(1, 2))])
    assert [one.vector.shape for one in store.memories.all()] == [(0,)]


def test_all_can_be_taken_away_and_what_was_drawn_for_names_stays(store):
    ward = store.add("ward")
    store.memories.save_facts([ward], [a_fact(ward)])
    store.memories.commit([a_memory(ward)])
    with store.database.write() as tx:
        tx.execute("INSERT INTO released_names VALUES ('k', 'person', 'Ann', 2.0, 1.0, crc('k', 'person', 'Ann', 2.0, 1.0))")
    store.memories.clear()
    assert store.counted(*TABLES, "released_names") == [0, 0, 0, 0, 1]


def test_with_nothing_to_take_away_nothing_is_written(store):
    before = store.database.meta("commits")
    store.memories.clear()
    assert store.database.meta("commits") == before


@pytest.fixture(scope="module")
def one_store(tmp_path_factory):
    opened = MemoryBench(tmp_path_factory.mktemp("one"))
    yield opened
    opened.database.close()


@settings(max_examples=50, deadline=None)
@given(removed=st.sets(st.integers(0, 3)), supports=st.lists(st.sets(st.integers(0, 3), min_size=1), max_size=5))
def test_what_is_left_is_what_rests_on_chunks_that_are_left(one_store, removed, supports):
    store = one_store
    store.memories.clear()
    chunks = [store.add(name) for name in ("ward", "gate", "pump", "mill")]
    several = {number: a_memory(*(chunks[each] for each in some), question=f"{number}?") for number, some in enumerate(supports)}
    store.memories.commit(several.values())
    for number in removed:
        store.remove(chunks[number])
    left = [several[number] for number, some in enumerate(supports) if not some & removed]
    assert remembered(store) == told(*left)
    assert store.counted("memory_chunks") == [sum(len(one.memory.supports) for one in left)]


# ---------------------------------------------------------------- damage


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE memories SET answer = 'forged' WHERE kind = 'template'",
        "UPDATE memories SET doubtful = 1 WHERE kind = 'template'",
        "UPDATE memories SET vector = zeroblob(8) WHERE kind = 'template'",
        "UPDATE memories SET anchors = '[' WHERE kind = 'template'",
        "UPDATE memory_chunks SET start = 0 WHERE rowid = 1",
        "UPDATE memory_chunks SET memory_id = 'gone' WHERE rowid = 1",
        "UPDATE memory_chunks SET chunk_id = 'gone' WHERE rowid = 1",
        "DELETE FROM memory_chunks WHERE rowid = 1",
    ],
)
def test_a_damaged_memory_is_not_read_and_gone_after_a_start_and_the_others_stay(store, damage):
    ward, gate = store.add("ward"), store.add("gate")
    kept = a_memory(gate, kind="learned")
    store.memories.commit([a_memory(ward, gate)])
    store.memories.commit([kept])
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        connection.execute(damage)
    assert remembered(store) == told(kept)
    store.database.close()
    store.open(open_store(store.path, SystemClock()))
    assert remembered(store) == told(kept)
    assert store.counted("memories", "memory_chunks") == [1, 1]


def test_a_memory_that_has_lost_the_row_of_a_sentence_is_not_read(store):
    store.memories.commit([a_memory(store.add("ward"), store.add("gate"))])
    with store.database.write() as tx:
        tx.execute("DROP TRIGGER memory_chunk_removed")
        tx.execute("DELETE FROM memory_chunks WHERE rowid = 1")
    assert remembered(store) == []


@pytest.mark.parametrize("column", ["memory_id", "chunk_id"])
def test_a_sentence_whose_key_is_no_text_any_more_takes_its_memory_along_at_a_start(store, column):
    kept = a_memory(store.add("gate"))
    store.memories.commit([a_memory(store.add("ward"))])
    store.memories.commit([kept])
    store.database.close()
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        connection.execute(f"UPDATE memory_chunks SET {column} = CAST(x'ff' AS TEXT) WHERE rowid = 1")
    store.open(open_store(store.path, SystemClock()))
    assert remembered(store) == told(kept)


def test_a_damaged_memory_is_to_be_made_again_of_its_chunk(store):
    ward = store.add("ward")
    store.memories.save_facts([ward], [a_fact(ward)])
    store.memories.commit([a_memory(ward)], read=[ward], templates=2)
    with store.database.write() as tx:
        tx.execute("UPDATE memories SET answer = 'forged'")
    store.database.close()
    store.open(open_store(store.path, SystemClock()))
    assert (remembered(store), store.memories.readings()) == ([], {ward: 0})


def test_a_damaged_fact_is_not_read_and_its_document_is_indexed_again_after_a_start(store):
    ward = store.add("ward")
    store.memories.save_facts([ward], [a_fact(ward, "Ann"), a_fact(ward, "Ben")])
    with store.database.write() as tx:
        tx.execute("UPDATE documents SET status = 'indexed'")
        tx.execute("UPDATE facts SET negated = 1 WHERE subject = 'Ben'")
    assert store.memories.facts_of([ward]) == (a_fact(ward, "Ann"),)
    store.database.close()
    store.open(open_store(store.path, SystemClock()))
    assert (store.counted("facts"), store.database.row("SELECT status FROM documents")[0]) == ([1], "queued")


def test_a_damaged_draw_of_a_name_is_gone_after_a_start_and_the_others_stay(store):
    with store.database.write() as tx:
        for name in ("k", "l"):
            fields = f"'{name}', 'person', 'Ann', 2.0, 1792.25"
            tx.execute(f"INSERT INTO released_names VALUES ({fields}, crc({fields}))")
        tx.execute("UPDATE released_names SET surrogate = 'Zoe' WHERE name_key = 'k'")
    store.database.close()
    store.open(open_store(store.path, SystemClock()))
    assert [row["name_key"] for row in store.database.rows("SELECT name_key FROM released_names")] == ["l"]


def test_a_damaged_shared_memory_gives_the_store_a_new_epoch_and_a_sound_tombstone_does_not(store):
    with store.database.write() as tx:
        tx.execute("INSERT INTO shared_memories VALUES ('s', '', '', '', 0, 3, 1, 0)")
    epoch = store.database.meta("epoch")
    store.database.close()
    store.open(open_store(store.path, SystemClock()))
    assert (store.counted("shared_memories"), store.database.meta("epoch")) == ([1], epoch)
    with store.database.write() as tx:
        tx.execute("UPDATE shared_memories SET question = 'Who?'")
    store.database.close()
    store.open(open_store(store.path, SystemClock()))
    assert store.counted("shared_memories") == [0]
    assert store.database.meta("epoch") != epoch


# ---------------------------------------------------------------- doubts, bars and what is there


def test_only_memories_that_are_there_are_present(store):
    memory = a_memory(store.add("ward"))
    store.memories.commit([memory])
    assert store.memories.present([memory.memory.memory_id, "unknown"]) == {memory.memory.memory_id}


def test_a_doubt_about_one_memory_leaves_the_others_as_they_are(store):
    ward = store.add("ward")
    one, other = a_memory(ward), a_memory(ward, question="Who built Ünal's mill?")
    store.memories.commit([one, other])
    store.memories.doubt([one.memory.memory_id, "unknown"])
    assert remembered(store) == told(replace(one, doubtful=True), other)


def test_a_damaged_memory_is_not_made_whole_by_a_doubt(store):
    memory = a_memory(store.add("ward"))
    store.memories.commit([memory])
    with store.database.write() as tx:
        tx.execute("UPDATE memories SET answer = 'forged'")
    store.memories.doubt([memory.memory.memory_id])
    assert store.memories.all() == ()
