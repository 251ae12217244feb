import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.metrics.retrieval import all_at, recall_at

IDS = st.lists(st.sampled_from("abcdef"), unique=True)
GOLD = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=3)


def test_recall_counts_needed_documents_among_the_first_k():
    """Of the needed a, b and c the first two found have a only."""
    assert recall_at(["a", "x", "b", "c"], ["a", "b", "c"], 2) == pytest.approx(1 / 3)


def test_a_document_needed_twice_counts_once():
    assert recall_at(["a"], ["a", "a"], 5) == 1.0


def test_all_means_every_one():
    assert [all_at(["a", "x", "b"], ["b", "a"], k) for k in (1, 2, 3)] == [0.0, 0.0, 1.0]


def test_nothing_found_is_no_recall():
    assert recall_at([], ["a"], 10) == all_at([], ["a"], 10) == 0.0


@pytest.mark.parametrize("metric", [recall_at, all_at])
def test_a_question_that_needs_no_document_has_no_recall(metric):
    with pytest.raises(ValueError, match="leave the question out"):
        metric(["a"], [], 5)


@given(IDS, GOLD, st.integers(0, 8))
def test_recall_lies_between_all_and_one_and_grows_with_k(found, gold, k):
    assert all_at(found, gold, k) <= recall_at(found, gold, k) <= 1
    assert recall_at(found, gold, k) <= recall_at(found, gold, k + 1)
    assert all_at(found, gold, k) <= all_at(found, gold, k + 1)
