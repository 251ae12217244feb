"""Which units belong together, on disk: rows are a chunk's own, and a training takes the place of all before it."""

from dataclasses import replace

import numpy as np
import pytest

from edge_node.maintenance import open_store
from edge_node.memory.hypergraph import Rows
from edge_node.memory.store import ChunkRows, Training
from shared.ports import SystemClock
from tests.support.memory_store import MemoryBench

TRAINING = Training(400, 0.62)


@pytest.fixture
def store(tmp_path):
    opened = MemoryBench(tmp_path)
    yield opened
    opened.database.close()


def rows_of(chunk_id, shares, *, grain="sentence", later=False):
    values = np.array(shares, dtype=np.float32)
    columns = np.arange(values.size, dtype=np.int64).reshape(values.shape) + 70_000
    return ChunkRows(chunk_id, grain, "hash", Rows(columns, values), later)


def told_of(one):
    return one.chunk_id, one.grain, one.text_hash, one.rows.columns.tolist(), one.rows.values.tolist(), one.later


def stored(store, grain="sentence"):
    return [told_of(one) for one in store.incidence.all(grain)]


def told(*rows):
    return sorted(map(told_of, rows))


def test_rows_are_read_again_as_they_were_number_for_number(store):
    one, other = rows_of(store.add("ward"), [[0.7, 0.3], [1, 0]]), rows_of(store.add("gate"), [[1 / 3]], later=True)
    store.incidence.add([one, other])
    assert stored(store) == told(one, other)
    assert {(each.rows.columns.dtype.name, each.rows.values.dtype.name) for each in store.incidence.all("sentence")} == {
        ("int64", "float32")
    }


def test_a_chunk_without_units_has_no_rows_and_is_remembered_as_placed(store):
    one = rows_of(store.add("ward"), np.empty((0, 0)))
    store.incidence.add([one])
    assert stored(store) == told(one)


def test_grains_do_not_meet(store):
    ward = store.add("ward")
    one, other = rows_of(ward, [[1]], grain="paragraph"), rows_of(ward, [[1], [1]])
    store.incidence.add([one, other])
    assert (stored(store, "paragraph"), stored(store, "sentence")) == (told(one), told(other))
    store.incidence.replace("paragraph", [], TRAINING)
    assert (stored(store, "paragraph"), stored(store, "sentence")) == ([], told(other))
    assert (store.incidence.training("paragraph"), store.incidence.training("sentence")) == (TRAINING, None)


def test_a_training_takes_the_place_of_all_that_there_was(store):
    ward, gate = store.add("ward"), store.add("gate")
    store.incidence.add([rows_of(ward, [[1]]), rows_of(gate, [[1]], later=True)])
    newer = rows_of(gate, [[0.5, 0.5]])
    store.incidence.replace("sentence", [newer], TRAINING)
    assert (stored(store), store.incidence.training("sentence")) == (told(newer), TRAINING)


def test_rows_go_with_their_chunk_and_none_is_kept_of_one_that_is_gone(store):
    ward, gate = store.add("ward"), store.add("gate")
    kept = rows_of(gate, [[1]])
    store.incidence.add([rows_of(ward, [[1]]), kept])
    store.remove(ward)
    store.incidence.add([rows_of(ward, [[1]])])
    assert stored(store) == told(kept)
    store.incidence.replace("sentence", [rows_of(ward, [[1]]), kept], TRAINING)
    assert stored(store) == told(kept)


def test_all_can_be_taken_away_with_what_is_known_of_the_training(store):
    store.incidence.replace("sentence", [rows_of(store.add("ward"), [[1]])], TRAINING)
    store.incidence.clear()
    assert (stored(store), store.incidence.training("sentence")) == ([], None)


@pytest.mark.parametrize("damage", ["", "[]", "[1]", '["a", "b"]', "{", "null", '{"units": 1}'])
def test_a_damaged_note_of_a_training_counts_as_none(store, damage):
    store.database.set_meta("hyperedges_sentence", damage)
    assert store.incidence.training("sentence") is None


@pytest.mark.parametrize(
    "damage", ["shares = zeroblob(8)", "hyperedges = zeroblob(8)", "units = 1", "later = 1", "text_hash = 'other'", "grain = 'paragraph'"]
)
def test_damaged_rows_are_not_read_and_gone_after_a_start_and_the_others_stay(store, damage):
    ward, gate = rows_of(store.add("ward"), [[1], [1]]), rows_of(store.add("gate"), [[1], [1]])
    store.incidence.add([ward, gate])
    with store.database.write() as tx:
        tx.execute(f"UPDATE incidence SET {damage} WHERE chunk_id = ?", (ward.chunk_id,))
    assert stored(store) + stored(store, "paragraph") == told(gate)
    store.database.close()
    store.open(open_store(store.path, SystemClock()))
    assert (stored(store), store.counted("incidence")) == (told(gate), [1])


def test_a_later_row_takes_the_place_of_the_former_one(store):
    former = rows_of(store.add("ward"), [[1]])
    newer = replace(rows_of(former.chunk_id, [[0.25, 0.75]]), text_hash="newer")
    store.incidence.add([former])
    store.incidence.add([newer])
    assert stored(store) == told(newer)
