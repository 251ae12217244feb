"""The benchmark of the cloud's matching, with vectors that need no model."""

import numpy as np
import orjson
import pytest

from benchmarks.clouds import hnsw
from benchmarks.clouds.matching import Field, Turns, fill, measured, read
from shared.vectors import unit

TEXT = "Gold was sold in March by the bank of Halden. The pumps of the ward were repaired by Ruth Orr in May. " * 12


def field(count=30):
    vectors = unit(np.random.default_rng(3).normal(size=(count, 16)).astype(np.float32))
    return Field([["Gold was sold."] * 6 for _ in range(count)], vectors, ["Who sold gold?"] * 8, vectors[:8])


def test_passages_and_questions_are_read_from_splits(tmp_path):
    split = tmp_path / "split.jsonl"
    split.write_bytes(orjson.dumps({"context": TEXT, "input": "Who sold gold?"}) + b"\n")
    passages, questions = read([split])
    assert questions == ["Who sold gold?"]
    assert {len(passage) for passage in passages} == {6}


def test_an_edge_of_a_number_tells_the_same_each_time():
    (one, vectors), (two, others) = field().summaries(4, 5), field().summaries(4, 5)
    assert one == two
    assert np.array_equal(vectors, others)


def test_a_filled_store_is_opened_matched_and_changed(tmp_path, database_url, monkeypatch):
    monkeypatch.setattr("benchmarks.clouds.matching.CHANGED", 3)
    fill(tmp_path, database_url, field(), "some:16", edges=4, each=5)
    found = measured(tmp_path, database_url, field(), "some:16", "numpy", edges=4)
    assert found["summaries"] == 20
    assert found["mean_edges_matched"] >= 1
    assert found["changed_1000_p50_ms"] > 0


def test_several_clouds_match_alone_and_at_once_and_take_nothing_in(tmp_path, database_url):
    fill(tmp_path, database_url, field(), "some:16", edges=4, each=5)
    store = (tmp_path, database_url, field(), "some:16", "numpy")
    one, other = (measured(*store, turns=Turns(number, clouds=2)) for number in range(2))
    assert one["match_p50_ms"] > 0
    assert one["at_once"]["questions_a_second"] > 0
    assert "match_p50_ms" not in other
    assert "new_1000_p50_ms" not in one


@pytest.mark.process
def test_a_scan_of_all_rows_in_postgresql_finds_what_the_index_in_memory_does(postgres):
    vectors = unit(np.random.default_rng(5).normal(size=(200, 16)).astype(np.float32))
    batches = [([f"ward/s{row}" for row in range(200)], vectors)]
    found = hnsw.compared(postgres.fresh(), iter(batches), [(["bank/s1"], vectors[:1])], field().asked, "numpy")
    by_scan = [row["recall"] for row in found["nearest"] if row["candidates"] == 0]
    assert by_scan[-1] == 1.0
    assert all(row["recall"] > 0.9 for row in found["nearest"] if row["candidates"] == 1000)
