import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_server.answering.merging import MIN_CUT_TOKENS, cosines, fill_budget, fill_ranked, rescore, within_request
from shared.models.fake import WordTokenizer
from shared.records import ChunkId, DocumentId, EdgeId, Evidence

QUESTION = np.array([[1, 0, 0]], dtype=np.float32)  # (1, d)


def passage(edge, text, *, chunk="d:0", score=0.0, start=0):
    return Evidence(EdgeId(edge), DocumentId("d"), "a.md", ChunkId(chunk), (start, start + len(text)), text, score)


def rows(*vectors):
    return np.array(vectors, dtype=np.float32)


def rescored(passages, vectors, *, min_cosine):
    return rescore(passages, vectors, cosines(vectors, QUESTION), min_cosine=min_cosine)


def words(n):
    return " ".join(["word"] * n)


def test_the_edges_own_scores_are_ignored():
    passages = [passage("liar", "x", score=1.0), passage("honest", "y", score=0.1)]
    ranked = rescored(passages, rows([0.6, 0.8, 0], [0.8, 0, 0.6]), min_cosine=0.4)
    assert [(p.edge, p.score) for p in ranked] == [("honest", pytest.approx(0.8)), ("liar", pytest.approx(0.6))]


def test_what_is_below_the_threshold_is_dropped():
    ranked = rescored([passage("a", "x"), passage("b", "y")], rows([0, 1, 0], [0.6, 0.8, 0]), min_cosine=0.4)
    assert [p.edge for p in ranked] == ["b"]


def test_of_an_edges_near_duplicates_the_best_stays():
    vectors = rows([0.8, 0.6, 0], [0.81, 0.5864, 0], [0.8, 0, 0.6])
    ranked = rescored([passage("a", "x"), passage("a", "y"), passage("c", "z")], vectors, min_cosine=0.4)
    assert [p.text for p in ranked] == ["y", "z"]


def test_a_forged_near_copy_of_another_edges_passage_does_not_displace_it():
    vectors = rows([0.8, 0.6, 0], [0.81, 0.5864, 0])
    ranked = rescored([passage("honest", "in March"), passage("forger", "in May")], vectors, min_cosine=0.4)
    assert [p.edge for p in ranked] == ["forger", "honest"]


def test_the_same_words_at_two_edges_are_read_once():
    vectors = rows([0.8, 0.6, 0], [0.8, 0.6, 0])
    ranked = rescored([passage("b", "in  March"), passage("a", "in March")], vectors, min_cosine=0.4)
    assert [p.edge for p in ranked] == ["a"]


def test_an_edge_that_sends_more_than_it_was_asked_for_is_not_read_to_the_end():
    sent = [passage("a", "x" * 600, chunk=f"d:{n}") for n in range(10)]
    assert [p.chunk_id for p in within_request(sent, budget_tokens=100)] == ["d:0", "d:1"]  # 1,200 characters


def test_an_honest_edge_is_read_to_the_end():
    sent = [passage("a", words(20), chunk=f"d:{n}") for n in range(5)]
    assert within_request(sent, budget_tokens=100) == sent


def test_equal_scores_stand_in_the_order_of_names_whoever_answered_first():
    vectors = rows([0.6, 0.8, 0], [0.6, -0.8, 0])
    ranked = rescored([passage("b", "x"), passage("a", "y")], vectors, min_cosine=0.4)
    assert [p.edge for p in ranked] == ["a", "b"]


def test_one_edge_alone_may_use_the_whole_budget():
    chosen = fill_budget([passage("a", words(50)), passage("a", words(50))], WordTokenizer(), budget_tokens=100)
    assert len(chosen) == 2


def test_with_two_edges_one_gets_half_of_the_budget_at_most():
    passages = [passage("a", words(40), chunk=f"d:{i}") for i in range(5)] + [passage("b", words(10))]
    chosen = fill_budget(passages, WordTokenizer(), budget_tokens=160)
    assert [(p.edge, WordTokenizer().count(p.text)) for p in chosen] == [("a", 40), ("b", 10)]


def test_with_two_edges_one_gets_half_of_the_context_where_the_other_says_enough():
    passages = [passage("a", words(40), chunk=f"d:{i}") for i in range(5)] + [passage("b", words(60))]
    chosen = fill_budget(passages, WordTokenizer(), budget_tokens=160)
    assert [(p.edge, WordTokenizer().count(p.text)) for p in chosen] == [("a", 40), ("a", 20), ("b", 60)]


def test_a_short_passage_of_another_edge_does_not_shrink_an_answer_to_nothing():
    chosen = fill_budget([passage("a", words(90)), passage("b", words(1))], WordTokenizer(), budget_tokens=400)
    assert [len(p.text.split()) for p in chosen] == [90, 1]
    chosen = fill_budget([passage("a", words(190)), passage("b", words(1))], WordTokenizer(), budget_tokens=400)
    assert [len(p.text.split()) for p in chosen] == [100, 1]


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
    assert rescored([], np.empty((0, 3), dtype=np.float32), min_cosine=0.4) == []
    assert fill_budget([], WordTokenizer(), budget_tokens=100) == []


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 200)), max_size=12), st.integers(50, 400))
def test_the_budget_and_the_share_of_one_edge_are_never_passed(sizes, budget):
    passages = [passage(edge, words(n), chunk=f"d:{i}") for i, (edge, n) in enumerate(sizes)]
    chosen = fill_budget(passages, WordTokenizer(), budget_tokens=budget)
    used = {edge: sum(len(p.text.split()) for p in chosen if p.edge == edge) for edge in "abc"}
    assert sum(used.values()) <= budget
    if len({edge for edge, _ in sizes}) > 1:
        assert max(used.values()) <= budget / 2
    if sum(tokens > 0 for tokens in used.values()) > 1:
        assert all(tokens <= max(sum(used.values()) - tokens, budget / 4, MIN_CUT_TOKENS) for tokens in used.values())
    assert all(p.span[1] - p.span[0] == len(p.text) for p in chosen)


def test_an_edge_has_its_share_and_the_passage_that_it_begins_within_it():
    own = [passage("a", words(n), chunk=f"d:{n}") for n in (32, 14, 20)]
    others = [passage("b", words(n), chunk=f"d:{n}") for n in (90, 30)]
    kept = fill_ranked([*own, *others], WordTokenizer(), budget_tokens=90)
    assert [len(one.text.split()) for one in kept] == [32, 14, 30]
