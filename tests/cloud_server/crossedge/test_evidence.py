import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_server.crossedge.evidence import fill_budget, rescore
from shared.models.fake import WordTokenizer
from shared.records import ChunkId, DocumentId, EdgeId, Evidence

QUESTION = np.array([[1, 0, 0]], dtype=np.float32)  # (1, d)


def passage(edge, text, *, chunk="d:0", score=0.0, start=0):
    return Evidence(EdgeId(edge), DocumentId("d"), "a.md", ChunkId(chunk), (start, start + len(text)), text, score)


def rows(*vectors):
    return np.array(vectors, dtype=np.float32)


def words(n):
    return " ".join(["word"] * n)


def test_the_edges_own_scores_are_ignored():
    passages = [passage("liar", "x", score=1.0), passage("honest", "y", score=0.1)]
    ranked = rescore(passages, rows([0.6, 0.8, 0], [0.8, 0, 0.6]), QUESTION, min_cosine=0.4)
    assert [(p.edge, p.score) for p in ranked] == [("honest", pytest.approx(0.8)), ("liar", pytest.approx(0.6))]


def test_what_is_below_the_threshold_is_dropped():
    ranked = rescore([passage("a", "x"), passage("b", "y")], rows([0, 1, 0], [0.6, 0.8, 0]), QUESTION, min_cosine=0.4)
    assert [p.edge for p in ranked] == ["b"]


def test_of_near_duplicates_the_best_stays():
    vectors = rows([0.8, 0.6, 0], [0.81, 0.5864, 0], [0.8, 0, 0.6])
    ranked = rescore([passage("a", "x"), passage("b", "y"), passage("c", "z")], vectors, QUESTION, min_cosine=0.4)
    assert [p.edge for p in ranked] == ["b", "c"]


def test_equal_scores_stand_in_the_order_of_names_whoever_answered_first():
    vectors = rows([0.6, 0.8, 0], [0.6, -0.8, 0])
    ranked = rescore([passage("b", "x"), passage("a", "y")], vectors, QUESTION, min_cosine=0.4)
    assert [p.edge for p in ranked] == ["a", "b"]


def test_one_edge_alone_may_use_the_whole_budget():
    chosen = fill_budget([passage("a", words(50)), passage("a", words(50))], WordTokenizer(), budget_tokens=100)
    assert len(chosen) == 2


def test_with_two_edges_one_gets_half_of_the_budget_at_most():
    passages = [passage("a", words(40), chunk=f"d:{i}") for i in range(5)] + [passage("b", words(10))]
    chosen = fill_budget(passages, WordTokenizer(), budget_tokens=160)
    assert [(p.edge, WordTokenizer().count(p.text)) for p in chosen] == [("a", 40), ("a", 40), ("b", 10)]


def test_a_long_passage_is_cut_at_a_token_and_its_span_with_it():
    (chosen,) = fill_budget([passage("a", words(100), start=7)], WordTokenizer(), budget_tokens=60)
    assert chosen.text == words(60)
    assert chosen.span == (7, 7 + 60 * 5 - 1)


def test_a_passage_is_not_cut_to_a_stump():
    chosen = fill_budget([passage("a", words(90)), passage("a", words(50)), passage("a", words(10))], WordTokenizer(), budget_tokens=100)
    assert [len(p.text.split()) for p in chosen] == [90, 10]


def test_a_blank_passage_is_left_out():
    assert fill_budget([passage("a", "  \n")], WordTokenizer(), budget_tokens=100) == []


def test_nothing_in_nothing_out():
    assert rescore([], np.empty((0, 3), dtype=np.float32), QUESTION, min_cosine=0.4) == []
    assert fill_budget([], WordTokenizer(), budget_tokens=100) == []


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 200)), max_size=12), st.integers(50, 400))
def test_the_budget_and_the_share_of_one_edge_are_never_passed(sizes, budget):
    passages = [passage(edge, words(n), chunk=f"d:{i}") for i, (edge, n) in enumerate(sizes)]
    chosen = fill_budget(passages, WordTokenizer(), budget_tokens=budget)
    used = {edge: sum(len(p.text.split()) for p in chosen if p.edge == edge) for edge in "abc"}
    assert sum(used.values()) <= budget
    if len({edge for edge, _ in sizes}) > 1:
        assert max(used.values()) <= budget / 2
    assert all(p.span[1] - p.span[0] == len(p.text) for p in chosen)
