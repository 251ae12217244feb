"""One suite for every index: what ``ports.VectorIndex`` promises."""

import logging
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import SettingsError
from shared.index import INDEXES, open_index

NEAR = 6e-3  # of two coordinates with a byte each; of hundreds it is a tenth, as a test shows


@pytest.fixture(params=sorted(INDEXES))
def name(request):
    if request.param == "faiss":
        pytest.importorskip("faiss")
    return request.param


@pytest.fixture
def index(name):
    return open_index(name, 2)


def rows(*vectors):
    return np.array(vectors, dtype=np.float32)


EAST, NORTH, WEST = [1, 0], [0, 1], [-1, 0]


def test_an_empty_index_finds_nothing(index):
    assert len(index) == 0
    assert index.top(rows(EAST)[0], 3) == []


def test_the_best_comes_first_with_its_cosine(index):
    index.put(["east", "between", "north"], rows(EAST, [0.6, 0.8], NORTH))
    found = index.top(rows(NORTH)[0], 2)
    assert [key for key, _ in found] == ["north", "between"]
    assert [score for _, score in found] == pytest.approx([1.0, 0.8], abs=NEAR)
    assert all(isinstance(score, float) for _, score in found)


def test_asking_for_more_than_there_is_returns_all(index):
    index.put(["east", "north"], rows(EAST, NORTH))
    assert len(index.top(rows(EAST)[0], 10)) == 2


@pytest.mark.parametrize("k", [0, -1])
def test_asking_for_none_returns_none(index, k):
    index.put(["east"], rows(EAST))
    assert index.top(rows(EAST)[0], k) == []


def test_a_second_put_of_a_key_replaces_its_vector(index):
    index.put(["a", "b"], rows(EAST, NORTH))
    index.put(["a"], rows(WEST))
    assert len(index) == 2
    assert index.top(rows(WEST)[0], 1)[0][0] == "a"
    assert index.top(rows(EAST)[0], 2)[0] == ("b", pytest.approx(0.0, abs=NEAR))


def test_of_a_key_given_twice_in_one_put_the_last_vector_stays(index):
    index.put(["a", "a"], rows(EAST, NORTH))
    assert len(index) == 1
    assert index.top(rows(NORTH)[0], 1) == [("a", pytest.approx(1.0))]


def test_old_and_new_keys_may_come_in_one_put(index):
    index.put(["a"], rows(EAST))
    index.put(["b", "a", "c"], rows(WEST, NORTH, EAST))
    assert [index.top(rows(v)[0], 1)[0][0] for v in (EAST, NORTH, WEST)] == ["c", "a", "b"]


def test_dropped_keys_are_gone_and_the_rest_keep_their_vectors(index):
    index.put(["a", "b", "c"], rows(EAST, NORTH, WEST))
    index.drop(["a", "nobody"])
    assert len(index) == 2
    assert index.top(rows(WEST)[0], 1)[0][0] == "c"
    assert index.top(rows(NORTH)[0], 1)[0][0] == "b"
    index.put(["d"], rows(EAST))
    assert index.top(rows(EAST)[0], 1)[0][0] == "d"


def test_dropping_everything_leaves_a_usable_index(index):
    index.put(["a"], rows(EAST))
    index.drop(["a"])
    index.drop([])
    assert index.top(rows(EAST)[0], 1) == []
    index.put(["b"], rows(NORTH))
    assert len(index) == 1


def test_ties_go_to_the_key_that_came_first_even_at_the_cut(index):
    index.put([f"k{i}" for i in range(40)], rows(*[EAST] * 40))
    index.drop(["k1"])
    index.put(["k2"], rows(EAST))  # replaced: keeps its place
    assert [key for key, _ in index.top(rows(EAST)[0], 3)] == ["k0", "k2", "k3"]


def test_scores_below_the_minimum_are_left_out(index):
    index.put(["east", "north", "west"], rows(EAST, NORTH, WEST))
    assert [key for key, _ in index.top(rows(EAST)[0], 3, min_score=0.0)] == ["east", "north"]
    assert index.top(rows([-0.6, -0.8])[0], 3, min_score=0.9) == []


def test_given_keys_are_scored_in_their_order_and_an_unknown_one_has_no_score(index):
    index.put(["east", "between", "north"], rows(EAST, [0.6, 0.8], NORTH))
    index.drop(["east"])
    north, east, between = index.scores(rows(NORTH)[0], ["north", "east", "between"])
    assert (north, east, between) == (pytest.approx(1.0, abs=NEAR), None, pytest.approx(0.8, abs=NEAR))
    assert isinstance(north, float)
    assert index.scores(rows(NORTH)[0], []) == []


def test_scores_of_a_bad_question_are_refused(index):
    with pytest.raises(ValueError, match="vector"):
        index.scores(rows([0, 0])[0], ["a"])


@pytest.mark.parametrize(
    "vectors",
    [[[0, 0]], [[np.nan, 1]], [[np.inf, 0]], [[2, 0]], [[1, 0, 0]], [[1]], [[1, 0], [0, 1]], [1, 0]],
    ids=["zero", "nan", "infinite", "not unit", "too wide", "too narrow", "too many", "flat"],
)
def test_a_bad_vector_is_refused_and_changes_nothing(index, vectors):
    index.put(["a"], rows(EAST))
    with pytest.raises(ValueError, match="vector"):
        index.put(["b"], np.array(vectors, dtype=np.float32))
    assert len(index) == 1
    assert index.top(rows(EAST)[0], 5) == [("a", 1.0)]


@pytest.mark.parametrize("vector", [[0, 0], [np.nan, 1], [1, 0, 0]])
def test_a_bad_question_is_refused(index, vector):
    index.put(["a"], rows(EAST))
    with pytest.raises(ValueError, match="vector"):
        index.top(np.array(vector, dtype=np.float32), 1)


def test_it_does_not_write_to_what_it_is_given_nor_keep_it(index):
    given_rows = rows(EAST, NORTH)
    index.put(["a", "b"], given_rows)
    assert given_rows.tolist() == [[1, 0], [0, 1]]
    given_rows[:] = 0
    assert index.top(rows(NORTH)[0], 1) == [("b", 1.0)]


def test_it_grows_past_its_first_capacity(name):
    index = open_index(name, 8)
    vectors = np.random.default_rng(0).normal(size=(500, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    for start in range(0, 500, 7):
        index.put([str(i) for i in range(start, min(start + 7, 500))], vectors[start : start + 7])
    assert all(index.top(vectors[i], 1)[0][0] == str(i) for i in range(0, 500, 50))


def test_puts_from_many_threads_lose_nothing_while_others_read(name):
    index = open_index(name, 2)

    def write(thread):
        for i in range(40):
            index.put([f"{thread}-{i}"], rows(EAST if i % 2 else NORTH))

    def read(_):
        return [len(index.top(rows(EAST)[0], 5)) for _ in range(60)]

    with ThreadPoolExecutor(6) as pool:
        for future in [*(pool.submit(write, t) for t in range(4)), *(pool.submit(read, t) for t in range(2))]:
            future.result()
    assert len(index) == 160
    assert len(index.top(rows(EAST)[0], 200, min_score=0.9)) == 80


def test_bytes_for_coordinates_find_what_floats_find():
    pytest.importorskip("faiss")
    rng = np.random.default_rng(5)
    centres = rng.normal(size=(20, 384))
    made = (centres[rng.integers(20, size=4000)] + rng.normal(size=(4000, 384))).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    keys = [str(row) for row in range(4000)]
    exact, small = open_index("numpy", 384), open_index("faiss", 384)
    for index in (exact, small):
        index.put(keys, made)
    for question in made[:10]:
        wanted, found = dict(exact.top(question, 100)), dict(small.top(question, 100))
        assert len(wanted.keys() & found.keys()) >= 97
        assert max(abs(wanted[key] - found[key]) for key in wanted.keys() & found.keys()) < 5e-3


def test_a_larger_coordinate_makes_all_rows_coarser_and_keeps_them():
    pytest.importorskip("faiss")
    rng = np.random.default_rng(5)
    small = rng.normal(size=(50, 384)).astype(np.float32)
    small /= np.linalg.norm(small, axis=1, keepdims=True)
    index = open_index("faiss", 384)
    index.put([str(row) for row in range(50)], small)
    axis = np.eye(1, 384, dtype=np.float32)
    index.put(["axis"], axis)
    assert index.top(axis[0], 1) == [("axis", pytest.approx(1.0, abs=1e-3))]
    assert all(index.top(small[row], 1) == [(str(row), pytest.approx(1.0, abs=0.01))] for row in range(50))


operations = st.lists(st.tuples(st.sampled_from(["put", "drop"]), st.sampled_from("abcdef"), st.integers(0, 7)), max_size=30)


@given(operations)
def test_every_index_agrees_with_the_reference_after_any_sequence(steps):
    angles = [np.array([[np.cos(a), np.sin(a)]], dtype=np.float32) for a in np.linspace(0, 3, 8)]
    indexes = [open_index(name, 2) for name in ("numpy", "nano", "faiss") if name != "faiss" or "faiss" in sys.modules]
    for action, key, angle in steps:
        for index in indexes:
            index.put([key], angles[angle]) if action == "put" else index.drop([key])
    expected = indexes[0].top(angles[0][0], 4)
    for index in indexes[1:]:
        found = index.top(angles[0][0], 4)
        assert [key for key, _ in found] == [key for key, _ in expected]
        assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=NEAR)


def test_an_unknown_name_is_a_settings_error_that_lists_the_names():
    with pytest.raises(SettingsError) as caught:
        open_index("hnsw", 2)
    assert "nano, numpy, faiss" in caught.value.next_step


def test_a_missing_faiss_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(SettingsError) as caught:
        open_index("faiss", 2)
    assert "pip install 'dgrag[faiss]'" in caught.value.next_step


def test_a_nano_index_neither_reads_files_nor_sets_up_logging(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nano-vectordb.json").write_text('{"embedding_dim": 3}')
    for module in [m for m in sys.modules if m.startswith("nano_vectordb")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    level = logging.getLogger().level
    assert len(open_index("nano", 2)) == 0
    assert logging.getLogger().handlers == []
    assert logging.getLogger().level == level
