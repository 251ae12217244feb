"""What people said of answers is there whatever becomes of documents and memories, and no word of the answers is on the disk."""

import sqlite3
from contextlib import closing

import pytest

from edge_node.maintenance import open_store
from edge_node.memory.records import Rating, memory_of
from edge_node.memory.store import Ratings
from shared.ports import SystemClock
from tests.support.memory_store import MemoryBench, a_memory


@pytest.fixture
def store(tmp_path):
    opened = MemoryBench(tmp_path)
    yield opened
    opened.database.close()


@pytest.fixture
def ratings(store):
    return Ratings(store.database)


def asked(question="Who built Zwickelmühle?", answer="Ann Lee", kind="template"):
    return memory_of(kind, question, answer, [], [])


def test_verdicts_are_counted(ratings):
    for right in (True, False, False):
        ratings.rate([asked()], right=right)
    assert ratings.all() == {ratings.key_of(asked()): Rating(1, 2)}


@pytest.mark.parametrize("again", [asked(kind="learned"), asked(question="who built zwickelmühle"), asked(answer="ann lee.")])
def test_who_says_it_and_how_it_is_written_make_no_difference(ratings, again):
    ratings.rate([asked(), again], right=False)
    assert list(ratings.all().values()) == [Rating(0, 1)]


@pytest.mark.parametrize("other", [asked(answer="Bo Ray"), asked(question="Who sold Zwickelmühle?"), asked(answer="Lee Ann")])
def test_another_question_or_answer_is_rated_for_itself(ratings, other):
    ratings.rate([asked()], right=False)
    ratings.rate([other], right=True)
    assert ratings.all() == {ratings.key_of(asked()): Rating(0, 1), ratings.key_of(other): Rating(1, 0)}


def test_what_is_barred_stays_barred_whatever_is_said_of_it(ratings):
    ratings.bar([asked()])
    for _ in range(3):
        ratings.rate([asked()], right=True)
    (rating,) = ratings.all().values()
    assert (rating, rating.silences) == (Rating(3, 0, barred=True), True)


def test_ratings_outlive_the_documents_and_a_restart_and_go_where_memory_is_switched_off(store, ratings):
    ward = store.add("ward")
    one = a_memory(ward)
    store.memories.commit([one])
    ratings.bar([one.memory])
    store.remove(ward)
    known = {ratings.key_of(one.memory): Rating(barred=True)}
    assert ratings.all() == known
    store.database.close()
    store.open(open_store(store.path, SystemClock()))
    assert Ratings(store.database).all() == known
    store.memories.clear()
    assert Ratings(store.database).all() == {}


def test_no_word_of_it_is_on_the_disk_and_another_store_has_other_keys(store, ratings, tmp_path):
    ratings.rate([asked()], right=False)
    assert not any(b"wickelm" in path.read_bytes() for path in store.path.parent.glob("edge.db*"))
    (tmp_path / "other").mkdir()
    other = MemoryBench(tmp_path / "other")
    assert Ratings(other.database).key_of(asked()) != ratings.key_of(asked())
    other.database.close()


@pytest.mark.parametrize("wrong", ["bad = 0", "barred = 1", "said_key = CAST(x'ff' AS TEXT)"])
def test_a_damaged_rating_is_not_read_nor_counted_on_and_gone_after_a_start(store, ratings, wrong):
    ratings.rate([asked()], right=False)
    ratings.rate([asked(answer="Bo Ray")], right=False)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        connection.execute(f"UPDATE ratings SET {wrong} WHERE said_key = ?", (ratings.key_of(asked()),))
    kept = {ratings.key_of(asked(answer="Bo Ray")): Rating(0, 1)}
    assert ratings.all() == kept
    store.database.close()
    store.open(open_store(store.path, SystemClock()))
    assert (Ratings(store.database).all(), store.counted("ratings")) == (kept, [1])


def test_a_verdict_on_what_is_damaged_begins_anew(store, ratings):
    ratings.rate([asked()], right=False)
    with store.database.write() as tx:
        tx.execute("UPDATE ratings SET good = 9")
    ratings.rate([asked()], right=True)
    assert list(ratings.all().values()) == [Rating(1, 0)]
