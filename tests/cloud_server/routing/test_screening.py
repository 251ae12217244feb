import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_server.routing import screening
from cloud_server.routing.screening import (
    EDGES_HEARD,
    HUB,
    NEAR_DUPLICATE,
    ROWS_HEARD,
    Samples,
    SummarySample,
    hubs,
    judged,
    near_duplicates,
    spread,
)
from shared.vectors import unit


def directions(n, d=96, seed=0):
    return unit(np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32))


def near(rows, noise, seed=1):
    return unit(rows + noise * directions(len(rows), rows.shape[1], seed))


def by_hand(new, kept):
    held = []
    for row, vector in enumerate(new):
        others = [*kept, *(new[other] for other in range(row) if not held[other])]
        held.append(any(float(vector @ other) >= 0.97 for other in others))
    return held


def clusters(edges=6, subjects=20, of_each=4, d=96):
    """Summaries of edges, each of which has subjects of its own."""
    rows = {f"edge-{n}": np.repeat(directions(subjects, d, seed=n), of_each, axis=0) for n in range(edges)}
    return {edge: near(vectors, 0.6, seed=99 + n) for n, (edge, vectors) in enumerate(rows.items())}


def test_of_forty_copies_one_is_matched():
    copies = near(np.repeat(directions(1), 40, axis=0), 0.05)
    assert near_duplicates(copies, directions(10, seed=5)).tolist() == [False] + [True] * 39


def test_a_copy_of_what_is_there_is_held_back():
    kept = directions(500, seed=2)
    assert near_duplicates(near(kept[:3], 0.05), kept).all()


def test_different_summaries_are_not():
    assert not near_duplicates(directions(600), directions(600, seed=3)).any()


@given(st.integers(0, 10_000), st.integers(0, 40), st.integers(1, 40), st.floats(0.1, 0.4))
def test_the_fast_way_finds_what_comparing_all_finds(seed, kept, new, noise):
    centres = directions(5, seed=seed)
    rng = np.random.default_rng(seed)
    rows = near(centres[rng.integers(0, 5, kept + new)], noise, seed + 1)
    assert near_duplicates(rows[kept:], rows[:kept]).tolist() == by_hand(rows[kept:], rows[:kept])


def test_blocks_know_of_each_other(monkeypatch):
    monkeypatch.setattr(screening, "BLOCK", 4)
    rows = near(np.repeat(directions(3), 7, axis=0), 0.05)
    assert near_duplicates(rows, rows[:0]).tolist() == by_hand(rows, rows[:0])


def test_a_summary_near_to_everything_is_a_hub_and_the_honest_are_not():
    edges = clusters()
    everything = unit(np.concatenate(list(edges.values())).mean(axis=0, keepdims=True))
    lifted = {edge: unit(rows + 0.8 * everything) for edge, rows in edges.items()}  # as real texts: all lean one way
    sample = SummarySample.of({edge: spread(rows) for edge, rows in lifted.items() if edge != "edge-0"})
    assert hubs(everything, sample).tolist() == [True]
    assert not hubs(lifted["edge-0"], sample).any()


def test_two_sites_of_one_field_hold_nothing_of_each_other_back():
    edges = clusters()
    edges["twin"] = near(edges["edge-0"], 0.4, seed=7)
    sample = SummarySample.of({edge: spread(rows) for edge, rows in edges.items() if edge != "twin"})
    assert not hubs(edges["twin"], sample).any()


@pytest.mark.parametrize("liars", [0, 1, 2, 4])
def test_a_minority_of_edges_makes_no_hub_of_anothers_summary(liars):
    """All of its summaries stand around the one that it wants held back (of nine other edges here)."""
    target = directions(1, seed=77)
    honest = {edge: spread(rows) for edge, rows in clusters(edges=9 - liars).items()}
    lying = {f"liar-{n}": near(np.repeat(target, 64, axis=0), 0.3, seed=50 + n) for n in range(liars)}
    assert not hubs(target, SummarySample.of({**honest, **lying})).any()


def test_of_a_large_federation_a_few_edges_are_heard_other_ones_each_time():
    samples = Samples()
    for number in range(3 * EDGES_HEARD):
        samples.keep(f"edge-{number}", directions(100, seed=number))
    heard = [samples.without("edge-0") for _ in range(20)]
    assert {(len(sample.vectors), len(set(sample.owners.tolist()))) for sample in heard} == {(ROWS_HEARD, EDGES_HEARD)}
    assert len({sample.vectors.tobytes() for sample in heard}) > 1
    kept = directions(100, seed=0)
    assert not any((sample.vectors @ kept.T > 0.999).any() for sample in heard)
    samples.keep("edge-1", kept[:0])
    assert "edge-1" not in samples.sizes()


def test_of_small_edges_so_many_are_heard_that_a_hub_is_still_seen():
    samples = Samples()
    for number in range(1000):
        samples.keep(f"edge-{number}", directions(4, seed=number))
    assert len(samples.without("edge-0").vectors) == ROWS_HEARD


def test_with_few_edges_or_few_summaries_nothing_is_called_a_hub():
    edges = clusters()
    few = SummarySample.of(dict(list(edges.items())[:2]))
    small = SummarySample.of({edge: rows[:3] for edge, rows in edges.items()})
    nothing = SummarySample.of({})
    assert not any(hubs(rows, sample).any() for rows in edges.values() for sample in (few, small, nothing))


def test_the_reason_is_told():
    copies = np.repeat(directions(1), 2, axis=0)
    assert judged(copies, copies[:0], SummarySample.of({})) == ["", NEAR_DUPLICATE]
    assert HUB != NEAR_DUPLICATE


def test_nothing_in_nothing_out():
    nothing = np.empty((0, 8), dtype=np.float32)
    assert judged(nothing, nothing, SummarySample.of({})) == []


@pytest.mark.parametrize(("rows", "taken"), [(0, 0), (1, 1), (64, 64), (65, 64), (1000, 64)])
def test_a_sample_takes_a_few_of_each_edge(rows, taken):
    assert len(spread(np.arange(rows * 2, dtype=np.float32).reshape(rows, 2))) == taken
