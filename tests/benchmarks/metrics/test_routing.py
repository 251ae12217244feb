from hypothesis import given
from hypothesis import strategies as st

from benchmarks.metrics.routing import any_mismatch, hit, right_share

EDGES = st.lists(st.sampled_from(["art", "cs", "law"]), max_size=10)
MATCHED = ["art", "cs", "cs", "law"]


def test_a_hit_needs_one_summary_of_the_right_edge_among_the_first_m():
    assert [hit(MATCHED, ["cs"], m) for m in (1, 2)] == [False, True]
    assert not hit(MATCHED, ["medicine"], 10)


def test_a_mismatch_needs_one_summary_of_another_edge_among_the_first_m():
    assert [any_mismatch(MATCHED, ["art"], m) for m in (1, 2)] == [False, True]


def test_where_two_edges_have_the_document_either_is_right():
    assert hit(["law", "cs"], ["art", "cs"], 2)
    assert not any_mismatch(["cs", "art"], ["art", "cs"], 2)
    assert right_share(["cs", "art", "law", "cs"], ["art", "cs"], 4) == 0.75


def test_the_right_share_is_over_what_was_matched():
    """Four were matched, ten allowed."""
    assert right_share(MATCHED, ["cs"], 10) == 0.5


def test_nothing_matched_is_neither_hit_nor_mismatch():
    assert (hit([], ["cs"], 5), any_mismatch([], ["cs"], 5), right_share([], ["cs"], 5)) == (False, False, 0.0)


@given(EDGES, st.integers(1, 12))
def test_hits_and_mismatches_never_go_away_with_a_larger_m(edges, m):
    assert hit(edges, ["cs"], m) <= hit(edges, ["cs"], m + 1)
    assert any_mismatch(edges, ["cs"], m) <= any_mismatch(edges, ["cs"], m + 1)


@given(EDGES, st.integers(1, 12))
def test_what_is_matched_is_a_hit_or_a_mismatch_and_the_share_agrees(edges, m):
    share = right_share(edges, ["cs"], m)
    assert hit(edges, ["cs"], m) == (share > 0)
    assert any_mismatch(edges, ["cs"], m) == (bool(edges) and share < 1)
