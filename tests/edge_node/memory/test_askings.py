"""What a model was asked stands as long as what came of it does."""

import pytest

from edge_node.memory.writer import ASKED_OF, AskedSoFar, AskingStore
from tests.support.memory_store import MemoryBench, a_memory


@pytest.fixture
def store(tmp_path):
    opened = MemoryBench(tmp_path)
    yield opened
    opened.database.close()


@pytest.fixture
def askings(store):
    return AskingStore(store.database)


def remember(store, *chunk_ids, **fields):
    return store.memories.commit([a_memory(*chunk_ids, kind="model", **fields)])


def noted(store):
    return [row["key"] for row in store.database.rows("SELECT key FROM meta WHERE key GLOB ?", (ASKED_OF + "*",))]


def standing(askings):
    found = askings.standing()
    return found.tokens, set(found.names)


def test_nothing_was_asked_at_first(askings):
    assert askings.standing() == AskedSoFar(0, frozenset())


def test_askings_add_up_also_for_who_opens_the_store_later(store, askings):
    askings.note("one", 40, remember(store, store.add("ward")))
    askings.note("other", 7, [store.add("gate")])
    assert standing(askings) == standing(AskingStore(store.database)) == (47, {"one", "other"})


@pytest.mark.parametrize("came", [True, False], ids=["memories came of it", "none came of it"])
def test_what_is_gone_is_forgotten_with_its_tokens(store, askings, came):
    ward = store.add("ward")
    askings.note("one", 40, remember(store, ward) if came else [ward])
    store.remove(ward)
    assert (standing(askings), noted(store)) == ((0, set()), [])


def test_what_came_and_went_unseen_is_not_taken_for_what_was_there(store, askings):
    ward = store.add("ward")
    askings.note("one", 40, remember(store, ward))
    store.remove(ward)
    assert store.add("ward") == ward
    assert standing(askings) == (0, set())


def test_of_what_is_left_in_part_a_part_of_the_tokens_counts_and_it_may_be_asked_again(store, askings):
    ward, gate = store.add("ward"), store.add("gate")
    askings.note("one", 41, remember(store, ward) | remember(store, gate))
    store.remove(ward)
    assert standing(askings) == (21, set())


def test_asked_again_what_was_left_goes_on_counting_unless_it_was_written_again(store, askings):
    ward, gate = store.add("ward"), store.add("gate")
    left = remember(store, gate)
    askings.note("one", 40, remember(store, ward) | left)
    store.remove(ward)
    askings.note("one", 30, remember(store, store.add("ward")))
    assert standing(askings) == (50, {"one"})
    askings.note("one", 60, remember(store, ward) | left)
    assert standing(askings) == (60, {"one"})


def test_a_damaged_note_counts_as_nothing_and_harms_no_other(store, askings):
    gate = store.add("gate")
    askings.note("one", 40, [store.add("ward")])
    askings.note("other", 7, [gate])
    store.database.set_meta(ASKED_OF + "one", "not a list")
    assert (standing(askings), noted(store)) == ((7, {"other"}), [ASKED_OF + "other"])
    askings.note("one", 5, [gate])
    assert standing(askings) == (12, {"one", "other"})
